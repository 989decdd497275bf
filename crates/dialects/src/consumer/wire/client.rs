//! Messages sent by consumers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// What consumers say. Each type is read by itself, so this enumeration is only the list of them.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "type", rename_all = "snake_case")]
pub enum ClientMessage {
    /// A prompt. While a turn runs, it waits for the turn to end.
    UserMessage(UserInput),
    /// The answer to what the agent asks.
    PermissionResponse(PermissionAnswer),
    /// Stop the turn.
    Interrupt {},
    /// Use another model from now on.
    SetModel(SetModel),
    /// Use another of the agent's modes from now on.
    SetPermissionMode(SetPermissionMode),
    /// Who is there? Open to observers too.
    PresenceQuery {},
    /// One of the agent's slash commands.
    SlashCommand(SlashCommand),
    /// A session keeps its agent: always refused.
    SetAdapter(SetAdapter),
    /// A prompt that waits for the turn to end. One can wait.
    QueueMessage(UserInput),
    /// Another text for the prompt that waits.
    UpdateQueuedMessage(UserInput),
    /// Take the prompt that waits back.
    CancelQueuedMessage {},
}

/// The types of client messages.
pub const CLIENT_TYPES: [&str; 11] = [
    "user_message",
    "permission_response",
    "interrupt",
    "set_model",
    "set_permission_mode",
    "presence_query",
    "slash_command",
    "set_adapter",
    "queue_message",
    "update_queued_message",
    "cancel_queued_message",
];

/// A prompt.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct UserInput {
    /// What to do: 1 to 100,000 characters.
    #[serde(default, alias = "text")]
    #[schemars(length(min = 1, max = 100_000))]
    pub content: String,
    /// Images to look at, together at most 20 MB.
    #[serde(default)]
    pub images: Vec<ImageData>,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageData {
    /// What kind, such as `image/png`.
    pub media_type: String,
    /// The bytes as base64.
    pub data: String,
}

/// The answer to what the agent asks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct PermissionAnswer {
    /// What is answered.
    pub request_id: String,
    /// Yes or no.
    pub behavior: Behavior,
    /// The input that is allowed instead of what was asked for.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub updated_input: Option<Box<RawValue>>,
    /// What the agent is told.
    #[serde(default)]
    pub message: Option<String>,
    /// The answers, by question.
    #[serde(default)]
    pub answers: BTreeMap<String, Vec<String>>,
    /// One of the options that the agent offered.
    #[serde(default)]
    pub option: Option<String>,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Behavior {
    /// Yes.
    Allow,
    /// No.
    Deny,
}

/// Use another model.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct SetModel {
    /// Its id, one of `session.models`.
    #[schemars(length(min = 1, max = 1000))]
    pub model: String,
}

/// Use another mode.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct SetPermissionMode {
    /// Its id, one of `session.modes`.
    #[schemars(length(min = 1, max = 1000))]
    pub mode: String,
}

/// One of the agent's slash commands.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct SlashCommand {
    /// The command, with or without `/`, and what follows it.
    #[serde(default, alias = "name")]
    #[schemars(length(min = 1, max = 100_000))]
    pub command: String,
    /// What follows it, if that is not in `command`.
    #[serde(default, alias = "arguments")]
    pub args: Option<String>,
    /// Comes back with the answer.
    #[serde(default)]
    pub request_id: Option<String>,
}

/// Use another agent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct SetAdapter {
    /// Which.
    pub adapter: String,
}
