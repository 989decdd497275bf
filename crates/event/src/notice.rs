//! `notice`: everything worth keeping that is not a session, a turn, an item, a request or usage.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Fault;

/// A notice.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// What it is about.
    pub topic: Topic,
    /// How much it matters.
    #[serde(default)]
    pub level: Level,
    /// The text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The native name of what happened: a record's type, a hook's name, a task's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How far it got, where it has stages: a hook or a task that started, completed, failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The failure that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// What else there is to it; its shape depends on the topic.
    #[serde(
        default,
        deserialize_with = "crate::envelope::deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    pub detail: Option<Box<RawValue>>,
    /// The maker of the agent, where only its agents have such a notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
}

impl Notice {
    /// Creates a notice without a text.
    #[must_use]
    pub fn new(topic: Topic) -> Self {
        Self { topic, ..Self::default() }
    }

    /// Sets the text.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Sets the native name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the stage.
    #[must_use]
    pub fn with_status(mut self, status: impl Into<String>) -> Self {
        self.status = Some(status.into());
        self
    }

    /// Sets the level.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }
}

/// What a notice is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// What the agent is doing.
    Status,
    /// A failed call is tried again.
    Retry,
    /// The state of a rate limit.
    RateLimit,
    /// Something went wrong, and the work goes on. The level says how bad it is.
    Warning,
    /// A hook ran. `name` is the hook, `status` is `started`, `completed` or `failed`; a string `id` in `detail`
    /// tells one run of it from another.
    Hook,
    /// The progress of a login.
    Auth,
    /// The context was made smaller.
    Compaction,
    /// A message between host and agent that concerns no client.
    Control,
    /// The turn was interrupted.
    Interrupt,
    /// Something said earlier is taken back.
    Retracted,
    /// News about something that had already ended.
    Late,
    /// What was sent came back.
    Echo,
    /// Work in the background. `name` is the task, `status` its stage.
    Task,
    /// A summary of tool calls.
    ToolSummary,
    /// Another model took over.
    ModelChanged,
    /// A model call began or ended within the turn. `status` is `started` or `completed`.
    Step,
    /// The state of files was kept.
    Snapshot,
    /// The slash commands changed.
    Commands,
    /// A line on standard output that is no record.
    Stdout,
    /// A line on standard error.
    Stderr,
    /// A sign of life.
    Heartbeat,
    /// Nothing that is known.
    #[default]
    #[serde(other)]
    Unknown,
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For who looks closely.
    Debug,
    /// Good to know.
    #[default]
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}
