//! Messages, reasoning and tool use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Block, text_or_null};
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

/// Tokens of several turns. Input is without the cache, output includes reasoning, the total is everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tokens {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_creation_input_tokens: u64,
    pub cache_read_input_tokens: u64,
    pub reasoning_tokens: u64,
    pub total_tokens: u64,
}

impl Tokens {
    /// Adds the tokens of a turn.
    pub fn add(&mut self, other: &Self) {
        let add = |into: &mut u64, more: u64| *into = into.saturating_add(more);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.cache_creation_input_tokens, other.cache_creation_input_tokens);
        add(&mut self.cache_read_input_tokens, other.cache_read_input_tokens);
        add(&mut self.reasoning_tokens, other.reasoning_tokens);
        add(&mut self.total_tokens, other.total_tokens);
    }
}

/// Tokens in a unified message, under any of their known names.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TurnTokens {
    #[serde(alias = "inputTokens")]
    input_tokens: u64,
    #[serde(alias = "outputTokens")]
    output_tokens: u64,
    #[serde(alias = "cache_creation_input_tokens")]
    cache_write_tokens: u64,
    #[serde(alias = "cache_read_input_tokens")]
    cache_read_tokens: u64,
    reasoning_tokens: u64,
    total_tokens: Option<u64>,
}

impl From<TurnTokens> for Tokens {
    fn from(told: TurnTokens) -> Self {
        let parts = [told.input_tokens, told.output_tokens, told.cache_write_tokens, told.cache_read_tokens];
        Self {
            input_tokens: told.input_tokens,
            output_tokens: told.output_tokens,
            cache_creation_input_tokens: told.cache_write_tokens,
            cache_read_input_tokens: told.cache_read_tokens,
            reasoning_tokens: told.reasoning_tokens,
            total_tokens: told.total_tokens.unwrap_or_else(|| parts.into_iter().fold(0, u64::saturating_add)),
        }
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ResultData {
    /// The outcome, in terms of the protocol.
    pub subtype: ResultSubtype,
    /// Whether it failed.
    pub is_error: bool,
    /// The agent's answer, if it is reported separately from messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The errors of the turn; the last one is the reason why it failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// The duration.
    pub duration_ms: u64,
    /// The time of the model; 0 if the agent does not report it.
    pub duration_api_ms: u64,
    /// The number of model calls; 0 if the agent does not report it.
    pub num_turns: u64,
    /// The cost of the session up to this turn.
    pub total_cost_usd: f64,
    /// The cost of this turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Why the model stopped.
    #[schemars(schema_with = "super::text_or_null")]
    pub stop_reason: Option<String>,
    /// The token usage of this turn.
    pub usage: Tokens,
    /// The error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// The error message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// `completed`, `failed` or `interrupted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The number of the turn in the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tool calls that were denied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permission_denials: Vec<VerbatimJson>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultSubtype {
    /// The turn succeeded.
    Success,
    /// The turn failed or was interrupted.
    ErrorDuringExecution,
    /// The turn limit was reached.
    ErrorMaxTurns,
    /// The budget was exceeded.
    ErrorMaxBudgetUsd,
    /// The answer never matched the requested schema.
    ErrorMaxStructuredOutputRetries,
}

/// A team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Team {
    /// The name.
    pub name: String,
    /// The role of the session's agent.
    pub role: TeamRole,
    /// The members, oldest first.
    pub members: Vec<TeamMember>,
    /// The tasks, oldest first.
    pub tasks: Vec<TeamTask>,
    /// The latest messages between members, oldest first.
    pub messages: Vec<TeamMessage>,
}

/// The role of an agent in a team.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TeamRole {
    /// The leader.
    #[default]
    Lead,
    /// A member.
    Teammate,
}

/// A member of a team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct TeamMember {
    /// The name.
    pub name: String,
    /// The tool call that runs the member.
    pub agent_id: String,
    /// The type of agent.
    pub agent_type: String,
    /// The current activity.
    pub status: MemberStatus,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The state of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
    /// It is working.
    #[default]
    Active,
    /// It is idle.
    Idle,
    /// It was shut down.
    Shutdown,
}

/// A task of a team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct TeamTask {
    /// The ID.
    pub id: String,
    /// A short description.
    pub subject: String,
    /// The full description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The status.
    pub status: TaskStatus,
    /// The member that works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The text to display while it is in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// The tasks that it depends on.
    pub blocked_by: Vec<String>,
    /// The tasks that depend on it.
    pub blocks: Vec<String>,
}

/// The status of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not started.
    #[default]
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
    /// Abandoned.
    Deleted,
}

/// A message between members of a team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TeamMessage {
    /// The tool call that sent it.
    pub id: String,
    /// The recipient.
    pub to: String,
    /// The first thousand characters of the message.
    pub text: String,
    /// A summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The time, in milliseconds since 1970.
    pub timestamp: i64,
}
