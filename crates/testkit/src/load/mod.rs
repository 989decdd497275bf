//! Clients that load a server, for benchmarks and soak tests. They only count messages and check that none is missing,
//! so that the server is measured and not the client. Each blocks its own thread. HTTP, WebSocket and server-sent
//! events are parsed by hand, because a library would be the bottleneck.
//!
//! ```text
//! House ─► Served (the server on a stage, its port and token) ─► Api (requests)
//!                                                             └► Feed (WebSocket or SSE) ─► Tally (counts, checks)
//!       ─► Threads (the harness protocol on standard input and output; counts, checks)
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

pub use api::{ApiResponse, TestApiClient, read_response as response_of};
pub use clock::unix_nanos;
pub use feed::{FeedEnd, FeedMessage, FeedOrigin, FeedTransport, LoadFeed};
pub use house::{FOLLOW_PROMPTS_SCRIPT, RunningServer, ServerStage, free_port};
pub use memory::{ProcessMemory, cpu_seconds};
pub use peer::{PeerFeedStats, PeerServer};
pub use reader::{FeedReadResult, FeedReader, ReaderBehavior};
pub use socket::BufferedSocket;
pub use tally::{FeedTally, embedded_time, event_seq};
pub use threads::{HarnessIncoming, HarnessLoadClient};
pub use ws::{WebSocketFeed, WebSocketFrame, masked_frame};
