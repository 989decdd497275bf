//! Messages of the agent's side: notifications and requests.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    CommandApproval, FileChangeApproval, Growth, ItemDelta, ItemNotification, NoticeParams, OpenRequest, PlanUpdated,
    Progress, ReplayCompleted, Resolved, ThreadEnded, ThreadStarted, ThreadUpdated, TokenUsageUpdated,
    TurnNotification,
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
    /// A turn began.
    #[serde(rename = "turn/started")]
    TurnStarted(TurnNotification<'a>),
    /// A turn ended.
    #[serde(rename = "turn/completed")]
    TurnCompleted(TurnNotification<'a>),
    /// The plan is now this.
    #[serde(rename = "turn/plan/updated")]
    PlanUpdated(PlanUpdated<'a>),
    /// Work on an item began.
    #[serde(rename = "item/started")]
    ItemStarted(ItemNotification<'a>),
    /// An item is finished; this is all of it.
    #[serde(rename = "item/completed")]
    ItemCompleted(ItemNotification<'a>),
    /// The agent says more.
    #[serde(rename = "item/agentMessage/delta")]
    AgentMessageDelta(ItemDelta<'a>),
    /// The agent thinks more.
    #[serde(rename = "item/reasoning/textDelta")]
    ReasoningDelta(ItemDelta<'a>),
    /// The summary of what the agent thinks grows.
    #[serde(rename = "item/reasoning/summaryTextDelta")]
    SummaryDelta(ItemDelta<'a>),
    /// A command prints more.
    #[serde(rename = "item/commandExecution/outputDelta")]
    CommandDelta(ItemDelta<'a>),
    /// A diff grows.
    #[serde(rename = "item/fileChange/outputDelta")]
    FileChangeDelta(ItemDelta<'a>),
    /// The text of a plan grows.
    #[serde(rename = "item/plan/delta")]
    PlanDelta(ItemDelta<'a>),
    /// Ours: a text of an item grows for which the specification has no method.
    #[serde(rename = "switchboard/itemDelta")]
    Growth(Growth<'a>),
    /// Ours: an item is still going on.
    #[serde(rename = "switchboard/itemProgress")]
    Progress(Progress<'a>),
    /// Ours: something to know.
    #[serde(rename = "switchboard/notice")]
    Notice(NoticeParams<'a>),
    /// Ours: something about the thread changed.
    #[serde(rename = "switchboard/threadUpdated")]
    ThreadUpdated(ThreadUpdated<'a>),
    /// Ours: the agent's process ended.
    #[serde(rename = "switchboard/threadEnded")]
    ThreadEnded(ThreadEnded<'a>),
    /// Ours: a request needs no answer any more.
    #[serde(rename = "switchboard/requestResolved")]
    Resolved(Resolved<'a>),
    /// Ours: the history of a resumed thread was told.
    #[serde(rename = "switchboard/replayCompleted")]
    ReplayCompleted(ReplayCompleted<'a>),
}

/// A notification that only agents of one maker have: `PROVIDER/NAME`.
#[derive(Serialize, JsonSchema)]
pub struct Extension<'a> {
    /// The maker, and its name for what happened.
    #[schemars(regex(pattern = "^[a-z0-9_-]+/[A-Za-z0-9_./-]+$"))]
    pub method: &'a str,
    /// What happened.
    pub params: NoticeParams<'a>,
}

/// A message that waits for a response with the same `id`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ServerRequest")]
pub struct Request<'a> {
    /// What the response is to carry.
    pub id: &'a str,
    /// What is asked.
    #[serde(flatten)]
    pub method: RequestMethod<'a>,
}

/// What is asked.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "method", content = "params")]
pub enum RequestMethod<'a> {
    /// May this command run?
    #[schemars(title = "CommandApprovalRequest")]
    #[serde(rename = "item/commandExecution/requestApproval")]
    Command(CommandApproval<'a>),
    /// May these files change?
    #[schemars(title = "FileChangeApprovalRequest")]
    #[serde(rename = "item/fileChange/requestApproval")]
    FileChange(FileChangeApproval<'a>),
    /// Ours: anything else.
    #[serde(rename = "switchboard/request")]
    Other(OpenRequest<'a>),
}
