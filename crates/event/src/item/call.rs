//! Tool calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Content;

/// A call of a tool: what every protocol needs to show it without knowing the agent's tools.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// The agent's name of the tool.
    pub name: String,
    /// A one-line title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of tool.
    #[serde(default)]
    pub kind: CallKind,
    /// The operation on a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<FileOp>,
    /// What it was given, verbatim; an object wherever the agent gives one.
    #[serde(default, deserialize_with = "crate::text::deserialize_present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<Box<RawValue>>,
    /// The file locations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// Output other than text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Content>,
    /// Why it failed or was not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the agent shows people of what it gave back, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// What a program that it ran ended with; that of a command is in its details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The effect in a team of agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<Team>,
    /// The agent writes the call as a block of the model's message, not as a record of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_block: bool,
}

/// The kind of tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// Reads.
    Read,
    /// Changes files.
    Edit,
    /// Deletes files.
    Delete,
    /// Moves files.
    Move,
    /// Searches.
    Search,
    /// Runs something.
    Execute,
    /// Thinks or plans.
    Think,
    /// Fetches from the network.
    Fetch,
    /// Changes the agent's mode.
    Mode,
    /// Does something else.
    #[default]
    #[serde(other)]
    Other,
}

/// What a tool does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileOp {
    /// Reads it.
    Read,
    /// Writes all of it.
    Write,
    /// Changes some of it.
    Modify,
    /// Deletes it.
    Delete,
    /// Makes it.
    Create,
    /// Moves it.
    Move,
}

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Location {
    /// The file.
    pub path: String,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// What a tool does in a team of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Team {
    /// Sends a message to a teammate.
    Message,
    /// Creates or changes a task.
    Task,
    /// Creates, changes or ends the team.
    State,
}
