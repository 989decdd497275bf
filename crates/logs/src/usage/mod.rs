//! Usage and cost of a [`Ledger`](crate::Ledger), in which each reply occurs once. Pure functions.
//!
//! [`usage`] is the entry point, or [`Library::usage`](crate::Library::usage) to query an index. It returns a [`Usage`]
//! with a [`Row`] per day, model, tool and so on ([`By`]), which servers send too. [`Prices`] has the prices of tokens.

mod aggregate;
mod csv;
mod periods;
pub mod prices;
mod report;
mod rows;
mod sums;

#[cfg(test)]
mod tests;

pub(crate) use aggregate::UsageAggregator;
pub use aggregate::{UsageQuestion, aggregate_usage};
pub use csv::usage_csv;
pub use prices::{PriceFileError, TokenPrices};
pub use report::{Block, BurnRate, Model, Projection, Row, Unpriced, Usage};
pub use rows::UsageGrouping;
pub use rows::UsageOrder;
pub use sums::CostCalculator;
