//! `session.started`, `session.updated`, `session.ended`: a run of an agent and the known facts about it. `turn.started`,
//! `turn.completed`: one prompt and everything that follows from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Decider, Fault, Id, SessionConfig};

/// A run began.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionStarted {
    /// The number of the run, from 1.
    pub run: u32,
    /// What it resumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
    /// The agent's own session ID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<Id>,
    /// The settings it was started with, as far as they are known.
    #[serde(default)]
    pub config: SessionConfig,
    /// The agent's session info.
    #[serde(default)]
    pub info: Info,
}

/// What a run continues.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Resumed {
    /// The session that it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Id>,
    /// It continues a copy, under a new id.
    #[serde(default)]
    pub fork: bool,
}

/// Something about the session changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionUpdated {
    /// Only what changed.
    pub info: Info,
}

/// A run ended.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SessionEnded {
    /// How it ended.
    pub reason: EndReason,
    /// Why, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// The exit code of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// From the first record to the last.
    #[serde(default)]
    pub duration_ms: u64,
    /// Who ended it: the agent by its own word, or Switchboard because nothing more came.
    pub by: Decider,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The work was done.
    Completed,
    /// Something went wrong.
    Failed,
    /// Stopped by a user or a client.
    Cancelled,
    /// It took too long.
    Timeout,
}

/// The activity of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// Waiting for a prompt.
    Idle,
    /// Working.
    Running,
    /// Waiting for an answer to a request.
    RequiresAction,
    /// Making its context smaller.
    Compacting,
    /// Waiting to try a failed model call again.
    Retrying,
}

/// What is known about a session. Every field may be unknown; in an update, only what changed is there.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Info {
    /// The folder it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The agent's own name for the project that it works on, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_hash: Option<String>,
    /// The current model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The current mode, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The product's own name for itself, where it differs from the agent's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// The current activity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
    /// The tools it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The slash commands it knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Named>,
    /// The modes it offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
    /// The models it offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Model>,
    /// The selectors it offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Selector>,
    /// Its MCP servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp: Vec<McpServer>,
    /// The subagents it knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Named>,
    /// How full its context is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// Its capabilities in its own format.
    #[serde(
        default,
        deserialize_with = "crate::envelope::deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    pub capabilities: Option<Box<RawValue>>,
    /// The ways to log in that the agent offers, as it wrote them.
    #[serde(
        default,
        deserialize_with = "crate::envelope::deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    pub auth_methods: Option<Box<RawValue>>,
}

impl Info {
    /// Overwrites the fields that are set in an update.
    pub fn apply_update(&mut self, news: &Self) {
        fn replace_value<T: Clone>(old: &mut Option<T>, new: &Option<T>) {
            if new.is_some() {
                old.clone_from(new);
            }
        }
        fn replace_list<T: Clone>(old: &mut Vec<T>, new: &[T]) {
            if !new.is_empty() {
                new.clone_into(old);
            }
        }
        replace_value(&mut self.cwd, &news.cwd);
        replace_value(&mut self.project_hash, &news.project_hash);
        replace_value(&mut self.model, &news.model);
        replace_value(&mut self.provider, &news.provider);
        replace_value(&mut self.mode, &news.mode);
        replace_value(&mut self.title, &news.title);
        replace_value(&mut self.version, &news.version);
        replace_value(&mut self.product, &news.product);
        replace_value(&mut self.status, &news.status);
        replace_list(&mut self.tools, &news.tools);
        replace_list(&mut self.commands, &news.commands);
        replace_list(&mut self.modes, &news.modes);
        replace_list(&mut self.models, &news.models);
        replace_list(&mut self.options, &news.options);
        replace_list(&mut self.mcp, &news.mcp);
        replace_list(&mut self.agents, &news.agents);
        replace_value(&mut self.context, &news.context);
        replace_value(&mut self.capabilities, &news.capabilities);
        replace_value(&mut self.auth_methods, &news.auth_methods);
    }
}

/// Something with a name and a line about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Named {
    /// Creates an entry that has only a name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: None }
    }
}

/// A mode that can be set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mode {
    /// The ID to set.
    pub id: String,
    /// The name to display.
    pub name: String,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// An available model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// The ID to set.
    pub id: String,
    /// The name to display.
    pub name: String,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// It is used when none is named.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
}

/// A setting with a fixed list of values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Selector {
    /// The ID to set.
    pub id: String,
    /// The name to display.
    pub name: String,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The group in a list of settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The current value.
    pub value: String,
    /// The available values.
    #[serde(default)]
    pub values: Vec<SelectorValue>,
}

/// One value of a [`Selector`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelectorValue {
    /// The ID to set.
    pub id: String,
    /// The name to display.
    pub name: String,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// An MCP server of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// Its state, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// The use of the context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// Tokens in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// Tokens that fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// A turn has started.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TurnStarted {
    /// What started the turn.
    #[serde(default)]
    pub origin: Origin,
    /// What the user asked for, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The agent's own turn ID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_turn: Option<Id>,
}

/// What began a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A prompt of the user.
    #[default]
    Prompt,
    /// Work that went on in the background and came to an end.
    Background,
    /// A command that the agent answers itself, without the model.
    Command,
}

/// A turn has ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TurnCompleted {
    /// How it ended.
    pub status: TurnStatus,
    /// Why the model stopped.
    pub stop: Stop,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// The duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How often the model was called, or what the agent counts as such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// What the agent says the turn cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The tool calls that were denied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Denied>,
    /// The agent's answer, if it is reported separately from messages: of a local command, or structured output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// A tool call that was not allowed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Denied {
    /// The tool.
    pub tool: String,
    /// The item of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Id>,
    /// What it would have been given.
    #[serde(
        default,
        deserialize_with = "crate::envelope::deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<Box<RawValue>>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// It was finished.
    #[default]
    Completed,
    /// Something went wrong.
    Failed,
    /// Stopped by a user or a client.
    Interrupted,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It had nothing more to say.
    #[default]
    EndTurn,
    /// Its reply reached the length limit.
    MaxTokens,
    /// The turn limit was reached.
    MaxTurns,
    /// The budget was exceeded.
    Budget,
    /// It refused.
    Refusal,
    /// Stopped by a user or a client.
    Cancelled,
    /// Something went wrong.
    Error,
}
