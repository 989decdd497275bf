//! What clients may ask for: the bodies of requests. `check.rs` says what is wrong with one before anything happens,
//! `shape.rs` what its schema says beside its types.

mod check;
mod forms;
mod run;
mod shape;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use switchboard_event::SessionConfig;

pub use run::RunRequest;
pub(crate) use shape::agent_name;

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

/// An image.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageData {
    /// What kind, such as `image/png`.
    #[schemars(regex(pattern = "^image/[A-Za-z0-9.+-]+$"))]
    pub media_type: String,
    /// The bytes as base64.
    #[schemars(extend("contentEncoding" = "base64", "pattern" = shape::BASE64, "minLength" = 4))]
    pub data: String,
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

/// The answer to what an agent asks.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalAnswer {
    /// Yes or no.
    pub decision: ApprovalDecision,
    /// One of the options that the agent offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// What the agent is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The input that is allowed instead of what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub input: Option<Box<RawValue>>,
    /// The answers, by question.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, Vec<String>>,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalDecision {
    /// Yes, this once. Questions are answered with it.
    Accept,
    /// Yes, and the like until the session ends.
    AcceptForSession,
    /// No, and go on.
    Decline,
    /// No, and stop the turn.
    Cancel,
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
