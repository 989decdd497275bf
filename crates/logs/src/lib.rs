//! Logs of coding agents on this machine: discovery, indexing, search and usage. [`LogLibrary`] is the entry point; the
//! knowledge about each agent's files is in its directory in `switchboard_agents`.

mod error;
pub mod export;
mod index;
mod ledger;
mod library;
pub mod live;
mod query;
pub mod read;
mod scan;
mod session;
pub mod usage;
pub mod when;

pub use error::LogsError;
pub use ledger::{LedgerEntry, LedgerName, UsageLedger};
pub use library::{IndexHealth, LibraryConfig, LogLibrary, OwnLog, ReplyDeduplicator};
pub use query::{
    AgentHome, LogFilter, LogSearchQuery, SearchHit, SearchResults, SearchWords, candidate_homes, find_homes,
};
pub use scan::{LogReadError, ScanProgress, ScanReport};
pub use session::{HitView, KeptPassage, LogSession, OwnSession, OwnView, SessionCandidates, SessionView, Transcript};
