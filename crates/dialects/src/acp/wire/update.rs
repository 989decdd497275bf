//! `session/update` notifications.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Command, ConfigOption, Content, Meta};

/// The session goes on.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionUpdate<'a> {
    /// The session.
    pub session_id: &'a str,
    /// How.
    pub update: Update<'a>,
}

/// How a session goes on.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub enum Update<'a> {
    /// The user says more.
    UserMessageChunk(Chunk<'a>),
    /// The agent says more.
    AgentMessageChunk(Chunk<'a>),
    /// The agent thinks more.
    AgentThoughtChunk(Chunk<'a>),
    /// A tool is called.
    ToolCall(ToolCall<'a>),
    /// Something about a tool call changed.
    #[serde(rename = "tool_call_update")]
    ToolChanged(ToolUpdate<'a>),
    /// The plan is now this.
    Plan {
        /// Its steps.
        entries: Vec<Entry<'a>>,
    },
    /// The slash commands are now these.
    #[serde(rename = "available_commands_update", rename_all = "camelCase")]
    Commands {
        /// The commands.
        available_commands: Vec<Command<'a>>,
    },
    /// The mode is now this.
    #[serde(rename = "current_mode_update", rename_all = "camelCase")]
    Mode {
        /// The mode.
        current_mode_id: &'a str,
    },
    /// The settings are now these.
    #[serde(rename = "config_option_update", rename_all = "camelCase")]
    Settings {
        /// All settings.
        config_options: &'a [ConfigOption],
    },
    /// Something about the session changed.
    #[serde(rename = "session_info_update")]
    Info {
        /// Its title.
        title: &'a str,
    },
    /// The context is so full, and the session cost so much.
    #[serde(rename = "usage_update")]
    Usage {
        /// Tokens in the context.
        used: u64,
        /// Tokens that fit.
        size: u64,
        /// What the session cost so far.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// Something to know, which is no part of the conversation.
    Notice {
        /// How much it matters.
        severity: Severity,
        /// What happened.
        title: &'a str,
        /// More about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
    },
    /// The context is made smaller.
    #[serde(rename = "compaction_update", rename_all = "camelCase")]
    Compaction {
        /// Which time.
        compaction_id: String,
        /// How far it got.
        status: CompactionStatus,
        /// What is left of the conversation.
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<Vec<Content<'a>>>,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str>,
    },
}

/// More of a message.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Chunk<'a> {
    /// What is added.
    pub content: Content<'a>,
    /// The message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<&'a str>,
    /// Additions to the protocol.
    #[serde(rename = "_meta", skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta<'a>,
}

/// A step of a plan.
#[derive(Serialize, JsonSchema)]
pub struct Entry<'a> {
    /// What is to be done.
    pub content: &'a str,
    /// How much it matters; no agent says that.
    pub priority: Priority,
    /// How far it got.
    pub status: EntryStatus,
}

/// How much a step of a plan matters.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// As much as any other.
    Medium,
}

/// How far a step of a plan got.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Over.
    Completed,
}

/// Money.
#[derive(Serialize, JsonSchema)]
pub struct Cost {
    /// How much.
    pub amount: f64,
    /// Of what.
    pub currency: &'static str,
}

/// How much a notice matters.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}

/// How far it got to make the context smaller.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionStatus {
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// It did not work.
    Failed,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The agent had nothing more to say.
    EndTurn,
    /// Its reply reached the length limit.
    MaxTokens,
    /// It called the model as often as it may.
    MaxTurnRequests,
    /// It refused.
    Refusal,
    /// Stopped by a user or a client.
    Cancelled,
}

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

/// The fields of a tool call other than its id and title.
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
    /// Additions to the protocol.
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
