//! JSON-RPC messages: notifications and requests.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Elicitation, MessageRetracted, Permission, RequestResolved, SessionEnded, SessionStarted, SessionUpdate,
    SubagentSaid, TurnCompleted, TurnStarted,
};

/// The version of JSON-RPC.
#[derive(Serialize, JsonSchema)]
pub enum Version {
    /// The only one.
    #[serde(rename = "2.0")]
    Two,
}

/// A message that needs no response.
#[derive(Serialize, JsonSchema)]
pub struct Notification<'a> {
    jsonrpc: Version,
    #[serde(flatten)]
    method: Method<'a>,
}

impl<'a> Notification<'a> {
    pub fn new(method: Method<'a>) -> Self {
        Self { jsonrpc: Version::Two, method }
    }
}

/// What is told.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "method", content = "params")]
pub enum Method<'a> {
    /// The session goes on.
    #[serde(rename = "session/update")]
    Update(Box<SessionUpdate<'a>>),
    /// Ours: a run of the agent began.
    #[serde(rename = "_switchboard/session_started")]
    SessionStarted(SessionStarted<'a>),
    /// Ours: a run of the agent ended.
    #[serde(rename = "_switchboard/session_ended")]
    SessionEnded(SessionEnded<'a>),
    /// Ours: a turn began.
    #[serde(rename = "_switchboard/turn_started")]
    TurnStarted(TurnStarted<'a>),
    /// Ours: a turn ended; what the response to `session/prompt` says.
    #[serde(rename = "_switchboard/turn_completed")]
    TurnCompleted(TurnCompleted<'a>),
    /// Ours: a request needs no answer any more.
    #[serde(rename = "_switchboard/request_resolved")]
    RequestResolved(RequestResolved<'a>),
    /// Ours: the agent took back the text of a message or of a thought.
    #[serde(rename = "_switchboard/message_retracted")]
    MessageRetracted(MessageRetracted<'a>),
    /// Ours: what a subagent said, thought or was told.
    #[serde(rename = "_switchboard/subagent")]
    Subagent(SubagentSaid<'a>),
}

/// A message that waits for a response with the same `id`.
#[derive(Serialize, JsonSchema)]
pub struct Request<'a> {
    jsonrpc: Version,
    id: Cow<'a, str>,
    #[serde(flatten)]
    asked: Asked<'a>,
}

/// What is asked.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "method", content = "params")]
enum Asked<'a> {
    #[serde(rename = "session/request_permission")]
    Permission(Box<Permission<'a>>),
    #[serde(rename = "elicitation/create")]
    Elicitation(Elicitation<'a>),
}

impl<'a> Request<'a> {
    /// Creates a permission request.
    pub fn for_permission(id: Cow<'a, str>, permission: Permission<'a>) -> Self {
        Self { jsonrpc: Version::Two, id, asked: Asked::Permission(Box::new(permission)) }
    }

    /// Creates a form request.
    pub fn for_elicitation(id: Cow<'a, str>, elicitation: Elicitation<'a>) -> Self {
        Self { jsonrpc: Version::Two, id, asked: Asked::Elicitation(elicitation) }
    }
}
