//! Use coding agents from a program: sessions, typed events, approvals, over any transport.
//!
//! ```no_run
//! use futures_util::StreamExt as _;
//! use switchboard_client::{AgentClient, AgentEventKind, SandboxMode, SessionConfig};
//!
//! # async fn example() -> Result<(), switchboard_client::AgentError> {
//! // The link that `switchboard serve` prints.
//! let client = AgentClient::connect("http://127.0.0.1:8080/?token=…", None)?.for_agent("echo");
//!
//! let config = SessionConfig { sandbox_mode: Some(SandboxMode::WorkspaceWrite), ..SessionConfig::default() };
//! let session = client.create_session("Refactor the authentication module", config).await?;
//!
//! let mut events = session.events();
//! while let Some(event) = events.next().await {
//!     match event?.kind {
//!         AgentEventKind::TextChunk { content, channel: None, .. } => println!("{content}"),
//!         AgentEventKind::ToolStarted { tool_name, .. } => println!("Tool: {tool_name}"),
//!         AgentEventKind::ApprovalRequested(approval) => session.approve(&approval.id).await?,
//!         AgentEventKind::SessionEnded { reason, .. } => println!("Session ended: {reason:?}"),
//!         _ => {}
//!     }
//! }
//!
//! let resumed = client.resume_session(session.id(), "Continue with error handling").await?;
//! # drop(resumed);
//! # Ok(())
//! # }
//! ```
//!
//! * [`AgentClient`] starts sessions and finds them again; a [`Session`] is followed and steered.
//! * [`Session::events`] are typed; [`Session::log`] is the log itself, with all that the agent said, verbatim. Each
//!   event comes once and in order, whatever becomes of connections; each has its `seq`.
//! * A [`Transport`] is how sessions are reached: [`NetworkTransport`] (WebSocket, or HTTP where that cannot be had, over
//!   TCP or a unix socket), [`MockTransport`] for tests, and the engine's, for sessions of the same process. TLS is not
//!   built in.
//! * [`AgentError`] has one of eight kinds, what was said verbatim, and a hint where a person can do something.
//! * [`CancelToken`] ends sessions natively, and their streams with them. [`EventBuffer`] gives events in batches.
//! * [`Remote`] is the HTTP interface itself, for what the rest does not do.

mod buffer;
mod cancel;
mod client;
mod error;
mod feed;
pub mod http;
mod remote;
mod session;
mod transport;
mod typed;
mod wire;

pub use buffer::EventBuffer;
pub use cancel::CancelToken;
pub use client::AgentClient;
pub use error::{AgentError, AgentErrorKind};
pub use feed::{Messages, Reconnect, Route, lines};
pub use remote::Remote;
pub use session::Session;
pub use switchboard_event::{ApprovalMode, EndReason, Event, SandboxMode, SessionConfig};
pub use transport::{MockTransport, NetworkTransport, Reply, Transport};
pub use typed::{AgentEvent, AgentEventKind, FileChangeType, TokenUsage};
pub use wire::{
    Activity, Answer, Approval, Decision, ImageData, Order, PromptRequest, SessionPage, SessionQuery, SessionRequest,
    SessionState, SessionView,
};
