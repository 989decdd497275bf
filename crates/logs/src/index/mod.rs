//! The index: a SQLite database in the data directory. Its content for a log depends on that log alone, so logs can be
//! read in any order, by several threads and processes; replies that occur in several logs are deduplicated at query
//! time.

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

pub use open::{IndexVersion, LogIndex, is_damaged, quick_check};
