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
mod feed;
mod peer;
mod reader;
mod server;
mod socket;
mod threads;

pub use api::{ApiResponse, TestApiClient, read_response as response_of};
pub use feed::{FeedEnd, FeedMessage, FeedOrigin, FeedTransport, LoadFeed};
pub use feed::{WebSocketFeed, WebSocketFrame, masked_frame};
pub use peer::{PeerFeedStats, PeerServer};
pub use reader::{FeedReadResult, FeedReader, ReaderBehavior};
pub use reader::{FeedTally, embedded_time, event_seq};
pub use server::unix_nanos;
pub use server::{FOLLOW_PROMPTS_SCRIPT, RunningServer, ServerStage, free_port};
pub use server::{ProcessMemory, cpu_seconds};
pub use socket::BufferedSocket;
pub use threads::{HarnessIncoming, HarnessLoadClient};
