//! The message envelope.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Assistant, AuthStatus, ConfigurationChange, Content, ControlResponse, Interrupt, PermissionRequest,
    PermissionResponse, Place, SessionInit, SessionLifecycle, StatusChange, StreamEvent, ToolProgress, ToolUseSummary,
    TurnResult, Unknown, UserMessage,
};
use crate::message_id::MessageId;

/// One message.
#[derive(Serialize, JsonSchema)]
pub struct Message<'a> {
    pub id: MessageId<'a>,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// `type` and `metadata`.
    #[serde(flatten)]
    pub kind: Kind<'a>,
    pub role: Role,
    pub content: Vec<Content<'a>>,
    /// The message with the tool call that this one belongs to.
    #[serde(rename = "parentId", skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<&'a str>,
}

/// What a message is, with the metadata of its type.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", content = "metadata", rename_all = "snake_case")]
pub enum Kind<'a> {
    /// A run of the session began.
    SessionInit(Box<SessionInit<'a>>),
    /// What the session is doing.
    StatusChange(Box<StatusChange<'a>>),
    /// What the agent said, thought or called: whole.
    Assistant(Assistant<'a>),
    /// A turn ended.
    Result(Box<TurnResult<'a>>),
    /// What the agent is saying or thinking: a piece.
    StreamEvent(StreamEvent<'a>),
    /// The agent asks.
    PermissionRequest(Box<PermissionRequest<'a>>),
    /// Talk between host and agent.
    ControlResponse(ControlResponse<'a>),
    /// A tool is going on.
    ToolProgress(ToolProgress<'a>),
    /// A tool came to its end.
    ToolUseSummary(Box<ToolUseSummary<'a>>),
    /// Logging in.
    AuthStatus(AuthStatus<'a>),
    /// The session is set up differently.
    ConfigurationChange(Box<ConfigurationChange<'a>>),
    /// Something happened to the session or to its history.
    SessionLifecycle(SessionLifecycle<'a>),
    /// What the user said.
    UserMessage(UserMessage<'a>),
    /// What the agent was answered.
    PermissionResponse(Box<PermissionResponse<'a>>),
    /// Somebody interrupted the turn.
    Interrupt(Interrupt<'a>),
    /// A classification, see `team_type`: never a message of its own.
    #[expect(dead_code, reason = "the protocol has the type, and no message has it")]
    TeamMessage(Place<'a>),
    /// A classification, see `team_type`: never a message of its own.
    #[expect(dead_code, reason = "the protocol has the type, and no message has it")]
    TeamTaskUpdate(Place<'a>),
    /// A classification, see `team_type`: never a message of its own.
    #[expect(dead_code, reason = "the protocol has the type, and no message has it")]
    TeamStateChange(Place<'a>),
    /// Anything else.
    Unknown(Unknown<'a>),
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    System,
    Tool,
}

impl Kind<'_> {
    /// Returns the role that the message type implies.
    pub fn role(&self) -> Role {
        match self {
            Self::UserMessage(_) | Self::PermissionResponse(_) | Self::Interrupt(_) => Role::User,
            Self::Assistant(_) | Self::StreamEvent(_) => Role::Assistant,
            Self::ToolProgress(_) | Self::ToolUseSummary(_) => Role::Tool,
            _ => Role::System,
        }
    }
}
