//! The payload of each type of item.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Content;
use crate::Id;

/// A message of the user, or on behalf of the user.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct UserMessage {
    /// What was said.
    #[serde(default)]
    pub content: Vec<Content>,
    /// Not typed by a user: added by the agent or its host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synthetic: bool,
    /// Whether it was sent during a turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
}

impl UserMessage {
    /// Creates a message that consists of text only.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// Returns all text of the message, joined by newlines.
    #[must_use]
    pub fn joined_text(&self) -> String {
        self.content.iter().filter_map(|c| c.text.as_deref()).collect::<Vec<_>>().join("\n")
    }
}

/// A message of the agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct AgentMessage {
    /// The text.
    #[serde(default)]
    pub text: String,
    /// Whether it is a comment on the way or the answer, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Whether it is a refusal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refusal: bool,
    /// Content other than text, such as images and code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Content>,
    /// The text is longer than what is kept; the deltas had all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl AgentMessage {
    /// Creates a message that consists of text only.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Reasoning of the agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reasoning {
    /// The thoughts themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A summary of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The provider keeps them secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// The text is longer than what is kept; the deltas had all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A shell command.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Command {
    /// The command line.
    pub command: String,
    /// Where it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What it printed, both streams together.
    #[serde(default)]
    pub output: String,
    /// There was more output than this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Whether it continues in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

/// File changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// One entry a file.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// What the tool said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// The change of one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The file; absolute where the folder is known.
    pub path: String,
    /// What happened to it.
    pub kind: ChangeKind,
    /// The new path of a moved file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// A unified diff; empty where none is known.
    #[serde(default)]
    pub diff: String,
    /// The file before, where the agent gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The file after, where the agent gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Add,
    /// It is different.
    #[default]
    Modify,
    /// It is gone.
    Delete,
    /// It is somewhere else, and may be different.
    Move,
}

/// A call of an MCP tool. Its input is the call's.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Mcp {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// What it gave back.
    #[serde(
        default,
        deserialize_with = "crate::envelope::deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    pub result: Option<Box<RawValue>>,
    /// The reason for a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A web search.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct WebSearch {
    /// What was searched for, or the page that was opened.
    #[serde(default)]
    pub queries: Vec<String>,
    /// The results.
    #[serde(
        default,
        deserialize_with = "crate::envelope::deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    pub results: Option<Box<RawValue>>,
}

/// A plan, or a list of things to do.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Its steps.
    #[serde(default)]
    pub entries: Vec<PlanEntry>,
    /// The plan as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// What the tool said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// A step of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanEntry {
    /// The step.
    pub step: String,
    /// The status.
    #[serde(default)]
    pub status: PlanStatus,
}

/// The status of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not started.
    #[default]
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// Abandoned.
    Failed,
}

/// Another agent, working for this one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Subagent {
    /// Its own thread or session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Id>,
    /// The type of agent.
    #[serde(default)]
    pub name: String,
    /// What it is for, in a few words.
    #[serde(default)]
    pub label: String,
    /// The prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Whether it continues in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

/// Any other tool. Its name and input are the call's.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// What it gave back, as text.
    #[serde(default)]
    pub output: String,
    /// What it gave back, where that is more than text.
    #[serde(
        default,
        deserialize_with = "crate::envelope::deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    pub result: Option<Box<RawValue>>,
}

/// Something that is not known: kept whole.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// The type it has in the agent's words.
    #[serde(default)]
    pub name: String,
    /// All of it.
    #[serde(
        default,
        deserialize_with = "crate::envelope::deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    pub raw: Option<Box<RawValue>>,
}
