//! The commands on sessions, shared by all protocols. A session that another process runs is controlled through that
//! process.

mod control;
mod start;

pub use control::DeleteOutcome;
pub use start::CancelOnDrop;
