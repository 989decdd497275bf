//! Metadata of tools.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{CallKind, Change, ChangeKind};

use super::{Dropped, Failure, Place};

/// Which tool it is.
#[derive(Serialize, JsonSchema)]
pub struct Tool<'a> {
    pub tool_use_id: &'a str,
    pub tool_name: &'a str,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    /// What sort of tool it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<CallKind>,
    /// What it does in a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_type: Option<TeamType>,
}

/// What a tool does in a team of agents: the types that have no messages of their own.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the names are the protocol's")]
pub enum TeamType {
    TeamMessage,
    TeamTaskUpdate,
    TeamStateChange,
}

/// A tool is going on.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolProgressMetadata")]
pub struct ToolProgress<'a> {
    #[serde(flatten)]
    pub place: Place<'a>,
    #[serde(flatten)]
    pub tool: Tool<'a>,
    pub status: ProgressStatus,
    /// What it was given; when it begins, and when that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub input: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_time_seconds: Option<f64>,
    /// How far, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// What it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    /// What it printed since the last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_delta: Option<&'a str>,
}

/// How far a tool got that goes on.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgressStatus {
    /// It waits for an answer.
    Pending,
    Running,
}

/// A tool came to its end, or several tools in a few words.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolUseSummaryMetadata")]
pub struct ToolUseSummary<'a> {
    #[serde(flatten)]
    pub place: Place<'a>,
    /// The tool; not there in a summary of several.
    #[serde(flatten)]
    pub tool: Option<Tool<'a>>,
    #[schemars(with = "Vec<String>")]
    pub tool_use_ids: Vec<Cow<'a, str>>,
    pub status: EndStatus,
    /// One line for people.
    pub summary: Cow<'a, str>,
    #[serde(flatten)]
    pub failure: Failure<'a>,
    /// What it gave back, where that is more than the text of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub output: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The files that it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange<'a>>,
    /// There was more output.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(flatten)]
    pub dropped: Dropped<'a>,
}

/// The change of a file.
#[derive(Serialize, JsonSchema)]
pub struct FileChange<'a> {
    pub path: &'a str,
    pub kind: ChangeKind,
    /// Where it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<&'a str>,
    pub diff: &'a str,
}

impl<'a> From<&'a Change> for FileChange<'a> {
    fn from(change: &'a Change) -> Self {
        Self { path: &change.path, kind: change.kind, to: change.to.as_deref(), diff: &change.diff }
    }
}

/// How something ended.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndStatus {
    Completed,
    Failed,
    Declined,
    Interrupted,
}
