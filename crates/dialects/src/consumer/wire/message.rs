//! Messages, reasoning and tool use.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Block, Tokens, text_or_null};
use crate::consumer::unified::{VerbatimFields, VerbatimJson};

/// A complete message, reasoning text or tool call of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "AssistantBody")]
pub struct AssistantMessage {
    /// The ID.
    pub id: String,
    /// Always `message`.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "message"))]
    pub kind: &'static str,
    /// Always `assistant`.
    #[schemars(extend("const" = "assistant"))]
    pub role: &'static str,
    /// The model; empty if unknown.
    pub model: String,
    /// The content.
    pub content: Vec<Block>,
    /// Why the model stopped, if the agent reports it with a message.
    #[schemars(schema_with = "text_or_null")]
    pub stop_reason: Option<String>,
    /// The usage, if the agent reports it with a message; otherwise zeros, and `result` has the usage of the turn.
    pub usage: Tokens,
    /// The item whose text was in `stream_event`s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The outcome: `completed`, `failed`, `declined` or `interrupted`; absent for a tool call that is in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether it is a comment on the way or the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The summary of reasoning whose text is included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether the provider hides the reasoning text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Whether the text is truncated; the stream events had all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The effect of the tool call in a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_type: Option<String>,
    /// Types of content that the protocol lacks, replaced by empty texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_content_block_types: Vec<String>,
    /// The replaced content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_content_blocks: Vec<VerbatimJson>,
}

/// New text of a message or of reasoning.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamPiece {
    /// Always `content_block_delta`.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "content_block_delta"))]
    pub kind: &'static str,
    /// Always 0: items are streamed separately, see `item_id`.
    pub index: u32,
    /// The new text.
    pub delta: Delta,
}

/// The new text.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields say what they are")]
pub enum Delta {
    /// New text of a message.
    TextDelta { text: String },
    /// New reasoning text.
    ThinkingDelta { thinking: String },
}

/// A message of the user.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UserMessage {
    /// The text.
    pub content: String,
    /// The full content, if it is more than text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// The item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// Whether it was generated rather than typed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_synthetic: bool,
    /// Whether it was sent during a turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// The tool call of the subagent that got the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_use_id: Option<String>,
}

/// The progress of a login.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AuthStatus {
    /// Whether the login is in progress.
    #[serde(rename = "isAuthenticating")]
    pub is_authenticating: bool,
    /// The output, one line per element.
    pub output: Vec<String>,
    /// The reason for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The URL to log in at.
    #[serde(rename = "validationLink", skip_serializing_if = "Option::is_none")]
    pub validation_link: Option<String>,
    /// All available information.
    pub metadata: VerbatimFields,
}

/// The progress of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ToolProgress {
    /// The tool call.
    pub tool_use_id: String,
    /// The tool.
    pub tool_name: String,
    /// The time since the start; 0 if the agent does not report it.
    pub elapsed_time_seconds: f64,
    /// `pending` while it waits for an answer, otherwise `running`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// A one-line title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The input, at the start and when it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<VerbatimJson>,
    /// The progress, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// The current activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The output since the last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_delta: Option<String>,
    /// The effect in a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_type: Option<String>,
    /// The tool call of the subagent that runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_use_id: Option<String>,
}

/// The result of a tool, or a summary of several tools.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ToolUseSummary {
    /// A one-line title.
    pub summary: String,
    /// The tool calls.
    pub tool_use_ids: Vec<String>,
    /// The tool call, if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The tool, if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// `completed`, `failed`, `declined` or `interrupted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<VerbatimJson>,
    /// The output: text or any other JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<VerbatimJson>,
    /// Additional output, for example images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Block>,
    /// The reason for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// A one-line title of the tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The changed files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<VerbatimJson>,
    /// Whether the output is truncated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The effect in a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_type: Option<String>,
    /// The tool call of the subagent that ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_use_id: Option<String>,
    /// Types of content that the protocol lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_content_block_types: Vec<String>,
}
