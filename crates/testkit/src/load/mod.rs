//! Clients that load a server, for benchmarks and soaks: they count what comes and check that it is whole, and do no
//! more, so that the server is what is measured. Each blocks a thread of its own. What they speak is the server's HTTP
//! with its WebSocket and its server-sent events, read by hand: a library would be the bottleneck.
//!
//! ```text
//! House ─► Served (the server on a stage, its port and token) ─► Api (requests)
//!                                                             └► Feed (WebSocket or SSE) ─► Tally (counts, checks)
//!       ─► Threads (the two-way protocol on standard input and output; counts, checks)
//! ```

mod api;
mod clock;
mod feed;
mod house;
mod memory;
mod peer;
mod reader;
mod socket;
mod sse;
mod tally;
mod threads;
mod ws;

pub use api::{Api, Response, response as response_of};
pub use clock::now;
pub use feed::{End, Feed, From, Message, Wire};
pub use house::{House, OBEDIENT, Served, free_port};
pub use memory::{Memory, processor};
pub use peer::{Heard, Peer};
pub use reader::{Manner, Read, Reader};
pub use socket::Socket;
pub use tally::{Tally, seq, stamp};
pub use threads::{Came, Threads};
pub use ws::{Frame, WebSocket, mask};
