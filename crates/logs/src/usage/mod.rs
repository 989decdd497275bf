//! What was used and what it cost, of a [`Ledger`](crate::Ledger): pure sums, whoever asks for them. Each reply is in it
//! once; these functions only put replies together.
//!
//! [`usage`] is the front door, or [`Library::usage`](crate::Library::usage) where it is asked of an index: it gives a
//! [`Usage`] with a [`Row`] for each day, model, tool and so on ([`By`]), which is what servers send too. [`Prices`] says
//! what tokens cost.

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

pub use by::By;
pub use cost::Costs;
pub use csv::csv;
pub(crate) use gather::Gather;
pub use gather::{Question, usage};
pub use order::Order;
pub use prices::{BadPrices, Prices};
pub use row::{Block, BurnRate, Model, Projection, Row, Unpriced, Usage};
