//! How a session is to be run: the same settings for every agent. Each agent's folder maps them to its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the agent may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalMode {
    /// Ask before every tool.
    #[default]
    Ask,
    /// Ask before dangerous tools only.
    AskDangerous,
    /// Change files without asking.
    AutoEdit,
    /// Do everything without asking.
    AutoAll,
}

/// What the agent's processes can reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SandboxMode {
    /// No sandbox of ours.
    #[default]
    None,
    /// Nothing can be written.
    ReadOnly,
    /// Only the workspace can be written.
    WorkspaceWrite,
    /// Everything, also where an agent would confine itself.
    FullAccess,
}

/// The settings of a session, as clients give and see them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfig {
    /// The agent to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// A name for what the work belongs to; stored and shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The folder to work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// The model to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the agent may do without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_mode: Option<ApprovalMode>,
    /// What its processes can reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_mode: Option<SandboxMode>,
    /// Tools that need no approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Tools that never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_tools: Option<Vec<String>>,
    /// How many turns the agent may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
}
