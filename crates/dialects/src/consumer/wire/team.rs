//! A team of cooperating agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Team {
    /// What it is called.
    pub name: String,
    /// What the session's agent is in it.
    pub role: TeamRole,
    /// Who works in it, the oldest first.
    pub members: Vec<TeamMember>,
    /// What there is to do, the oldest first.
    pub tasks: Vec<TeamTask>,
    /// The latest of what they wrote to each other, the oldest first.
    pub messages: Vec<TeamMessage>,
}

/// What an agent is in a team.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TeamRole {
    /// It leads.
    #[default]
    Lead,
    /// It is led.
    Teammate,
}

/// A member of a team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct TeamMember {
    /// What it is called.
    pub name: String,
    /// The call that it works under.
    pub agent_id: String,
    /// What kind of agent it is.
    pub agent_type: String,
    /// What it is doing.
    pub status: MemberStatus,
    /// Its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What a member is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
    /// It works.
    #[default]
    Active,
    /// It has nothing to do.
    Idle,
    /// It was told to go.
    Shutdown,
}

/// Something to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct TeamTask {
    /// Its id.
    pub id: String,
    /// What is to be done, in a few words.
    pub subject: String,
    /// What is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How far it got.
    pub status: TaskStatus,
    /// Who does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What to show while it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// The tasks that must be done before.
    pub blocked_by: Vec<String>,
    /// The tasks that wait for it.
    pub blocks: Vec<String>,
}

/// How far a task got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Deleted,
}

/// What one wrote to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TeamMessage {
    /// The call that sent it.
    pub id: String,
    /// For whom it is.
    pub to: String,
    /// The message, the first thousand characters of it.
    pub text: String,
    /// It in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When it was sent: milliseconds since 1970.
    pub timestamp: i64,
}
