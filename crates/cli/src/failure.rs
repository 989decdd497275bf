//! Errors of commands: their messages and exit codes.

use std::{io, path::PathBuf};

use switchboard_client::{AgentError, AgentErrorKind};
use switchboard_engine::StartError;
use switchboard_logs::LogsError;
use switchboard_serve::{
    guard::TokenError,
    listen::{CertificateError, ListenError},
};
use switchboard_store::StoreError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum Failure {
    #[error("unknown {what} `{given}`\n\n{what}s:\n{known}")]
    UnknownName {
        /// The kind of name, such as `agent`.
        what: &'static str,
        given: String,
        /// The valid names, one per line.
        known: String,
    },
    /// An option with an invalid value.
    #[error("{option}: {cause}")]
    BadValue { option: &'static str, cause: String },
    #[error("cannot read {}: {cause}", .path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("no session `{0}`\nhint: `switchboard sessions list --all` lists them")]
    NoSession(String),
    #[error("`{what}` could be any of these\n{known}")]
    SeveralSessions {
        what: String,
        /// The matching sessions, one per line.
        known: String,
    },
    /// The command does not apply; the message says what to do instead.
    #[error("{0}")]
    Refused(String),
    /// The process that runs a session refused the command, or does not answer.
    #[error(transparent)]
    Remote(#[from] AgentError),
    /// The server that `--server` names cannot be used, or refused the command.
    #[error(transparent)]
    Server(AgentError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Logs(#[from] LogsError),
    #[error("{}\nhint: {}", .0, .0.hint())]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The log could not be written, so the session was stopped.
    #[error("the session was stopped, because it could not be written down: {0}")]
    Log(String),
    /// The operating system refused something that the command needs.
    #[error("{0}")]
    Machine(String),
    #[error("cannot write {}: {cause}", .path.display())]
    Unwritable { path: PathBuf, cause: io::Error },
    #[error("cannot write the output: {0}")]
    Output(io::Error),
}

impl Failure {
    #[expect(clippy::needless_pass_by_value, reason = "errors and texts are passed as they are")]
    pub fn bad_value(option: &'static str, cause: impl ToString) -> Self {
        Self::BadValue { option, cause: cause.to_string() }
    }

    /// Returns the documented exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::UnknownName { .. } | Self::BadValue { .. } | Self::Unreadable { .. } => 2,
            Self::NoSession(_) | Self::SeveralSessions { .. } | Self::Refused(_) => 2,
            Self::Remote(error) => remote_exit_code(error.kind),
            Self::Server(error) => server_exit_code(error),
            Self::Start(error) => start_exit_code(error),
            Self::Token(_) | Self::Certificate(_) => 2,
            Self::Listen(_) | Self::Store(StoreError::Unreachable(_) | StoreError::Cluster(_)) => 4,
            Self::Store(StoreError::NoSession(_) | StoreError::Ambiguous { .. }) => 2,
            Self::Logs(LogsError::NoSession(_) | LogsError::Ambiguous { .. }) => 2,
            Self::Logs(LogsError::Regex(_) | LogsError::Prices(_)) => 2,
            Self::Store(_) | Self::Logs(_) | Self::Log(_) | Self::Machine(_) => 5,
            Self::Unwritable { .. } | Self::Output(_) => 5,
        }
    }

    /// Returns whether the reader of the output has closed it.
    pub fn is_broken_pipe(&self) -> bool {
        let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
        matches!(self, Self::Output(cause) | Self::Unwritable { cause, .. } if broken(cause))
    }
}

fn remote_exit_code(kind: AgentErrorKind) -> u8 {
    match kind {
        AgentErrorKind::SessionNotFound | AgentErrorKind::ProtocolError => 2,
        AgentErrorKind::PermissionDenied | AgentErrorKind::AuthenticationFailed => 4,
        _ => 5,
    }
}

/// Returns the exit code for a server that is named on the command line: 4 if it cannot be used at all.
fn server_exit_code(error: &AgentError) -> u8 {
    const NO_TLS: &str = "tls_required";
    match (error.kind, error.code.as_deref()) {
        (AgentErrorKind::ConnectionFailed, Some("not_installed" | "too_old")) => 3,
        (AgentErrorKind::ConnectionFailed | AgentErrorKind::Timeout, _) => 4,
        // Without a code, the answer is not one of a Switchboard.
        (AgentErrorKind::ProtocolError | AgentErrorKind::Unknown, None) => 4,
        (AgentErrorKind::ProtocolError, Some(NO_TLS)) => 4,
        (kind, _) => remote_exit_code(kind),
    }
}

fn start_exit_code(error: &StartError) -> u8 {
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

/// Formats names with their descriptions, one per line.
pub fn format_name_list<'a>(list: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    list.map(|(name, title)| format!("  {name:<17} {title}")).collect::<Vec<_>>().join("\n")
}
