//! What can be done with sessions, whatever wire it is asked on: REST and WebSocket call the same functions. A session
//! that another process runs is steered through that process.

mod answering;
mod deleting;
mod running;
mod starting;
mod steering;

pub use deleting::Deleted;
pub use running::EndsWithReader;
