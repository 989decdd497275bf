//! The contract for starting an agent: an [`Order`] says what is wanted, a [`Launch`] how to get it. Data, not a
//! process: an agent's folder only says what to start and with which words.

use std::path::{Path, PathBuf};

use switchboard_event::SessionConfig;

use crate::{Driver, Prompt};

/// What is wanted of an agent.
pub struct Order<'a> {
    /// The settings of the session.
    pub config: &'a SessionConfig,
    /// The folder to work in: absolute, and it exists.
    pub cwd: &'a Path,
    /// The agent's own session to continue.
    pub resume: Option<Resume<'a>>,
    /// One prompt, one answer: the agent's simplest form, in which nobody can be asked.
    pub one_shot: bool,
    /// The first prompt. Only a one-shot needs it to start; otherwise it comes as a command.
    pub prompt: &'a Prompt,
    /// The program and its arguments, for an agent that is named by its command.
    pub command: &'a [String],
    /// A folder of the session alone: its temporary files lie here, and it goes with the session.
    pub private: &'a Path,
    /// Our sandbox is around the agent: its own is not needed, and may not work inside.
    pub confined: bool,
    /// We run as root, which some agents refuse.
    pub root: bool,
    /// A fresh secret, for a server that the agent opens.
    pub secret: &'a str,
    /// What the machine has.
    pub host: &'a dyn Host,
}

impl Order<'_> {
    /// The id of the session to continue, or a fresh one for an agent that has none of its own.
    pub(crate) fn made_up_session(&self, agent: &str) -> String {
        let fresh = || format!("{agent}-{}", self.secret.chars().take(12).collect::<String>());
        self.resume.filter(|resume| !resume.fork).map_or_else(fresh, |resume| resume.session.to_owned())
    }
}

/// The agent's own session to continue.
#[derive(Clone, Copy, Debug)]
pub struct Resume<'a> {
    /// Its id.
    pub session: &'a str,
    /// Continue a copy, and leave it as it is.
    pub fork: bool,
}

/// What the machine has, to look at only.
pub trait Host {
    /// A variable of the environment that the agent will see.
    fn env(&self, name: &str) -> Option<String>;
    /// The user's home folder.
    fn home(&self) -> PathBuf;
    /// A small file's text.
    fn read(&self, path: &Path) -> Option<String>;
    /// What a folder holds, sorted.
    fn list(&self, folder: &Path) -> Vec<PathBuf>;
}

/// How to start an agent.
#[derive(Default)]
pub struct Launch {
    /// The program, to be found on the `PATH`; empty for an agent that is built in.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables to set.
    pub env: Vec<(String, String)>,
    /// Variables to take away.
    pub unset: Vec<&'static str>,
    /// What its standard input is.
    pub input: Input,
    /// What reads its records, by the source's name.
    pub source: &'static str,
    /// What speaks to it; nothing does in a one-shot.
    pub driver: Option<Box<dyn Driver>>,
    /// Files to write before it starts: in the session's private folder.
    pub files: Vec<(PathBuf, String)>,
    /// Files to copy before it starts, from and to.
    pub copies: Vec<(PathBuf, PathBuf)>,
    /// The agent's own directories, which it must be able to write in any sandbox.
    pub writable: Vec<PathBuf>,
    /// The agent's own directories of which a sandbox keeps only some changes.
    pub state: Vec<StateDirectory>,
    /// What is weaker than it was asked for.
    pub weaker: Vec<String>,
    /// The agent counts turns itself and stops at the limit.
    pub counts_turns: bool,
}

/// A directory that mixes what an agent must write with settings and code that run later, outside of any sandbox. A
/// confined agent works on a layer over it, which is discarded, except for the entries that are named here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateDirectory {
    /// The directory.
    pub path: PathBuf,
    /// Directories in it whose changes are kept: sessions, which are continued later.
    pub kept_directories: &'static [&'static str],
    /// Files in it whose changes are kept, if they exist: logins, whose tokens are replaced when they are used.
    pub kept_files: &'static [&'static str],
}

impl StateDirectory {
    /// A directory of which nothing is kept.
    #[must_use]
    pub fn discarded(path: PathBuf) -> Self {
        Self { path, ..Self::default() }
    }
}

/// What an agent's standard input is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Open, for the driver.
    #[default]
    Open,
    /// Empty.
    Closed,
    /// This text, and then closed.
    Text(String),
}
