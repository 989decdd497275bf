//! Messages of both sides as defined by the specification. Additions are marked: `_meta`, which any object may have,
//! methods that start with `switchboard/`, two item types, and some parameters.

mod client;
mod extension;
mod item;
mod thread;

use schemars::JsonSchema;
use serde::Serialize;

pub use client::{
    AgentInfo, ApprovalPolicy, ApprovalResponse, Capabilities, ClientCapabilities, ClientInfo, ConfigListParams,
    ConfigListResult, ConfigMeta, ConfigReadResult, ConfigSetParams, Decision, EmptyResult, InitializeParams,
    InitializeResult, InitializedParams, ModelListParams, ModelListResult, NetworkAccess, RequestResponse,
    ResponseOutcome, SandboxPolicy, ThreadArchiveParams, ThreadListParams, ThreadListResult, ThreadResumeParams,
    ThreadResumeResult, ThreadStartParams, ThreadStartResult, TurnInterruptParams, TurnStartParams, TurnStartResult,
};
pub use extension::{
    ApprovalMeta, CommandApproval, FileChangeApproval, Growth, NoticeParams, OpenRequest, Progress, ReplayCompleted,
    Resolved, ThreadEnded, ThreadUpdated,
};
pub use item::{
    ChangeMeta, FileChangeKind, FileUpdateChange, ItemBody, ItemMeta, ItemStatus, McpStatus, PlanEntry, StepStatus,
    SubagentRole, ThreadItem, UserInput,
};
pub use thread::{
    ConfigKind, ConfigOption, ConfigSelectOption, ErrorMeta, ItemNotification, Model, PlanUpdated, Thread, ThreadInfo,
    ThreadMeta, ThreadStarted, TokenUsage, TokenUsageUpdated, Turn, TurnError, TurnId, TurnMeta, TurnNotification,
    TurnStatus, UsageMeta,
};

/// A message that needs no response.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "method", content = "params")]
pub enum Notification<'a> {
    /// A thread was created or resumed.
    #[serde(rename = "thread/started")]
    ThreadStarted(ThreadStarted<'a>),
    /// Tokens were used.
    #[serde(rename = "thread/tokenUsage/updated")]
    TokenUsage(TokenUsageUpdated<'a>),
    /// A turn has started.
    #[serde(rename = "turn/started")]
    TurnStarted(TurnNotification<'a>),
    /// A turn has ended.
    #[serde(rename = "turn/completed")]
    TurnCompleted(TurnNotification<'a>),
    /// The plan has changed.
    #[serde(rename = "turn/plan/updated")]
    PlanUpdated(PlanUpdated<'a>),
    /// An item has started.
    #[serde(rename = "item/started")]
    ItemStarted(ItemNotification<'a>),
    /// An item is complete.
    #[serde(rename = "item/completed")]
    ItemCompleted(ItemNotification<'a>),
    /// New text of a message.
    #[serde(rename = "item/agentMessage/delta")]
    AgentMessageDelta(ItemDelta<'a>),
    /// New reasoning text.
    #[serde(rename = "item/reasoning/textDelta")]
    ReasoningDelta(ItemDelta<'a>),
    /// New text of a reasoning summary.
    #[serde(rename = "item/reasoning/summaryTextDelta")]
    SummaryDelta(ItemDelta<'a>),
    /// New output of a command.
    #[serde(rename = "item/commandExecution/outputDelta")]
    CommandDelta(ItemDelta<'a>),
    /// New text of a diff.
    #[serde(rename = "item/fileChange/outputDelta")]
    FileChangeDelta(ItemDelta<'a>),
    /// New text of a plan.
    #[serde(rename = "item/plan/delta")]
    PlanDelta(ItemDelta<'a>),
    /// Ours: new text of an item for which the specification has no method.
    #[serde(rename = "switchboard/itemDelta")]
    Growth(Growth<'a>),
    /// Ours: the progress of an item.
    #[serde(rename = "switchboard/itemProgress")]
    Progress(Progress<'a>),
    /// Ours: a notice.
    #[serde(rename = "switchboard/notice")]
    Notice(NoticeParams<'a>),
    /// Ours: the thread has changed.
    #[serde(rename = "switchboard/threadUpdated")]
    ThreadUpdated(ThreadUpdated<'a>),
    /// Ours: the agent's process has ended.
    #[serde(rename = "switchboard/threadEnded")]
    ThreadEnded(ThreadEnded<'a>),
    /// Ours: a request was resolved.
    #[serde(rename = "switchboard/requestResolved")]
    Resolved(Resolved<'a>),
    /// Ours: the history of a resumed thread was sent.
    #[serde(rename = "switchboard/replayCompleted")]
    ReplayCompleted(ReplayCompleted<'a>),
}

/// A vendor-specific notification: `PROVIDER/NAME`.
#[derive(Serialize, JsonSchema)]
pub struct Extension<'a> {
    /// The vendor and its name of the event.
    #[schemars(regex(pattern = "^[a-z0-9_-]+/[A-Za-z0-9_./-]+$"))]
    pub method: &'a str,
    /// What happened.
    pub params: NoticeParams<'a>,
}

/// A message that needs a response with the same `id`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ServerRequest")]
pub struct Request<'a> {
    /// The ID of the response.
    pub id: &'a str,
    /// The request.
    #[serde(flatten)]
    pub method: RequestMethod<'a>,
}

/// The request.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "method", content = "params")]
pub enum RequestMethod<'a> {
    /// A request to run a command.
    #[schemars(title = "CommandApprovalRequest")]
    #[serde(rename = "item/commandExecution/requestApproval")]
    Command(CommandApproval<'a>),
    /// A request to change files.
    #[schemars(title = "FileChangeApprovalRequest")]
    #[serde(rename = "item/fileChange/requestApproval")]
    FileChange(FileChangeApproval<'a>),
    /// Ours: any other request.
    #[serde(rename = "switchboard/request")]
    Other(OpenRequest<'a>),
}

/// New text of an item; the method determines the field.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemDelta<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    pub item_id: &'a str,
    pub delta: &'a str,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<DeltaMeta<'a>>,
}

/// The subagent that the text belongs to.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeltaMeta<'a> {
    /// The subagent's thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<&'a str>,
    /// The item that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_item_id: Option<&'a str>,
}

/// The error of a request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RpcError {
    /// One of [`code`].
    pub code: i32,
    /// The error message.
    pub message: String,
    /// The error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<ErrorData>,
}

/// The error code.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorData {
    /// A stable code.
    pub code: String,
    /// A remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Error codes.
pub mod code {
    /// The line is not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The JSON is not a valid message.
    pub const INVALID_REQUEST: i32 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters are invalid.
    pub const INVALID_PARAMS: i32 = -32602;
    /// An internal error occurred.
    pub const INTERNAL_ERROR: i32 = -32603;
    /// `initialize` must be sent first.
    pub const NOT_INITIALIZED: i32 = -32000;
    /// The thread does not exist.
    pub const THREAD_NOT_FOUND: i32 = -32001;
    /// The thread already has a running turn.
    pub const TURN_IN_PROGRESS: i32 = -32002;
    /// The turn is not running.
    pub const NOT_RUNNING: i32 = -32003;
}

impl RpcError {
    /// Creates an error with a code.
    #[must_use]
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Creates an error for invalid parameters.
    #[must_use]
    pub fn bad_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Adds machine-readable details.
    #[must_use]
    pub fn with_data(self, code: impl Into<String>, hint: Option<String>) -> Self {
        Self { data: Some(ErrorData { code: code.into(), hint }), ..self }
    }
}
