//! Message types of the specification. Unknown values are omitted, never `null`.

mod conversation;
mod session;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{ErrorCode, Event, Fault, Level, Notice, Usage};

use crate::projection::MessageId;

pub use conversation::{
    Assistant, Content, EndStatus, EventType, FileChange, ImageSource, ProgressStatus, StreamEvent, TeamType, Tool,
    ToolProgress, ToolUseSummary, UserMessage,
};
pub use session::{
    AuthStatus, Behavior, ConfigurationChange, ControlResponse, Denial, Facts, Interrupt, LifecycleSubtype,
    PermissionRequest, PermissionResponse, RequestSubtype, SessionInit, SessionLifecycle, StatusChange, StatusSubtype,
    TurnResult, Unknown,
};

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

/// The type of a message, with its metadata.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", content = "metadata", rename_all = "snake_case")]
pub enum Kind<'a> {
    /// A run of the session has started.
    SessionInit(Box<SessionInit<'a>>),
    /// The activity of the session.
    StatusChange(Box<StatusChange<'a>>),
    /// A complete message, reasoning text or tool call of the agent.
    Assistant(Assistant<'a>),
    /// A turn has ended.
    Result(Box<TurnResult<'a>>),
    /// New text of a message or of reasoning.
    StreamEvent(StreamEvent<'a>),
    /// A request of the agent.
    PermissionRequest(Box<PermissionRequest<'a>>),
    /// A message between host and agent.
    ControlResponse(ControlResponse<'a>),
    /// The progress of a tool.
    ToolProgress(ToolProgress<'a>),
    /// A tool has ended.
    ToolUseSummary(Box<ToolUseSummary<'a>>),
    /// The progress of a login.
    AuthStatus(AuthStatus<'a>),
    /// The configuration of the session has changed.
    ConfigurationChange(Box<ConfigurationChange<'a>>),
    /// A change of the session or its history.
    SessionLifecycle(SessionLifecycle<'a>),
    /// A message of the user.
    UserMessage(UserMessage<'a>),
    /// The answer to a request.
    PermissionResponse(Box<PermissionResponse<'a>>),
    /// The turn was interrupted.
    Interrupt(Interrupt<'a>),
    /// A classification, see `team_type`; never a separate message.
    #[expect(dead_code, reason = "the protocol has the type, and no message has it")]
    TeamMessage(MessageScope<'a>),
    /// A classification, see `team_type`; never a separate message.
    #[expect(dead_code, reason = "the protocol has the type, and no message has it")]
    TeamTaskUpdate(MessageScope<'a>),
    /// A classification, see `team_type`; never a separate message.
    #[expect(dead_code, reason = "the protocol has the type, and no message has it")]
    TeamStateChange(MessageScope<'a>),
    /// Anything else.
    Unknown(Unknown<'a>),
}

/// The author.
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

/// What a message belongs to.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "Place")]
pub struct MessageScope<'a> {
    pub session_id: &'a str,
    /// The number of the turn in the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The subagent's thread: the message is not part of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<&'a str>,
    /// The tool call that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_use_id: Option<&'a str>,
}

impl<'a> From<&'a Event> for MessageScope<'a> {
    fn from(event: &'a Event) -> Self {
        Self {
            session_id: &event.session,
            turn: event.turn,
            thread_id: event.thread.as_deref(),
            parent_tool_use_id: event.parent.as_deref(),
        }
    }
}

/// The error, if there is one.
#[derive(Default, Serialize, JsonSchema)]
pub struct Failure<'a> {
    pub is_error: bool,
    /// The error message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["provider_auth", "api_error", "context_overflow", "output_length", "aborted",
        "rate_limit", "max_turns", "max_budget", "execution_error", "unknown"]))]
    pub error_code: Option<&'static str>,
    /// The provider's HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// The agent's own name of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_info: Option<&'a str>,
}

impl<'a> Failure<'a> {
    /// Converts a fault.
    pub fn from_fault(fault: &'a Fault) -> Self {
        Self {
            is_error: true,
            error: Some(Cow::Borrowed(&fault.message)),
            error_code: Some(fault.code.message_code()),
            http_status: fault.http_status,
            error_info: fault.info.as_deref(),
        }
    }

    /// Creates a failure from a code and a message.
    pub fn new(code: ErrorCode, error: impl Into<Cow<'a, str>>) -> Self {
        Self { is_error: true, error: Some(error.into()), error_code: Some(code.message_code()), ..Self::default() }
    }
}

/// What a notice says.
#[derive(Default, Serialize, JsonSchema)]
pub struct Remark<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    /// The agent's own name of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// The stage, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub detail: Option<&'a RawValue>,
}

impl<'a> From<&'a Notice> for Remark<'a> {
    fn from(notice: &'a Notice) -> Self {
        Self {
            text: notice.text.as_deref(),
            name: notice.name.as_deref(),
            stage: notice.status.as_deref(),
            level: Some(notice.level),
            detail: notice.detail.as_deref(),
        }
    }
}

/// Pieces of content that the protocol has no type for: an empty text stands in their place, here they are.
#[derive(Default, Serialize, JsonSchema)]
pub struct Dropped<'a> {
    #[serde(rename = "dropped_content_block_types", skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<Cow<'a, str>>,
    #[serde(rename = "dropped_content_blocks", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Value>")]
    pub blocks: Vec<Cow<'a, RawValue>>,
}

/// Tokens. Input is without the cache, output includes reasoning, the total is everything.
#[derive(Serialize, JsonSchema)]
pub struct Tokens {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    pub reasoning_tokens: u64,
    /// Those of tool use, where the agent counts them apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_tokens: Option<u64>,
    pub total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl From<&Usage> for Tokens {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write(),
            reasoning_tokens: usage.reasoning,
            tool_tokens: usage.tool,
            total_tokens: usage.total_tokens(),
            cost_usd: usage.cost_usd,
        }
    }
}
