//! Usage and cost of a [`Ledger`](crate::Ledger), in which each reply occurs once. Pure functions.
//!
//! [`usage`] is the entry point, or [`Library::usage`](crate::Library::usage) to query an index. It returns a [`Usage`]
//! with a [`Row`] per day, model, tool and so on ([`By`]), which servers send too. [`Prices`] has the prices of tokens.

mod blocks;
mod by;
mod calendar;
mod cost;
mod csv;
mod gather;
mod order;
pub mod prices;
mod row;
mod rows;
mod sums;
mod tools;

#[cfg(test)]
mod tests;

pub use by::UsageGrouping;
pub use cost::CostCalculator;
pub use csv::usage_csv;
pub(crate) use gather::UsageAggregator;
pub use gather::{UsageQuestion, aggregate_usage};
pub use order::UsageOrder;
pub use prices::{PriceFileError, TokenPrices};
pub use row::{Block, BurnRate, Model, Projection, Row, Unpriced, Usage};
