//! The harness: a connection on which a client runs any number of threads, each with its own agent. Wire-neutral: what
//! the client says comes in as lines, what it is told goes out as lines. The wires are standard input and output (in the
//! command line) and a WebSocket (`socket.rs`).
//!
//! * `connection.rs` takes a line, and has done what it asks: concurrently, but for one thread in order (`lanes.rs`).
//! * `threads.rs`, `turns.rs`, `settings.rs`, `about.rs` are the methods.
//! * `pump.rs` tells what happens in a thread, `asks.rs` keeps what its agent asks until it is answered.
//! * `outbox.rs` is what goes out: a client that does not read makes us wait, not grow.

mod about;
mod asks;
mod connection;
mod input;
mod lanes;
mod outbox;
mod pump;
mod refusal;
mod selectors;
mod settings;
mod socket;
mod thread;
mod threads;
mod turns;

pub use connection::{Connection, Purpose};
pub use outbox::{Line, Lines};
pub use socket::serve;

/// A line longer than this is none of a client's.
pub const LONGEST_LINE: usize = crate::order::LARGEST_BODY;
