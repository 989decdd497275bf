//! Logs of coding agents on this machine: discovery, indexing, search and usage. [`Library`] is the entry point; the
//! knowledge about each agent's files is in its directory in `switchboard_agents`.

mod error;
pub mod export;
mod index;
mod ledger;
mod library;
pub mod live;
mod places;
mod query;
pub mod read;
mod scan;
mod session;
pub mod usage;
mod view;
pub mod when;

pub use error::LogsError;
pub use ledger::{LedgerEntry, LedgerName, UsageLedger};
pub use library::{IndexHealth, LibraryConfig, LogLibrary, OwnLog, ReplyDeduplicator};
pub use places::{AgentHome, candidate_homes, find_homes};
pub use query::{LogFilter, LogSearchQuery, SearchWords};
pub use query::{SearchHit, SearchResults};
pub use scan::{LogReadError, ScanProgress, ScanReport};
pub use session::SessionCandidates;
pub use session::{KeptPassage, LogSession, OwnSession, Transcript};
pub use view::{HitView, OwnView, SessionView};
