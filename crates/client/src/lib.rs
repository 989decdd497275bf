//! Use coding agents from a program: sessions, typed events and approvals over any transport.
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
//! * [`AgentClient`] starts and finds sessions; a [`Session`] is followed and controlled.
//! * [`Session::events`] returns typed events; [`Session::log`] returns the log itself, with the agent's records
//!   verbatim. Each event is delivered once and in order across reconnects, with its `seq`.
//! * A [`Transport`] reaches sessions: [`NetworkTransport`] (WebSocket, or HTTP where WebSockets do not work, over TCP,
//!   TLS or a Unix socket), [`MockTransport`] for tests, and the engine's transport for sessions of the same process.
//! * [`AgentError`] has one of eight kinds, the original text, and a hint where the user can fix the problem.
//! * [`CancelToken`] ends sessions natively, and their streams with them. [`EventBuffer`] delivers events in batches.
//! * [`Remote`] is the HTTP API itself, for everything else.

#![warn(missing_docs)]

mod client;
mod error;
mod feed;
pub mod http;
mod remote;
mod session;
mod transport;
mod typed;
mod wire;

pub use client::AgentClient;
pub use error::{AgentError, AgentErrorKind};
pub use feed::{FeedRoute, MessageStream, ReconnectPolicy, follow_lines};
pub use remote::RemoteServer;
pub use session::{AgentSession, CancelToken, EventBuffer};
pub use switchboard_event::{ApprovalMode, EndReason, Event, SandboxMode, SessionConfig};
pub use transport::{MockTransport, NetworkTransport, Transport, TransportFuture};
pub use typed::{AgentEvent, AgentEventKind, FileChangeType, TurnTokenUsage};
pub use wire::{
    Activity, Answered, Approval, ApprovalAnswer, ApprovalDecision, Approvals, ArchiveRequest, CommandRequest,
    FollowUpRequest, ImageData, MAX_TIMEOUT_SECONDS, MAX_TURNS, ModeRequest, ModelRequest, NodeList, NodeStateView,
    NodeView, OptionRequest, SandboxView, SessionAction, SessionLifecycle, SessionPage, SessionQuery,
    SessionStateFilter, SessionView, StartSessionRequest, seconds_schema, variables_schema,
};
