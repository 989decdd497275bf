//! Messages of clients, and the requests that they answer.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use switchboard_event::{Question, RequestOption};

use crate::consumer::unified::VerbatimJson;

/// A message from a consumer. Each type is parsed separately; this is only the list of types.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "type", rename_all = "snake_case")]
pub enum ClientMessage {
    /// A prompt. It waits for the end of the current turn.
    UserMessage(UserInput),
    /// The answer to a request of the agent.
    PermissionResponse(PermissionAnswer),
    /// Stop the turn.
    Interrupt {},
    /// Change the model.
    SetModel(SetModel),
    /// Change the agent's mode.
    SetPermissionMode(SetPermissionMode),
    /// List the connected consumers. Observers may send it, too.
    PresenceQuery {},
    /// Run one of the agent's slash commands.
    SlashCommand(SlashCommand),
    /// Change the agent. Always refused.
    SetAdapter(SetAdapter),
    /// Queue a prompt until the turn ends. One prompt can be queued.
    QueueMessage(UserInput),
    /// Change the queued prompt.
    UpdateQueuedMessage(UserInput),
    /// Cancel the queued prompt.
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
    /// The prompt: 1 to 100,000 characters.
    #[serde(default, alias = "text")]
    #[schemars(length(min = 1, max = 100_000))]
    pub content: String,
    /// Images to attach, at most 20 MB in total.
    #[serde(default)]
    pub images: Vec<ImageData>,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageData {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The data, base64-encoded.
    pub data: String,
}

/// The answer to a request of the agent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct PermissionAnswer {
    /// The request to answer.
    pub request_id: String,
    /// The decision.
    pub behavior: Behavior,
    /// A changed input to allow instead of the requested one.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub updated_input: Option<Box<RawValue>>,
    /// A message for the agent.
    #[serde(default)]
    pub message: Option<String>,
    /// The answers, by question.
    #[serde(default)]
    pub answers: BTreeMap<String, Vec<String>>,
    /// One of the options that the agent offered.
    #[serde(default)]
    pub option: Option<String>,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Behavior {
    /// Allow the request.
    Allow,
    /// Deny the request.
    Deny,
}

/// Change the model.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct SetModel {
    /// The ID of the model, one of `session.models`.
    #[schemars(length(min = 1, max = 1000))]
    pub model: String,
}

/// Change the mode.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct SetPermissionMode {
    /// The ID of the mode, one of `session.modes`.
    #[schemars(length(min = 1, max = 1000))]
    pub mode: String,
}

/// Run one of the agent's slash commands.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct SlashCommand {
    /// The command, with or without `/`, and its arguments.
    #[serde(default, alias = "name")]
    #[schemars(length(min = 1, max = 100_000))]
    pub command: String,
    /// The arguments, if they are not in `command`.
    #[serde(default, alias = "arguments")]
    pub args: Option<String>,
    /// Repeated in the response.
    #[serde(default)]
    pub request_id: Option<String>,
}

/// Change the agent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct SetAdapter {
    /// Which.
    pub adapter: String,
}

/// A request of the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Permission {
    /// The ID for the answer.
    pub request_id: String,
    /// The type of request: `can_use_tool`, or another one that is not about a tool.
    pub subtype: String,
    /// The tool to run.
    pub tool_name: String,
    /// The input of the tool.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub input: VerbatimJson,
    /// The reason for the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The tool call; empty if the agent does not report it.
    pub tool_use_id: String,
    /// The subagent that sent the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The time of the request, in milliseconds since 1970.
    pub timestamp: i64,
    /// The subject: `command`, `file_change`, `tool`, `question`, `plan`, `auth`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// A one-line title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The command to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The directory of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The file changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<VerbatimJson>,
    /// The questions to answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The options that the agent offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<RequestOption>,
    /// When the request is declined automatically, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

/// A request was resolved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PermissionCancelled {
    /// The request.
    pub request_id: String,
    /// The outcome: `allowed`, `declined`, `cancelled`, `answered`, `withdrawn` or `expired`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Who decided: `client`, `policy`, `timeout`, `agent` or `switchboard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// `allow` or `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<String>,
    /// The message for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
