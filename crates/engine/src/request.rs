//! What is asked of the engine, and why it may refuse.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use switchboard_agents::{Prompt, Unsupported};
use switchboard_event::{Id, SessionConfig, Usage};
use switchboard_store::StoreError;
use thiserror::Error;

use crate::{paths::WorkingDirectory, supervise};

/// A session to start, or to continue.
#[derive(Clone, Debug, Default)]
pub struct StartRequest {
    /// The agent. May be left empty when a session is continued.
    pub agent: String,
    /// The first prompt; a session that stays open may start without one.
    pub prompt: Option<Prompt>,
    /// The settings.
    pub config: SessionConfig,
    /// The directory to work in, if the caller has opened and checked it. Otherwise it is that of the settings.
    pub working_directory: Option<WorkingDirectory>,
    /// The session to continue: one of ours.
    pub resume: Option<Id>,
    /// The session to continue: one of the agent that none of ours is. It goes on as a session of ours.
    pub adopt: Option<Adopted>,
    /// Continue a copy of it, as a session of its own.
    pub fork: bool,
    /// Use the agent's simplest form, in which nobody can be asked.
    pub one_shot: bool,
    /// The program and its arguments, for an agent that is named by its command.
    pub command: Vec<String>,
    /// Variables to set for the agent.
    pub env: BTreeMap<String, String>,
    /// Pass on these variables only, and what the agent cannot do without.
    pub env_only: Option<Vec<String>>,
    /// What to do with what the settings do not decide.
    pub audience: Audience,
    /// Go on waiting for prompts when a turn is over.
    pub stay: bool,
    /// Start without a sandbox where the kernel has none.
    pub sandbox_best_effort: bool,
    /// Limits of time.
    pub limits: Limits,
    /// What is to be known about the request itself, for the beginning of the session.
    pub remarks: Vec<String>,
}

/// A session that the agent has and we do not: somebody began it in a terminal, say.
#[derive(Clone, Debug, Default)]
pub struct Adopted {
    /// The agent's own id of it.
    pub session: Id,
    /// What it has used so far, where that is known: some agents go on counting from there.
    pub used: Option<Usage>,
}

/// Who is there to be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Nobody: what must be asked is declined at once.
    #[default]
    Nobody,
    /// Somebody follows the session and can answer.
    Client,
}

/// Limits of time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the start to the end of the session.
    pub total: Option<Duration>,
    /// Without a sign of the agent, while it should be working.
    pub idle: Option<Duration>,
    /// Without a turn, in a session that stays open between turns.
    pub unused: Option<Duration>,
    /// Until the agent is ready for a prompt.
    pub handshake: Duration,
    /// Until a request is declined.
    pub approval: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: None,
            idle: Some(Duration::from_secs(30 * 60)),
            unused: Some(Duration::from_secs(30 * 60)),
            handshake: Duration::from_secs(90),
            approval: Duration::from_secs(30 * 60),
        }
    }
}

/// Why a session did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no such agent.
    #[error("there is no agent `{0}`\nhint: `switchboard agents` lists them")]
    UnknownAgent(String),
    /// The agent is not installed.
    #[error("{title} is not installed: there is no `{program}` on the PATH{}", with_hint(.install.as_deref().map(|i| format!("install it with: {i}"))))]
    NotInstalled {
        /// The agent, for people.
        title: String,
        /// Its program.
        program: String,
        /// The command that installs it.
        install: Option<String>,
    },
    /// The program is named by its path, and is not there.
    #[error("{0}: no such file")]
    NoSuchFile(String),
    /// The program that was named is not there.
    #[error("there is no program `{program}`{}", with_hint(Some(.hint.clone())))]
    NoSuchProgram {
        /// The program.
        program: String,
        /// What can be done.
        hint: String,
    },
    /// The agent is too old.
    #[error("{title} {version} is too old: {oldest} is the oldest that works{}", with_hint(.install.as_deref().map(|i| format!("update it with: {i}"))))]
    TooOld {
        /// The agent, for people.
        title: String,
        /// The version that is installed.
        version: String,
        /// The oldest that works.
        oldest: String,
        /// The command that installs it.
        install: Option<String>,
    },
    /// The folder to work in cannot be used.
    #[error("cannot work in {}: {cause}", .folder.display())]
    BadFolder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        cause: String,
    },
    /// The agent cannot do what is wanted.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// What is wanted makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// The session to continue is not there, is running, or cannot be continued.
    #[error("{0}")]
    NoSession(String),
    /// The session runs already.
    #[error("session {0} is running")]
    Running(Id),
    /// The process could not be started.
    #[error("{}{}", .0, with_hint(.0.hint()))]
    Launch(#[from] supervise::StartError),
    /// The files of the session could not be made.
    #[error("cannot prepare {}: {cause}", .path.display())]
    Files {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// The log could not be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why something that was wanted of a running session was not done.
#[derive(Clone, Debug, Error)]
pub enum CommandError {
    /// The session is over.
    #[error("the session has ended")]
    Ended,
    /// The agent cannot do it.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// There is no such request, or it is no longer open.
    #[error("the request is not open: it was answered, withdrawn, or never made")]
    NotOpen,
    /// The answer makes no sense for this request.
    #[error("{0}")]
    BadAnswer(String),
}

fn with_hint(text: Option<String>) -> String {
    text.map(|text| format!("\nhint: {text}")).unwrap_or_default()
}
