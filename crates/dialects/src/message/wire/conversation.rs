//! Metadata of agent and user messages.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{CallKind, Change, ChangeKind};

use super::{Dropped, Failure, MessageScope};

/// A message, reasoning text or tool call of the agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AssistantMetadata")]
pub struct Assistant<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    pub item_id: &'a str,
    /// The model reply that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    /// The outcome; absent for a tool call that is in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<EndStatus>,
    /// Whether it is a comment on the way or the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<&'a str>,
    /// The summary of reasoning whose text is included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<&'a str>,
    /// Whether the provider hides the reasoning text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Whether the text is truncated; the stream events had all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The effect of the tool call in a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_type: Option<TeamType>,
    #[serde(flatten)]
    pub dropped: Dropped<'a>,
}

/// New text of a message or of reasoning.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StreamEventMetadata")]
pub struct StreamEvent<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    pub item_id: &'a str,
    pub event_type: EventType,
}

/// The kind of new text.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    TextDelta,
    ThinkingDelta,
}

/// A message of the user.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserMessageMetadata")]
pub struct UserMessage<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    pub item_id: &'a str,
    /// Whether it was generated rather than typed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_synthetic: bool,
    /// Whether it was sent during a turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    #[serde(flatten)]
    pub dropped: Dropped<'a>,
}

/// A part of a message.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content<'a> {
    Text {
        text: Cow<'a, str>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
        input: Cow<'a, RawValue>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Cow<'a, str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Code {
        language: &'a str,
        code: &'a str,
    },
    Image {
        source: ImageSource<'a>,
    },
    Thinking {
        thinking: &'a str,
    },
    Refusal {
        refusal: &'a str,
    },
}

/// The bytes of an image.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ImageSource<'a> {
    Base64 { media_type: &'a str, data: &'a str },
}

impl<'a> Content<'a> {
    /// Creates a text block.
    pub fn from_text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// The tool.
#[derive(Serialize, JsonSchema)]
pub struct Tool<'a> {
    pub tool_use_id: &'a str,
    pub tool_name: &'a str,
    /// A one-line title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    /// The kind of tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<CallKind>,
    /// The effect in a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_type: Option<TeamType>,
}

/// The effect of a tool in a team of agents: types without messages of their own.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the names are the protocol's")]
pub enum TeamType {
    TeamMessage,
    TeamTaskUpdate,
    TeamStateChange,
}

/// The progress of a tool.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolProgressMetadata")]
pub struct ToolProgress<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    #[serde(flatten)]
    pub tool: Tool<'a>,
    pub status: ProgressStatus,
    /// The input, at the start and when it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub input: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_time_seconds: Option<f64>,
    /// The progress, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// The current activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    /// The output since the last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_delta: Option<&'a str>,
}

/// The status of a tool that is in progress.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgressStatus {
    /// It waits for an answer.
    Pending,
    Running,
}

/// The result of a tool, or a summary of several tools.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolUseSummaryMetadata")]
pub struct ToolUseSummary<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    /// The tool; absent in a summary of several.
    #[serde(flatten)]
    pub tool: Option<Tool<'a>>,
    #[schemars(with = "Vec<String>")]
    pub tool_use_ids: Vec<Cow<'a, str>>,
    pub status: EndStatus,
    /// A one-line title.
    pub summary: Cow<'a, str>,
    #[serde(flatten)]
    pub failure: Failure<'a>,
    /// The output, if it is more than the text of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub output: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The changed files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange<'a>>,
    /// Whether the output is truncated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(flatten)]
    pub dropped: Dropped<'a>,
}

/// A file change.
#[derive(Serialize, JsonSchema)]
pub struct FileChange<'a> {
    pub path: &'a str,
    pub kind: ChangeKind,
    /// The new path of a moved file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<&'a str>,
    pub diff: &'a str,
}

impl<'a> From<&'a Change> for FileChange<'a> {
    fn from(change: &'a Change) -> Self {
        Self { path: &change.path, kind: change.kind, to: change.to.as_deref(), diff: &change.diff }
    }
}

/// The outcome.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndStatus {
    Completed,
    Failed,
    Declined,
    Interrupted,
}
