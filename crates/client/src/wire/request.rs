//! Requests to a server.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use switchboard_event::{Id, SessionConfig};

use super::ApprovalAnswer;

/// The maximum number of turns that a request may set.
pub const MAX_TURNS: u32 = 1000;

/// The maximum timeout of a request: a month.
pub const MAX_TIMEOUT_SECONDS: f64 = 31.0 * 86_400.0;

/// A session to start or to continue.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SessionRequest")]
pub struct StartSessionRequest {
    /// The agent. Optional for a session that is continued. `agentId` has the same meaning.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub agent_type: String,
    /// The agent, under the name that older clients use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The prompt: 1 to 100,000 characters. Optional for a new session that stays open.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = 100_000))]
    pub prompt: String,
    /// Project name for grouping sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The session to continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Id>,
    /// The settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<SessionConfig>,
    /// Images to attach, at most 20 MB in total.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// The program and its arguments, for an agent that is given by its command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = "^[^\\u0000]*$")))]
    pub command: Vec<String>,
    /// Environment variables for the agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "variables_schema")]
    pub env: BTreeMap<String, String>,
    /// Continue a copy of the session, and leave the original unchanged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fork: bool,
    /// Stay open when the turn is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stay: bool,
    /// End the session after this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "seconds_schema")]
    pub timeout_seconds: Option<f64>,
    /// Decline requests that are not answered after this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "seconds_schema")]
    pub approval_timeout_seconds: Option<f64>,
}

/// The schema of environment variables.
#[must_use]
pub fn variables_schema(_: &mut SchemaGenerator) -> Schema {
    let text = json_schema!({ "type": "string", "pattern": "^[^\\u0000]*$" });
    json_schema!({ "type": "object", "propertyNames": { "pattern": "^[^=\\u0000]+$" }, "additionalProperties": text })
}

/// The schema of a timeout.
#[must_use]
pub fn seconds_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["number", "null"], "exclusiveMinimum": 0, "maximum": MAX_TIMEOUT_SECONDS })
}

fn null_as_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Base64 as the decoder accepts it: no line breaks and no trailing bits.
const BASE64_PATTERN: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";

/// An image of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageData {
    /// The media type, such as `image/png`.
    #[schemars(regex(pattern = "^image/[A-Za-z0-9.+-]+$"))]
    pub media_type: String,
    /// The bytes in base64.
    #[schemars(extend("contentEncoding" = "base64", "pattern" = BASE64_PATTERN, "minLength" = 4))]
    pub data: String,
}

/// Another prompt for a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PromptRequest")]
pub struct FollowUpRequest {
    /// The prompt: 1 to 100,000 characters.
    #[schemars(length(min = 1, max = 100_000))]
    pub prompt: String,
    /// Images to attach, at most 20 MB in total.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// Settings to change; only for a session that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<SessionConfig>,
}

impl From<&str> for FollowUpRequest {
    fn from(prompt: &str) -> Self {
        Self { prompt: prompt.to_owned(), ..Self::default() }
    }
}

impl From<String> for FollowUpRequest {
    fn from(prompt: String) -> Self {
        Self { prompt, ..Self::default() }
    }
}

/// Archives or unarchives a session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveRequest {
    /// Whether the session is archived.
    pub archived: bool,
}

/// Selects the model of a session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModelRequest {
    /// The name of the model.
    #[schemars(length(min = 1, max = 1000))]
    pub model: String,
}

/// Selects the agent's mode of a session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModeRequest {
    /// The name of the mode.
    #[schemars(length(min = 1, max = 1000))]
    pub mode: String,
}

/// A slash command of the agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CommandRequest {
    /// The name, with or without the slash.
    #[schemars(length(min = 1, max = 1000))]
    pub name: String,
    /// The text after the name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 100_000))]
    pub arguments: String,
}

/// Sets one of the agent's own options.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OptionRequest {
    /// The ID of the option.
    #[schemars(length(min = 1, max = 1000))]
    pub id: String,
    /// The new value.
    #[schemars(length(max = 1000))]
    pub value: String,
}

/// An action on a session.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "an order is made for each request and not kept")]
pub enum SessionAction {
    /// Send a prompt. An ended session is resumed.
    Prompt(FollowUpRequest),
    /// Answer a request of the agent.
    Answer {
        /// The request.
        request: Id,
        /// The answer.
        answer: ApprovalAnswer,
    },
    /// Stop the turn; the session stays open.
    Interrupt,
    /// End the session.
    Cancel,
    /// Use another model from now on.
    SetModel(String),
    /// Use another of the agent's own modes from now on.
    SetMode(String),
    /// Set one of the agent's own selectors.
    SetOption {
        /// The selector.
        id: String,
        /// The new value.
        value: String,
    },
}
