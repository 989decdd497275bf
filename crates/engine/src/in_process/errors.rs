//! What goes wrong in the engine, in the kinds of the client library.

use switchboard_client::{AgentError, AgentErrorKind};
use switchboard_store::StoreError;

use crate::{CommandError, StartError};

/// A session did not start.
pub fn of_start(error: &StartError) -> AgentError {
    let (kind, code) = match error {
        StartError::UnknownAgent(_) => (AgentErrorKind::ProtocolError, "unknown_agent"),
        StartError::NotInstalled { .. } | StartError::NoSuchProgram { .. } | StartError::NoSuchFile(_) => {
            (AgentErrorKind::ConnectionFailed, "not_installed")
        }
        StartError::TooOld { .. } => (AgentErrorKind::ConnectionFailed, "too_old"),
        StartError::BadFolder { .. } => (AgentErrorKind::PermissionDenied, "bad_folder"),
        StartError::Unsupported(_) => (AgentErrorKind::ProtocolError, "unsupported"),
        StartError::BadRequest(_) => (AgentErrorKind::ProtocolError, "bad_request"),
        StartError::NoSession(_) => (AgentErrorKind::SessionNotFound, "no_session"),
        StartError::Running(_) => (AgentErrorKind::ProtocolError, "running"),
        StartError::Launch(_) => (AgentErrorKind::ConnectionFailed, "launch"),
        StartError::Files { .. } => (AgentErrorKind::Unknown, "files"),
        StartError::Store(error) => return of_store(error),
    };
    AgentError::from_text(kind, &error.to_string()).with_code(code)
}

/// Something that was wanted of a session was not done.
pub fn of_command(error: &CommandError) -> AgentError {
    let code = match error {
        CommandError::Ended => return ended(),
        CommandError::Unsupported(_) => "unsupported",
        CommandError::NotOpen => "not_open",
        CommandError::BadAnswer(_) => "bad_answer",
    };
    AgentError::from_text(AgentErrorKind::ProtocolError, &error.to_string()).with_code(code)
}

/// The session is over.
pub fn ended() -> AgentError {
    let error = AgentError::new(AgentErrorKind::ProtocolError, CommandError::Ended.to_string());
    error.with_code("ended").with_hint("another prompt continues it")
}

/// The log could not be read or written.
pub fn of_store(error: &StoreError) -> AgentError {
    let (kind, code) = match error {
        StoreError::NoSession(_) => (AgentErrorKind::SessionNotFound, "no_session"),
        _ => (AgentErrorKind::Unknown, "log"),
    };
    AgentError::from_text(kind, &error.to_string()).with_code(code)
}
