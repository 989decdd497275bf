//! `turn.started` and `turn.completed`: one prompt and everything that follows from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Fault, Id};

/// A turn has started.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TurnStarted {
    /// What started the turn.
    #[serde(default)]
    pub origin: Origin,
    /// What the user asked for, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The agent's own turn ID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_turn: Option<Id>,
}

/// What began a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A prompt of the user.
    #[default]
    Prompt,
    /// Work that went on in the background and came to an end.
    Background,
    /// A command that the agent answers itself, without the model.
    Command,
}

/// A turn has ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TurnCompleted {
    /// How it ended.
    pub status: TurnStatus,
    /// Why the model stopped.
    pub stop: Stop,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// The duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How often the model was called, or what the agent counts as such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// What the agent says the turn cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The tool calls that were denied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Denied>,
    /// The agent's answer, if it is reported separately from messages: of a local command, or structured output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// A tool call that was not allowed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Denied {
    /// The tool.
    pub tool: String,
    /// The item of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Id>,
    /// What it would have been given.
    #[serde(default, deserialize_with = "crate::text::deserialize_present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<Box<RawValue>>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// It was finished.
    #[default]
    Completed,
    /// Something went wrong.
    Failed,
    /// Somebody stopped it.
    Interrupted,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It had nothing more to say.
    #[default]
    EndTurn,
    /// Its reply reached the length limit.
    MaxTokens,
    /// The turn limit was reached.
    MaxTurns,
    /// The budget was exceeded.
    Budget,
    /// It refused.
    Refusal,
    /// Somebody stopped it.
    Cancelled,
    /// Something went wrong.
    Error,
}
