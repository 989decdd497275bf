//! Listening: connections are accepted, bounded in number and in time, and ended in good order. What they may ask for
//! is decided by [`guard`](crate::guard), what they get by the router.
//!
//! * At the connection limit, the oldest connection without a token is closed for a new one; if all have shown the
//!   token, the new client gets a 503 at once.
//! * A head that does not come, a body that trickles and a client that does not read what it asked for are cut off.
//! * At the end nothing new is accepted, streams are told by [`Drain`], and what is under way may finish for a while.

mod accept;
mod address;
mod bind;
mod connection;
mod drain;
mod peer;
mod server;
mod slots;
mod unix;
mod wire;

pub use address::{Address, BadAddress};
pub use bind::{ListenError, Listener};
pub use drain::Drain;
pub(crate) use peer::Client;
pub use peer::Peer;
pub use server::{Limits, Server};
pub(crate) use slots::SlotHandle;
