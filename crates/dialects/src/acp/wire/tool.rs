//! Tool calls and their updates. A list in an update replaces the previous list.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Content, Meta};

/// A tool is called.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall<'a> {
    /// What updates are about.
    pub tool_call_id: &'a str,
    /// One line for people.
    pub title: Cow<'a, str>,
    /// The rest.
    #[serde(flatten)]
    pub fields: ToolFields<'a>,
}

/// Something about a tool call changed; what is not there stays as it was.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolUpdate<'a> {
    /// The tool call.
    pub tool_call_id: &'a str,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Cow<'a, str>>,
    /// The rest.
    #[serde(flatten)]
    pub fields: ToolFields<'a>,
}

/// What is known about a tool call beside its id and its title.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolFields<'a> {
    /// The tool, by the agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// What sort of tool it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// How far it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
    /// What there is to see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolContent<'a>>>,
    /// The places in files that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location<'a>>>,
    /// What it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub raw_input: Option<Cow<'a, RawValue>>,
    /// What it gave back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub raw_output: Option<Cow<'a, RawValue>>,
    /// What is said beside the protocol.
    #[serde(rename = "_meta", skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta<'a>,
}

/// What there is to see of a tool call.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolContent<'a> {
    /// A block of content.
    Content {
        /// The block.
        content: Content<'a>,
    },
    /// A change of a file.
    Diff(Diff<'a>),
    /// What a command prints, told in `_meta` as it is printed.
    #[serde(rename_all = "camelCase")]
    Terminal {
        /// The tool call.
        terminal_id: &'a str,
    },
}

/// A change of a file, or of a part of one.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diff<'a> {
    /// The file.
    pub path: &'a str,
    /// What was there; not said of a new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_text: Option<Cow<'a, str>>,
    /// What is there now.
    pub new_text: Cow<'a, str>,
}

/// A place in a file.
#[derive(Serialize, JsonSchema)]
pub struct Location<'a> {
    /// The file.
    pub path: &'a str,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// What sort of tool it is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

/// How far a tool call got.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// It waits, for the user mostly.
    Pending,
    /// It runs.
    InProgress,
    /// It ran.
    Completed,
    /// It failed, or did not run.
    Failed,
}
