//! The durable log: sessions, their events and the processes that run them, on disk. [`Log`] is the contract,
//! [`Store`] keeps it with SQLite. It knows no agent and no dialect, reads no clock, and needs no async runtime.
//!
//! * An event is one row. Its `seq` is dense: a batch that does not begin right behind the head is refused whole.
//! * Appends are queued; one thread commits what is queued together, and then says so to each. What a reader sees is
//!   committed, and what is committed survives the death of the process (with [`Options::durable`], of the machine).
//! * Readers keep a `seq` and ask for the page behind it. Nothing is held open between pages.
//! * Several processes share a folder. A session belongs to one of them, which holds a lock file as long as it lives;
//!   only that process appends. [`Log::take_over`] gives the sessions of dead processes to exactly one of the others.

mod checkpoint;
mod chunk;
mod error;
mod log;
mod process;
mod retention;
mod session;
mod sqlite;

pub use checkpoint::{At, Checkpoint};
pub use chunk::{Chunk, ChunkBuilder};
pub use error::StoreError;
pub use log::{Batch, Done, Log, LogHealth, Page, Row};
pub use process::{Abandoned, Owner, Process, Registered, Run};
pub use retention::Retention;
pub use session::{End, Filter, NewSession, Session, State, Update};
pub use sqlite::{Options, Store};
