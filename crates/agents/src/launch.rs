//! The contract for starting an agent: an [`LaunchRequest`] describes the wanted session, a [`AgentLaunch`] the process to start.
//! Both are data: the agent's directory starts nothing itself.

use std::path::{Path, PathBuf};

use switchboard_event::SessionConfig;

use crate::{AgentDriver, AgentPrompt};

/// The session that is wanted of an agent.
pub struct LaunchRequest<'a> {
    /// The settings of the session.
    pub config: &'a SessionConfig,
    /// The working directory: absolute, and it exists.
    pub cwd: &'a Path,
    /// The agent's own session to continue.
    pub resume: Option<ResumeRequest<'a>>,
    /// One prompt, one answer: the agent's simplest form, in which it cannot ask anyone.
    pub one_shot: bool,
    /// The first prompt. Only a one-shot needs it to start; otherwise it comes as a command.
    pub prompt: &'a AgentPrompt,
    /// The program and its arguments, for an agent that is given by its command.
    pub command: &'a [String],
    /// A directory of this session: it holds temporary files and is deleted with the session.
    pub private: &'a Path,
    /// Switchboard's sandbox confines the agent: its own is not needed, and may not work inside.
    pub confined: bool,
    /// Switchboard runs as root, which some agents refuse.
    pub root: bool,
    /// A fresh secret, for a server that the agent opens.
    pub secret: &'a str,
    pub host: &'a dyn HostAccess,
}

impl LaunchRequest<'_> {
    /// Returns the id of the session to continue, or a new one for an agent without ids of its own.
    pub(crate) fn resumed_or_new_session_id(&self, agent: &str) -> String {
        let fresh = || format!("{agent}-{}", self.secret.chars().take(12).collect::<String>());
        self.resume.filter(|resume| !resume.fork).map_or_else(fresh, |resume| resume.session.to_owned())
    }
}

/// The agent's own session to continue.
#[derive(Clone, Copy, Debug)]
pub struct ResumeRequest<'a> {
    pub session: &'a str,
    /// Continues a copy and leaves the original unchanged.
    pub fork: bool,
}

/// Read-only access to the host.
pub trait HostAccess {
    /// Returns a variable of the environment that the agent will see.
    fn env_var(&self, name: &str) -> Option<String>;
    /// Returns the user's home directory.
    fn home_dir(&self) -> PathBuf;
    /// Returns the text of a small file.
    fn read_file(&self, path: &Path) -> Option<String>;
    /// Returns the entries of a directory, sorted.
    fn list_dir(&self, folder: &Path) -> Vec<PathBuf>;
}

/// The process to start for an agent.
#[derive(Default)]
pub struct AgentLaunch {
    /// The program, to be found on the `PATH`; empty for a built-in agent.
    pub program: String,
    pub args: Vec<String>,
    /// Variables to set.
    pub env: Vec<(String, String)>,
    /// Variables to remove.
    pub unset: Vec<&'static str>,
    pub input: StdinMode,
    /// The name of the source that reads its records.
    pub source: &'static str,
    /// The driver; `None` in a one-shot.
    pub driver: Option<Box<dyn AgentDriver>>,
    /// Files to write before the start, in the session's private directory.
    pub files: Vec<(PathBuf, String)>,
    /// Files to copy before the start: source and target.
    pub copies: Vec<(PathBuf, PathBuf)>,
    /// The agent's own directories, which it must be able to write in any sandbox.
    pub writable: Vec<PathBuf>,
    /// The agent's own directories of which a sandbox keeps only some changes.
    pub state: Vec<StateDirectory>,
    /// Guarantees that are weaker than requested.
    pub weaker: Vec<String>,
    /// The agent counts turns itself and stops at the limit.
    pub counts_turns: bool,
}

/// A directory that mixes data that an agent must write with settings and code that run later, outside of any sandbox.
/// A confined agent works on a layer over it, which is discarded, except for the entries that are named here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateDirectory {
    pub path: PathBuf,
    /// Directories in it whose changes are kept: sessions, which are continued later.
    pub kept_directories: &'static [&'static str],
    /// Files in it whose changes are kept, if they exist: logins, whose tokens are replaced when they are used.
    pub kept_files: &'static [&'static str],
}

impl StateDirectory {
    /// A directory of which all changes are discarded.
    #[must_use]
    pub fn new_discarded(path: PathBuf) -> Self {
        Self { path, ..Self::default() }
    }
}

/// The standard input of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StdinMode {
    /// Open, for the driver.
    #[default]
    Open,
    /// Closed from the start.
    Closed,
    /// This text, then closed.
    Text(String),
}
