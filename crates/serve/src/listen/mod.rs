//! Listening: connections are accepted, bounded in number and in time, and ended in good order. What they may ask for
//! is decided by [`guard`](crate::guard), what they get by the router.
//!
//! * Beyond the most connections that are served at once, a client is told so at once (503) and nobody waits.
//! * A head that does not come, a body that trickles and a client that does not read what it asked for are cut off.
//! * At the end nothing new is accepted, streams are told by [`Drain`], and what is under way may finish for a while.

mod accept;
mod address;
mod bind;
mod connection;
mod drain;
mod peer;
mod server;
mod unix;
mod wire;

pub use address::{Address, BadAddress};
pub use bind::{ListenError, Listener};
pub use drain::Drain;
pub(crate) use peer::Client;
pub use peer::Peer;
pub use server::{Limits, Server};
