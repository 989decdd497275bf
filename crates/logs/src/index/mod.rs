//! The index: a SQLite file in the data folder. What it has of a log is a function of that log alone, so that logs can be
//! read in any order, by several threads and several processes; what lies in several logs is counted once when it is
//! asked for.

pub mod block;
mod bytes;
mod filter;
pub mod lists;
mod open;
pub mod portion;
pub mod press;
pub mod shelf;
pub mod spent;
pub mod units;
pub mod words;
mod write;

pub use open::{Index, Moment, checked, is_damaged};
