//! Metadata of agent and user messages.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Dropped, EndStatus, Place, TeamType};

/// What the agent said, thought or called.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AssistantMetadata")]
pub struct Assistant<'a> {
    #[serde(flatten)]
    pub place: Place<'a>,
    pub item_id: &'a str,
    /// The model reply that it came with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    /// How it ended; a tool call has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<EndStatus>,
    /// Whether it is a comment on the way or the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<&'a str>,
    /// The summary of thoughts that are there themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<&'a str>,
    /// The provider keeps the thoughts secret.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// The text is longer; the stream events had all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// What the tool call does in a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_type: Option<TeamType>,
    #[serde(flatten)]
    pub dropped: Dropped<'a>,
}

/// A piece of what the agent is saying or thinking.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StreamEventMetadata")]
pub struct StreamEvent<'a> {
    #[serde(flatten)]
    pub place: Place<'a>,
    pub item_id: &'a str,
    pub event_type: EventType,
}

/// What grows.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    TextDelta,
    ThinkingDelta,
}

/// What the user said.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserMessageMetadata")]
pub struct UserMessage<'a> {
    #[serde(flatten)]
    pub place: Place<'a>,
    pub item_id: &'a str,
    /// Nobody typed it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_synthetic: bool,
    /// It was said while a turn was running.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    #[serde(flatten)]
    pub dropped: Dropped<'a>,
}
