//! What clients may ask for: the bodies of requests. `check.rs` says what is wrong with one before anything happens,
//! `shape.rs` what its schema says beside its types.

mod check;
mod forms;
mod run;
mod shape;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_event::SessionConfig;

pub use run::RunRequest;
pub(crate) use shape::agent_name;
pub use switchboard_client::{
    ApprovalAnswer, ApprovalDecision, ArchiveRequest, CommandRequest, ImageData, ModeRequest, ModelRequest,
    OptionRequest,
};

/// A body with images, as base64, and the rest beside them.
pub const LARGEST_BODY: usize = 32 << 20;

/// A session to start, or to continue.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = shape::named_agent)]
pub struct SessionRequest {
    /// The agent. `agentId` means the same; a session that is continued has one already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shape::agent_name")]
    pub agent_type: Option<String>,
    /// The agent, by the name that older clients know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shape::agent_name")]
    pub agent_id: Option<String>,
    /// What to do: 1 to 100,000 characters. A session that stays open may begin without.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = 100_000))]
    pub prompt: String,
    /// What the work belongs to; stored and shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The session to continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How it is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shape::settings")]
    pub config: Option<SessionConfig>,
    /// Images to look at, together at most 20 MB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// The program and its arguments, for an agent that is named by its command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = "^[^\\u0000]*$")))]
    pub command: Vec<String>,
    /// Variables to set for the agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "shape::variables")]
    pub env: BTreeMap<String, String>,
    /// Continue a copy of the session, and leave it as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fork: bool,
    /// Stay open when the turn is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stay: bool,
    /// End the session after so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shape::seconds")]
    pub timeout_seconds: Option<f64>,
    /// Decline what nobody answers after so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shape::seconds")]
    pub approval_timeout_seconds: Option<f64>,
    /// Fields of the request that mean nothing.
    #[serde(skip)]
    pub ignored_fields: Vec<String>,
}

/// Another prompt for a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptRequest {
    /// What to do: 1 to 100,000 characters.
    #[schemars(length(min = 1, max = 100_000))]
    pub prompt: String,
    /// Images to look at, together at most 20 MB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// What is to be different from now on; only for a session that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shape::settings")]
    pub config: Option<SessionConfig>,
    /// Fields of the request that mean nothing.
    #[serde(skip)]
    pub ignored_fields: Vec<String>,
}
