//! Runnable agents: their names, how they are found and installed, and their abilities.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use switchboard_event::SessionConfig;

use crate::{AgentEndpoint, AgentLaunch, HostAccess, LaunchRequest, UnsupportedOperation};

/// An agent as listed in the agent table.
pub struct Agent {
    /// The name that users type.
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    /// The vendor in one word. It prefixes notices that only this agent produces.
    pub provider: &'static str,
    /// The program to find on the `PATH`; `None` for a built-in agent or one that is given by its command.
    pub program: Option<&'static str>,
    /// The command that installs the agent.
    pub install: Option<&'static str>,
    /// The versions known to work.
    pub versions: Option<Versions>,
    pub abilities: Abilities,
    /// Builds the launch of the agent.
    pub launch: fn(&LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation>,
    /// Returns the login state, as far as it can be determined without asking the agent.
    pub login: fn(&dyn HostAccess) -> Login,
    /// Reads the agent's own configuration files as Switchboard settings.
    pub config: fn(&dyn HostAccess, &Path) -> Vec<AgentConfigFile>,
    /// Returns the servers of its model and its login, from the environment and the user's configuration. Workspace
    /// files are ignored, since they could redirect the agent.
    pub endpoints: fn(&dyn HostAccess) -> Vec<AgentEndpoint>,
    /// Files that decide what the agent runs, or is allowed to run, on its next start: settings, hooks, MCP servers,
    /// plugins. A pattern starts with `~/` (in the home directory) or `/` (absolute), or applies in any directory. `*`
    /// matches any part of a name, `**` any number of directories.
    pub protected_paths: &'static [&'static str],
}

/// The login of an agent that needs none.
#[must_use]
pub fn no_login(_: &dyn HostAccess) -> Login {
    Login::NotNeeded
}

/// The configuration of an agent without configuration files.
#[must_use]
pub fn no_config(_: &dyn HostAccess, _: &Path) -> Vec<AgentConfigFile> {
    Vec::new()
}

/// The versions of an agent that are known to work.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Versions {
    /// What makes the program print its version.
    #[serde(skip)]
    pub args: &'static [&'static str],
    /// The oldest that can work.
    pub oldest: &'static str,
    /// The one that every test runs with.
    pub tested: &'static str,
}

/// What an agent can do when Switchboard runs it.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, shown to users as such")]
pub struct Abilities {
    /// Text comes as it is written.
    pub streaming: bool,
    /// It shows what it thinks.
    pub reasoning: bool,
    /// It shows plans.
    pub plans: bool,
    /// It asks before it acts, and takes an answer.
    pub approvals: bool,
    /// An approval can change what will run.
    pub changed_input: bool,
    /// It asks questions.
    pub questions: bool,
    /// A turn can be stopped and the session goes on.
    pub interrupt: bool,
    /// What becomes of a prompt while a turn runs.
    pub while_running: WhileRunning,
    /// A session can be continued by another process.
    pub resume: bool,
    /// A copy of a session can be continued.
    pub fork: bool,
    /// The model can be changed in a session.
    pub set_model: bool,
    /// The mode can be changed in a session.
    pub set_mode: bool,
    /// Prompts can have images.
    pub images: bool,
    /// MCP servers can be added for a session.
    pub mcp: bool,
    /// Answers can follow a JSON Schema.
    pub output_schema: bool,
    /// There is a form for one prompt and one answer.
    pub one_shot: bool,
    /// That form tells more than the other, such as what commands printed.
    pub detailed_one_shot: bool,
}

impl Abilities {
    /// No abilities, as a base for struct update syntax.
    pub const NONE: Self = Self {
        streaming: false,
        reasoning: false,
        plans: false,
        approvals: false,
        changed_input: false,
        questions: false,
        interrupt: false,
        while_running: WhileRunning::Wait,
        resume: false,
        fork: false,
        set_model: false,
        set_mode: false,
        images: false,
        mcp: false,
        output_schema: false,
        one_shot: false,
        detailed_one_shot: false,
    };
}

/// What becomes of a prompt while a turn runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WhileRunning {
    /// It joins the running turn.
    Steer,
    /// The agent keeps it for the next turn.
    Queue,
    /// Switchboard keeps it for the next turn.
    #[default]
    Wait,
}

/// Whether an agent is logged in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", content = "how", rename_all = "camelCase")]
pub enum Login {
    /// Logged in; the value says how.
    Yes(String),
    /// Not logged in; the value says how to log in.
    No(String),
    /// Cannot be determined.
    #[default]
    Unknown,
    /// It needs none.
    NotNeeded,
}

/// Settings from one of an agent's own configuration files.
#[derive(Clone, Debug, Serialize)]
pub struct AgentConfigFile {
    pub file: PathBuf,
    /// The settings in Switchboard's terms.
    pub config: SessionConfig,
    /// Settings without an equivalent here, and parts that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}
