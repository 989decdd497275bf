//! The index: a SQLite database in the data directory. Its content for a log depends on that log alone, so logs can be
//! read in any order, by several threads and processes; replies that occur in several logs are deduplicated at query
//! time.

pub mod block;
mod filter;
mod open;
pub mod reply_rows;
mod row_codec;
pub mod segment;
pub mod units;
pub mod words;
pub mod write;

pub use open::{IndexVersion, LogIndex, is_damaged, quick_check};
