//! The durable log: sessions, their events and the processes that run them, on disk. [`SessionLog`] is the contract,
//! [`SqliteStore`] implements it with SQLite. The crate knows no agent and no dialect, reads no clock, and needs no async runtime.
//!
//! * An event is one row. Its `seq` is dense: a batch that does not start right after the head is refused as a whole.
//! * Appends are queued; one thread commits all queued batches together and then calls back for each. Readers see only
//!   committed data, which survives the death of the process (with [`StoreOptions::durable`], of the machine).
//! * Readers keep a `seq` and request the page after it. Nothing is held open between pages.
//! * Several processes share a directory. A session belongs to one of them, which holds a lock file as long as it
//!   lives; only that process appends. [`SessionLog::take_over`] gives the sessions of dead processes to exactly one of the
//!   others.

#![warn(missing_docs)]

mod checkpoint;
mod chunk;
mod error;
mod log;
mod process;
mod retention;
mod session;
mod sqlite;

pub use checkpoint::{Checkpoint, CheckpointPosition};
pub use chunk::{EventChunk, EventChunkBuilder};
pub use error::StoreError;
pub use log::{CommitCallback, CommitWatch, EventBatch, EventRow, LogHealth, PageQuery, SessionLog};
pub use process::{AbandonedSession, AgentRun, LogOwner, ProcessIdentity, RegisteredOwner};
pub use retention::Retention;
pub use session::{NewSession, SessionEnd, SessionFilter, SessionPatch, SessionPhase, SessionRecord};
pub use sqlite::{SqliteStore, StoreOptions};
