//! An agent that can be run: what it is called, how it is found and installed, what it can do.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use switchboard_event::SessionConfig;

use crate::{Host, Launch, Order, Unsupported};

/// An agent, as the table has it.
pub struct Agent {
    /// Its name, as users type it.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Who makes it, in a word: the prefix of what only this agent says.
    pub provider: &'static str,
    /// Its program, to be found on the `PATH`. Nothing for one that is built in or named by its command.
    pub program: Option<&'static str>,
    /// The command that installs it.
    pub install: Option<&'static str>,
    /// The versions that are known to work.
    pub versions: Option<Versions>,
    /// What it can do.
    pub abilities: Abilities,
    /// How to start it.
    pub launch: fn(&Order<'_>) -> Result<Launch, Unsupported>,
    /// Whether it is logged in, as far as that can be told without asking it.
    pub login: fn(&dyn Host) -> Login,
    /// Its own configuration files, read as settings of ours.
    pub config: fn(&dyn Host, &Path) -> Vec<Found>,
    /// Files that decide what it runs, or is allowed to run, when it is started the next time: settings, hooks, MCP
    /// servers, plugins. A pattern starts with `~/` (in the home directory), with `/` (absolute), or applies in any
    /// directory. `*` stands for any part of a name, `**` for any number of directories.
    pub protected_paths: &'static [&'static str],
}

/// An agent that needs no login.
#[must_use]
pub fn no_login(_: &dyn Host) -> Login {
    Login::NotNeeded
}

/// An agent without configuration files.
#[must_use]
pub fn no_config(_: &dyn Host, _: &Path) -> Vec<Found> {
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
    /// Nothing at all, to start from.
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
    /// It is, by this.
    Yes(String),
    /// It is not, and this would do it.
    No(String),
    /// That cannot be told.
    #[default]
    Unknown,
    /// It needs none.
    NotNeeded,
}

/// Settings found in one of an agent's own configuration files.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The file.
    pub file: PathBuf,
    /// What it says, in our words.
    pub config: SessionConfig,
    /// What it says that has no word here, or could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}
