//! Thread items. They are owned, because a turn's items are kept until it ends.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::value::RawValue;
use switchboard_event::{CallKind, Content, FileOp, Id, Location, Status, Team, to_raw_string};

use crate::projection::read_present;

/// One item.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ThreadItem {
    pub id: Id,
    #[serde(flatten)]
    pub body: ItemBody,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<ItemMeta>>,
}

/// The author of the text.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SubagentRole {
    /// A prompt for it.
    User,
    /// The content.
    Agent,
    /// Its reasoning.
    Reasoning,
}

/// Defines the variants twice. On the wire the type is one of the fields; verbatim JSON can only be deserialized from a
/// form in which the type comes first.
macro_rules! item_body {
    ($($variants:tt)*) => {
        /// The type of an item. The union is open: `subagentMessage`, `subagent` and `toolCall` are ours.
        #[derive(Clone, Debug, Serialize, JsonSchema)]
        #[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
        pub enum ItemBody { $($variants)* }

        #[derive(Deserialize, JsonSchema)]
        #[serde(remote = "ItemBody", rename_all = "camelCase", rename_all_fields = "camelCase")]
        enum TypeFirst { $($variants)* }
    };
}

item_body! {
    /// A message of the user.
    UserMessage { content: Vec<UserInput> },
    /// A message of the agent.
    AgentMessage { text: String },
    /// Reasoning of the agent.
    Reasoning {
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    /// A message, reasoning text or prompt of a subagent; never part of the thread's answer.
    SubagentMessage { role: SubagentRole, text: String },
    /// A shell command.
    CommandExecution {
        command: String,
        /// Empty if unknown.
        cwd: String,
        status: ItemStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        aggregated_output: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// File changes.
    FileChange { changes: Vec<FileUpdateChange>, status: ItemStatus },
    /// A call of an MCP tool.
    McpToolCall {
        server: String,
        tool: String,
        #[serde(default, deserialize_with = "read_present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
        arguments: Option<Box<RawValue>>,
        status: McpStatus,
        #[serde(default, deserialize_with = "read_present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<serde_json::Value>")]
        result: Option<Box<RawValue>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    WebSearch { query: String },
    Plan {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        entries: Vec<PlanEntry>,
    },
    /// Ours: any other tool, or an unknown item.
    ToolCall {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(default, deserialize_with = "read_present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
        arguments: Option<Box<RawValue>>,
        status: ItemStatus,
        #[serde(default, deserialize_with = "read_present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<serde_json::Value>")]
        result: Option<Box<RawValue>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Ours: a subagent. Its items have `_meta.thread` and `_meta.parentItemId`.
    Subagent {
        name: String,
        label: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thread: Option<Id>,
        status: ItemStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl<'de> Deserialize<'de> for ThreadItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        let ItemEnvelope { id, kind, meta } = serde_json::from_str(json.get()).map_err(D::Error::custom)?;
        let type_first = format!("{{{}:{json}}}", to_raw_string(&kind));
        let body = TypeFirst::deserialize(&mut serde_json::Deserializer::from_str(&type_first));
        Ok(Self { id, body: body.map_err(D::Error::custom)?, meta })
    }
}

/// The fields outside the body.
#[derive(Deserialize)]
struct ItemEnvelope {
    id: Id,
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "_meta")]
    meta: Option<Box<ItemMeta>>,
}

impl ThreadItem {
    /// Sets the status of a command or file change.
    pub fn set_status(&mut self, now: ItemStatus) {
        if let ItemBody::CommandExecution { status, .. } | ItemBody::FileChange { status, .. } = &mut self.body {
            *status = now;
        }
    }

    /// Fails a command or file change that is still in progress.
    pub fn fail_if_open(&mut self) {
        if let ItemBody::CommandExecution { status, .. } | ItemBody::FileChange { status, .. } = &mut self.body
            && *status == ItemStatus::InProgress
        {
            *status = ItemStatus::Failed;
        }
    }
}

/// The status of a command, file change, tool call or subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ItemStatus {
    InProgress,
    Completed,
    Failed,
    Declined,
}

/// The status of an MCP tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpStatus {
    InProgress,
    Completed,
    Failed,
}

/// A part of a user message.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum UserInput {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image by URL.
    Image {
        /// A `data:` URL; images of agents may have other URLs.
        url: String,
    },
    /// An image by path.
    LocalImage {
        /// The absolute path.
        path: String,
    },
}

/// The change of one file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileUpdateChange {
    pub path: String,
    pub kind: FileChangeKind,
    pub diff: String,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<ChangeMeta>,
}

/// The kind of file change. A move is a deletion and an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeKind {
    Add,
    Modify,
    Delete,
}

/// Additional information about a change.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeMeta {
    /// The previous path.
    pub moved_from: String,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanEntry {
    pub step: String,
    pub status: StepStatus,
}

/// The status of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// Additional information about an item.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemMeta {
    /// The subagent's thread: the item is not part of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<Id>,
    /// The item that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_item_id: Option<Id>,
    /// The outcome, if the item cannot express it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The agent's name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A one-line title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<CallKind>,
    /// The operation on a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<FileOp>,
    /// The effect in a team of agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<Team>,
    /// The file locations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// Content other than text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Content>,
    /// The error, if the item cannot express it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The output of a tool that changed files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The queries, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<String>,
    /// The results.
    #[serde(default, deserialize_with = "read_present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub results: Option<Box<RawValue>>,
    /// Whether a message is a comment on the way or the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The model reply that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Id>,
    /// The duration, if the item cannot express it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether it is a refusal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refusal: bool,
    /// Whether the provider hides the reasoning text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Whether it was generated rather than typed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synthetic: bool,
    /// Whether it was sent during a turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// Whether it continues in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Whether some of its text was removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}
