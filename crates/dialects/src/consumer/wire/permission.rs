//! Requests of the agent to its consumers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_event::{Question, RequestOption};

use super::super::unified::VerbatimJson;

/// Something that the agent asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Permission {
    /// The id to answer to.
    pub request_id: String,
    /// What sort of request: `can_use_tool`, or one that is about no tool.
    pub subtype: String,
    /// The tool that would run.
    pub tool_name: String,
    /// What it would be given.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub input: VerbatimJson,
    /// Why the agent asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The tool call that it is about; empty where the agent does not say.
    pub tool_use_id: String,
    /// The subagent that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// When it was asked: milliseconds since 1970.
    pub timestamp: i64,
    /// What it is about: `command`, `file_change`, `tool`, `question`, `plan`, `auth`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The command that would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Where it would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The files that would change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<VerbatimJson>,
    /// The questions to answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The answers that the agent offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<RequestOption>,
    /// When it is declined by itself: milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

/// A request needs no answer any more.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PermissionCancelled {
    /// The request.
    pub request_id: String,
    /// What became of it: `allowed`, `declined`, `cancelled`, `answered`, `withdrawn` or `expired`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Who decided: `client`, `policy`, `timeout`, `agent` or `switchboard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// `allow` or `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<String>,
    /// What the agent was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
