//! What is asked of a server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_event::{Id, SessionConfig};

use super::Answer;

/// A session to start, or to continue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionRequest {
    /// The agent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent_type: String,
    /// What it shall do.
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
    /// What to look at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// The command of an agent that is named by it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Variables for the agent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Continue a copy of the session, and leave it as it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fork: bool,
    /// Wait for prompts when a turn is over.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stay: bool,
    /// End it after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// Decline after this time what nobody answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_timeout_seconds: Option<u64>,
}

/// An image, as its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageData {
    /// What kind, such as `image/png`.
    pub media_type: String,
    /// The bytes in base64.
    pub data: String,
}

/// A follow-up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptRequest {
    /// What the agent shall do.
    pub prompt: String,
    /// What to look at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// Settings that change with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<SessionConfig>,
}

impl From<&str> for PromptRequest {
    fn from(prompt: &str) -> Self {
        Self { prompt: prompt.to_owned(), ..Self::default() }
    }
}

impl From<String> for PromptRequest {
    fn from(prompt: String) -> Self {
        Self { prompt, ..Self::default() }
    }
}

/// Something that is wanted of a session.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "an order is made for each request and not kept")]
pub enum Order {
    /// Work on this. An ended session is resumed.
    Prompt(PromptRequest),
    /// The answer to a request of the agent.
    Answer {
        /// Which.
        request: Id,
        /// What.
        answer: Answer,
    },
    /// Stop the turn; the session goes on.
    Interrupt,
    /// End the session.
    Cancel,
    /// Use another model from now on.
    SetModel(String),
    /// Use another of the agent's own modes from now on.
    SetMode(String),
    /// Set one of the agent's own selectors.
    SetOption {
        /// Which.
        id: String,
        /// To what.
        value: String,
    },
}
