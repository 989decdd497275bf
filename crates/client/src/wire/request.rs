//! Requests to a server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_event::{Id, SessionConfig};

use super::ApprovalAnswer;

/// A session to start or to continue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StartSessionRequest {
    /// The agent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent_type: String,
    /// The prompt.
    pub prompt: String,
    /// What the work belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The session to continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Id>,
    /// The settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<SessionConfig>,
    /// Images of the prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// The command of a custom agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Environment variables for the agent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Continue a copy of the session and leave the original unchanged.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fork: bool,
    /// Wait for further prompts after a turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stay: bool,
    /// End the session after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// Decline unanswered requests after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_timeout_seconds: Option<u64>,
}

/// Base64 as the decoder accepts it: no line breaks and no trailing bits.
const BASE64_PATTERN: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";

/// An image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageData {
    /// What kind, such as `image/png`.
    #[schemars(regex(pattern = "^image/[A-Za-z0-9.+-]+$"))]
    pub media_type: String,
    /// The bytes as base64.
    #[schemars(extend("contentEncoding" = "base64", "pattern" = BASE64_PATTERN, "minLength" = 4))]
    pub data: String,
}

/// A follow-up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FollowUpRequest {
    /// The prompt for the agent.
    pub prompt: String,
    /// Images of the prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// Settings to change with the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// Whether a session is put away.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveRequest {
    /// It is.
    pub archived: bool,
}

/// The model to use from now on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModelRequest {
    /// Its name.
    #[schemars(length(min = 1, max = 1000))]
    pub model: String,
}

/// The mode to use from now on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModeRequest {
    /// Its name.
    #[schemars(length(min = 1, max = 1000))]
    pub mode: String,
}

/// A slash command of the agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CommandRequest {
    /// Its name, with or without the slash.
    #[schemars(length(min = 1, max = 1000))]
    pub name: String,
    /// What stands behind it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 100_000))]
    pub arguments: String,
}

/// One of the agent's own selectors.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OptionRequest {
    /// Which.
    #[schemars(length(min = 1, max = 1000))]
    pub id: String,
    /// To what.
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
