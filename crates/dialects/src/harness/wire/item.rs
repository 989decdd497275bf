//! Thread items. They are owned, because a turn's items are kept until it ends.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::value::RawValue;
use switchboard_event::{CallKind, Content, FileOp, Id, Location, Status, Team, to_raw_string};

use crate::saved::read_present;

/// One item.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ThreadItem {
    pub id: Id,
    #[serde(flatten)]
    pub body: ItemBody,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<ItemMeta>>,
}

/// Whose words they are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SubagentRole {
    /// What it was told.
    User,
    /// What it says.
    Agent,
    /// What it thinks.
    Reasoning,
}

/// Defines the variants twice. On the wire the type is one of the fields; verbatim JSON can only be deserialized from a
/// form in which the type comes first.
macro_rules! item_body {
    ($($variants:tt)*) => {
        /// What an item is. The union is open: `subagentMessage`, `subagent` and `toolCall` are ours.
        #[derive(Clone, Debug, Serialize, JsonSchema)]
        #[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
        pub enum ItemBody { $($variants)* }

        #[derive(Deserialize, JsonSchema)]
        #[serde(remote = "ItemBody", rename_all = "camelCase", rename_all_fields = "camelCase")]
        enum TypeFirst { $($variants)* }
    };
}

item_body! {
    /// What the user said.
    UserMessage { content: Vec<UserInput> },
    /// What the agent says.
    AgentMessage { text: String },
    /// What the agent thinks.
    Reasoning {
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    /// What a subagent says, thinks or is told: no part of the thread's answer, and never taken for it.
    SubagentMessage { role: SubagentRole, text: String },
    /// A shell command.
    CommandExecution {
        command: String,
        /// Empty where it is not known.
        cwd: String,
        status: ItemStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        aggregated_output: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// Changes of files.
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
    /// A search of the web.
    WebSearch { query: String },
    /// A plan.
    Plan {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        entries: Vec<PlanEntry>,
    },
    /// Ours: any other tool, and what is not known.
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
    /// Ours: another agent, working for this one. Its items carry `_meta.thread` and `_meta.parentItemId`.
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

/// How far a command, a change, a tool call or a subagent got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ItemStatus {
    InProgress,
    Completed,
    Failed,
    Declined,
}

/// How far a call of an MCP tool got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpStatus {
    InProgress,
    Completed,
    Failed,
}

/// A piece of what the user said.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum UserInput {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// An image, by its address.
    Image {
        /// A `data:` address of an agent's or a client's; of an agent's also any other.
        url: String,
    },
    /// An image, by its file.
    LocalImage {
        /// The file, absolute.
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

/// What happened to a file. One that was moved is deleted here and added there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeKind {
    Add,
    Modify,
    Delete,
}

/// What else is known about a change.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeMeta {
    /// Where the file was before.
    pub moved_from: String,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanEntry {
    pub step: String,
    pub status: StepStatus,
}

/// How far a step of a plan got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// What else is known about an item.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemMeta {
    /// The subagent's thread: the item is not part of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<Id>,
    /// The item under which a subagent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_item_id: Option<Id>,
    /// How it ended, where the item has no word for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The tool, by the agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What sort of tool it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<CallKind>,
    /// What it does to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<FileOp>,
    /// What it does in a team of agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<Team>,
    /// The places in files that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// What it has or gave back beside text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Content>,
    /// Why it failed, where the item has no word for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a tool said about the files it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// What was searched for, where it is more than one thing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<String>,
    /// What was found.
    #[serde(default, deserialize_with = "read_present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub results: Option<Box<RawValue>>,
    /// Whether a message is a comment on the way or the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The model reply that it came with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Id>,
    /// How long it took, where the item has no word for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// It is a refusal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refusal: bool,
    /// The provider keeps the thoughts secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Nobody typed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synthetic: bool,
    /// It was said while a turn was running.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// It goes on in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Some of its text is not here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}
