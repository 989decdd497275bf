//! Results of client requests.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::ApprovalMode;

use super::{ApprovalPolicy, ConfigOption, Model, SandboxPolicy, Thread, Turn};

/// Who serves, and what it can do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// Who serves.
    pub agent_info: AgentInfo,
    /// What it can do.
    pub capabilities: Capabilities,
}

/// The agent of the connection; Switchboard itself where none was named.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgentInfo {
    /// Its name, as `agent` takes it.
    pub name: String,
    /// The version of its program; `unknown` where it does not say.
    pub version: String,
    /// Who makes it.
    pub provider: String,
}

/// What the agent of the connection can do.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has them so")]
pub struct Capabilities {
    /// Text comes as it is written.
    pub streaming: bool,
    /// It has selectors: `config/list` and `config/set`.
    pub config_options: bool,
    /// It shows what it thinks.
    pub reasoning: bool,
    /// It shows plans.
    pub plans: bool,
    /// `review/start` is there.
    pub review: bool,
}

/// A thread that began.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartResult<'a> {
    /// The thread.
    pub thread: Thread<'a>,
    /// Who serves its model; empty where that is not known.
    pub model_provider: &'a str,
}

/// A thread that goes on.
#[derive(Serialize, JsonSchema)]
pub struct ThreadResumeResult<'a> {
    /// The thread.
    pub thread: Thread<'a>,
}

/// A page of threads, newest first.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadListResult<'a> {
    /// The threads.
    pub data: Vec<Thread<'a>>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A turn that began.
#[derive(Serialize, JsonSchema)]
pub struct TurnStartResult<'a> {
    /// The turn.
    #[schemars(with = "Turn<'a>")]
    pub turn: &'a RawValue,
}

/// It is done, and there is nothing to say about it.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Done {}

/// The models that can be set; one of them is the default.
#[derive(Serialize, JsonSchema)]
pub struct ModelListResult<'a> {
    /// The models.
    pub data: Vec<Model<'a>>,
}

/// All selectors, and what they are set to.
#[derive(Serialize, JsonSchema)]
pub struct ConfigListResult<'a> {
    /// The selectors.
    pub options: Vec<ConfigOption<'a>>,
}

/// The settings that hold.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReadResult<'a> {
    /// The model; empty where the agent does not say which it takes.
    pub model: &'a str,
    /// The folder to work in.
    pub cwd: &'a str,
    /// What the agent may do without asking.
    pub approval_policy: ApprovalPolicy,
    /// What it can reach.
    pub sandbox_policy: SandboxPolicy,
    /// The selectors.
    pub options: Vec<ConfigOption<'a>>,
    /// What else is known about them.
    #[serde(rename = "_meta")]
    pub meta: ConfigMeta<'a>,
}

/// What else is known about the settings.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMeta<'a> {
    /// The agent.
    pub agent: &'a str,
    /// What it may do without asking, in our words, which are more.
    pub approval_mode: ApprovalMode,
}
