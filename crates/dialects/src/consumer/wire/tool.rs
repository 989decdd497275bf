//! Tool progress and results.

use schemars::JsonSchema;
use serde::Serialize;

use super::{super::unified::VerbatimJson, Block};

/// A tool is going on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ToolProgress {
    /// The call.
    pub tool_use_id: String,
    /// The tool.
    pub tool_name: String,
    /// How long it has been going on; 0 where the agent does not say.
    pub elapsed_time_seconds: f64,
    /// `pending` while it waits for an answer, else `running`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What sort of tool it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What it was given; when it begins, and when that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<VerbatimJson>,
    /// How far, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// What it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What it printed since the last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_delta: Option<String>,
    /// What it does in a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_type: Option<String>,
    /// The tool call below which it runs: a subagent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_use_id: Option<String>,
}

/// A tool came to its end, or several tools in a few words.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ToolUseSummary {
    /// One line for people.
    pub summary: String,
    /// The calls.
    pub tool_use_ids: Vec<String>,
    /// The call, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The tool, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// `completed`, `failed`, `declined` or `interrupted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// It failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// What it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<VerbatimJson>,
    /// What it gave back: a text, or whatever it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<VerbatimJson>,
    /// What it gave back beside that: images, say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Block>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The same for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// One line for people about the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What sort of tool it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The files that it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<VerbatimJson>,
    /// There was more output.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// What it does in a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_type: Option<String>,
    /// The tool call below which it ran: a subagent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_use_id: Option<String>,
    /// Types of content that the protocol does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_content_block_types: Vec<String>,
}
