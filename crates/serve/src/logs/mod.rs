//! The logs of all agents, for clients: the index is opened once, and kept up to date while somebody asks. Nothing here
//! runs on the threads that serve connections.

mod adopt;
mod archive;
mod ask;
mod transcript;

pub use adopt::{AdoptError, adopt, adopt_session};
pub use archive::Archive;
pub use ask::{Which, count, zone};
pub use transcript::page;
