//! `session/update` notifications.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Command, ConfigOption, Content, Meta, ToolCall, ToolUpdate};

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
    /// What is said beside the protocol.
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
    /// Somebody stopped it.
    Cancelled,
}
