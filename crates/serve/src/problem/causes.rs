//! Which of our errors is which problem. Nothing that a client can cause is a fault of the server: what makes no sense
//! is a 400, what makes sense and cannot be done as things are is a 409.

use std::io;

use axum::{
    extract::rejection::{BytesRejection, PathRejection, QueryRejection},
    http::StatusCode,
};
use switchboard_engine::{CommandError, StartError, supervise};
use switchboard_logs::LogsError;
use switchboard_store::StoreError;

use super::Problem;
use crate::logs::AdoptError;

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        let (status, code) = match &error {
            StartError::UnknownAgent(_) => (StatusCode::BAD_REQUEST, "unknown_agent"),
            StartError::NotInstalled { .. } | StartError::NoSuchFile(_) => (StatusCode::CONFLICT, "not_installed"),
            StartError::NoSuchProgram { .. } => (StatusCode::CONFLICT, "no_such_program"),
            StartError::TooOld { .. } => (StatusCode::CONFLICT, "too_old"),
            StartError::BadDirectory { .. } => (StatusCode::CONFLICT, "bad_folder"),
            StartError::Unsupported(_) => (StatusCode::CONFLICT, "unsupported"),
            StartError::BadRequest(_) => (StatusCode::BAD_REQUEST, "bad_request"),
            StartError::NoSession(_) => (StatusCode::CONFLICT, "not_resumable"),
            StartError::AlreadyRunning(_) => (StatusCode::CONFLICT, "running"),
            StartError::Launch(error) => launch(error),
            StartError::Files { cause, .. } => files(cause),
            StartError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        match error {
            StartError::Store(error) => error.into(),
            error => Self::new(status, code, error.to_string()),
        }
    }
}

fn launch(error: &supervise::LaunchError) -> (StatusCode, &'static str) {
    match error {
        supervise::LaunchError::NotFound { .. } => (StatusCode::CONFLICT, "no_such_program"),
        supervise::LaunchError::Directory { .. } => (StatusCode::CONFLICT, "bad_folder"),
        supervise::LaunchError::Confinement { .. } => (StatusCode::CONFLICT, "no_sandbox"),
        supervise::LaunchError::Supervisor(_) => (StatusCode::SERVICE_UNAVAILABLE, "cannot_start"),
        _ => (StatusCode::CONFLICT, "cannot_start"),
    }
}

fn files(cause: &io::Error) -> (StatusCode, &'static str) {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => (StatusCode::INSUFFICIENT_STORAGE, "disk_full"),
        // What a session needs of the user's own files: a login that cannot be read, say.
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => (StatusCode::CONFLICT, "files"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "files"),
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let (status, code) = match &error {
            StoreError::NoSession(_) => (StatusCode::NOT_FOUND, "no_session"),
            StoreError::Ambiguous { .. } => (StatusCode::CONFLICT, "ambiguous"),
            StoreError::Exists(_) => (StatusCode::CONFLICT, "exists"),
            StoreError::Open(_) => (StatusCode::CONFLICT, "open"),
            StoreError::NotOwner(_) => (StatusCode::CONFLICT, "elsewhere"),
            StoreError::Full => (StatusCode::INSUFFICIENT_STORAGE, "disk_full"),
            StoreError::Missing(_) => (StatusCode::SERVICE_UNAVAILABLE, "data_missing"),
            StoreError::Damaged { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "damaged_event"),
            StoreError::Newer { .. } => (StatusCode::SERVICE_UNAVAILABLE, "read_only"),
            StoreError::Unregistered => (StatusCode::SERVICE_UNAVAILABLE, "read_only"),
            StoreError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
            StoreError::Closed => (StatusCode::SERVICE_UNAVAILABLE, "closed"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "log"),
        };
        let problem = Self::new(status, code, error.to_string());
        match error {
            StoreError::Damaged { seq, .. } => problem.with_hint(format!("read on behind it with `after={seq}`")),
            StoreError::Full => {
                problem.with_hint("free some disk space, or delete sessions; reading and deleting work")
            }
            _ => problem,
        }
    }
}

impl From<LogsError> for Problem {
    fn from(error: LogsError) -> Self {
        let (status, code) = match &error {
            LogsError::NoSession(_) => (StatusCode::NOT_FOUND, "no_session"),
            LogsError::Ambiguous { .. } => (StatusCode::CONFLICT, "ambiguous"),
            LogsError::Regex(_) => (StatusCode::BAD_REQUEST, "bad_regex"),
            LogsError::Unreadable { .. } => (StatusCode::CONFLICT, "unreadable"),
            LogsError::Prices(_) => (StatusCode::CONFLICT, "bad_prices"),
            LogsError::Later { .. } => (StatusCode::SERVICE_UNAVAILABLE, "read_only"),
            LogsError::Index { .. } => (StatusCode::SERVICE_UNAVAILABLE, "index"),
            LogsError::Damaged(_) | LogsError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "index"),
        };
        match error {
            LogsError::Store(error) => error.into(),
            error => Self::new(status, code, error.to_string()),
        }
    }
}

impl From<AdoptError> for Problem {
    fn from(error: AdoptError) -> Self {
        let code = match &error {
            AdoptError::OtherAgent { .. } => "other_agent",
            AdoptError::NoFolder { .. } => "bad_folder",
            _ => "not_resumable",
        };
        match error {
            AdoptError::Logs(error) => error.into(),
            error => Self::conflict(code, error.to_string()),
        }
    }
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Self {
        let (status, code) = match &error {
            CommandError::Ended => (StatusCode::CONFLICT, "ended"),
            CommandError::Unsupported(_) => (StatusCode::CONFLICT, "unsupported"),
            CommandError::NotOpen => (StatusCode::CONFLICT, "not_open"),
            CommandError::BadAnswer(_) => (StatusCode::BAD_REQUEST, "bad_answer"),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is larger than this operation takes")
            }
            _ => Self::bad_request("bad_body", rejection.body_text()),
        }
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        let text = rejection.body_text();
        let detail = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
        Self::bad_request("bad_query", detail)
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::bad_request("bad_path", rejection.body_text())
    }
}
