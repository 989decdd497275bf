//! Errors of commands: their messages and exit codes.

use std::{io, path::PathBuf};

use switchboard_client::{AgentError, AgentErrorKind};
use switchboard_engine::StartError;
use switchboard_logs::LogsError;
use switchboard_serve::{guard::BadToken, listen::ListenError};
use switchboard_store::StoreError;
use thiserror::Error;

/// Why a command failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// A name that is not in a list.
    #[error("unknown {what} `{given}`\n\n{what}s:\n{known}")]
    UnknownName {
        /// What it should name.
        what: &'static str,
        /// What was typed.
        given: String,
        /// The right names, a line each.
        known: String,
    },
    /// An option with a value that makes no sense.
    #[error("{option}: {cause}")]
    BadValue {
        /// The option.
        option: &'static str,
        /// What is wrong with its value.
        cause: String,
    },
    /// A file that cannot be opened or read.
    #[error("cannot read {}: {cause}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Nothing is known of such a session.
    #[error("no session `{0}`\nhint: `switchboard sessions list --all` lists them")]
    NoSession(String),
    /// Several sessions could be meant.
    #[error("`{what}` could be any of these\n{known}")]
    SeveralSessions {
        /// What was typed.
        what: String,
        /// The sessions, a line each.
        known: String,
    },
    /// Something is not done, for a reason that the user can do something about.
    #[error("{0}")]
    Refused(String),
    /// The process that runs a session refused, or does not answer.
    #[error(transparent)]
    Remote(#[from] AgentError),
    /// A session could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The log of sessions cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The logs of agents, or their index, cannot be used.
    #[error(transparent)]
    Logs(#[from] LogsError),
    /// An address could not be had.
    #[error("{}\nhint: {}", .0, .0.hint())]
    Listen(#[from] ListenError),
    /// There is no token that could let anybody in.
    #[error(transparent)]
    Token(#[from] BadToken),
    /// The log could not be written, and the session was stopped.
    #[error("the session was stopped, because it could not be written down: {0}")]
    Log(String),
    /// Something of the machine is not as it should be.
    #[error("{0}")]
    Machine(String),
    /// A file that cannot be written.
    #[error("cannot write {}: {cause}", .path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
}

impl Failure {
    /// The exit code that the documentation promises.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::UnknownName { .. } | Self::BadValue { .. } | Self::Unreadable { .. } => 2,
            Self::NoSession(_) | Self::SeveralSessions { .. } | Self::Refused(_) => 2,
            Self::Remote(error) => remote(error.kind),
            Self::Start(error) => refused(error),
            Self::Token(_) => 2,
            Self::Listen(_) => 4,
            Self::Store(StoreError::NoSession(_) | StoreError::Ambiguous { .. }) => 2,
            Self::Logs(LogsError::NoSession(_) | LogsError::Ambiguous { .. }) => 2,
            Self::Logs(LogsError::Regex(_) | LogsError::Prices(_)) => 2,
            Self::Store(_) | Self::Logs(_) | Self::Log(_) | Self::Machine(_) => 5,
            Self::Unwritable { .. } | Self::Output(_) => 5,
        }
    }

    /// The reader of our output has seen enough.
    pub fn is_broken_pipe(&self) -> bool {
        let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
        matches!(self, Self::Output(cause) | Self::Unwritable { cause, .. } if broken(cause))
    }
}

fn remote(kind: AgentErrorKind) -> u8 {
    match kind {
        AgentErrorKind::SessionNotFound | AgentErrorKind::ProtocolError => 2,
        AgentErrorKind::PermissionDenied | AgentErrorKind::AuthenticationFailed => 4,
        _ => 5,
    }
}

fn refused(error: &StartError) -> u8 {
    match error {
        StartError::UnknownAgent(_)
        | StartError::BadDirectory { .. }
        | StartError::BadRequest(_)
        | StartError::NoSession(_)
        | StartError::AlreadyRunning(_) => 2,
        StartError::NotInstalled { .. }
        | StartError::NoSuchProgram { .. }
        | StartError::NoSuchFile(_)
        | StartError::TooOld { .. } => 3,
        StartError::Unsupported(_) | StartError::Launch(_) => 4,
        StartError::Files { .. } | StartError::Store(_) => 5,
    }
}

/// A list of names with a line about each, for people who typed another.
pub fn names<'a>(list: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    list.map(|(name, title)| format!("  {name:<17} {title}")).collect::<Vec<_>>().join("\n")
}
