//! Messages of the agent and the user, and the authentication status.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::unified::{VerbatimFields, VerbatimJson},
    Block, Tokens,
    server::text_or_null,
};

/// What the agent said, thought or called: whole.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "AssistantBody")]
pub struct AssistantMessage {
    /// Its id.
    pub id: String,
    /// Always `message`.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "message"))]
    pub kind: &'static str,
    /// Always `assistant`.
    #[schemars(extend("const" = "assistant"))]
    pub role: &'static str,
    /// The model; empty while it is not known.
    pub model: String,
    /// What it says.
    pub content: Vec<Block>,
    /// Why the model stopped, where that is told with a message.
    #[schemars(schema_with = "text_or_null")]
    pub stop_reason: Option<String>,
    /// What it used, where that is told with a message; else zeros, and `result` has the figures of the turn.
    pub usage: Tokens,
    /// The item that `stream_event`s had the pieces of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// How it ended: `completed`, `failed`, `declined` or `interrupted`; a tool call has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether it is a comment on the way or the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The summary of thoughts that are there themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The provider keeps the thoughts secret.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// The text is longer; the stream events had all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// What the tool call does in a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_type: Option<String>,
    /// Types of content that the protocol does not have: an empty text stands in their place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_content_block_types: Vec<String>,
    /// And the content itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_content_blocks: Vec<VerbatimJson>,
}

/// A piece of what the agent is saying or thinking.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamPiece {
    /// Always `content_block_delta`.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "content_block_delta"))]
    pub kind: &'static str,
    /// Always 0: each item streams apart, see `item_id`.
    pub index: u32,
    /// What is new.
    pub delta: Delta,
}

/// What is new.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields say what they are")]
pub enum Delta {
    /// More text.
    TextDelta { text: String },
    /// More thoughts.
    ThinkingDelta { thinking: String },
}

/// What the user said.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UserMessage {
    /// The text of it.
    pub content: String,
    /// All of it, where it is more than text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// The item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// Nobody typed it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_synthetic: bool,
    /// It was said while a turn was running.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// The tool call below which it was said: to a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_use_id: Option<String>,
}

/// Logging in.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AuthStatus {
    /// It is going on.
    #[serde(rename = "isAuthenticating")]
    pub is_authenticating: bool,
    /// What was said about it, a line each.
    pub output: Vec<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where to log in.
    #[serde(rename = "validationLink", skip_serializing_if = "Option::is_none")]
    pub validation_link: Option<String>,
    /// All that is known.
    pub metadata: VerbatimFields,
}
