//! Errors as clients see them: problem documents (RFC 9457) with a stable `code` and, where there is a remedy, a
//! `hint`. Errors of other crates are converted to problems here. An invalid request is a 400, and one that conflicts with
//! the current state a 409. A 5xx is a condition of the server, such as a full disk or the 503 `too_many_sessions`.

use std::{borrow::Cow, io};

use axum::{
    extract::rejection::{BytesRejection, PathRejection, QueryRejection},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_engine::{CommandError, StartError, supervise};
use switchboard_logs::LogsError;
use switchboard_store::StoreError;

use crate::logs::AdoptError;

pub const MEDIA_TYPE: &str = "application/problem+json";

const RETRY_AFTER_SECONDS: u64 = 2;

/// An error. On the wire it is a [`ProblemDocument`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "ProblemDocument", from = "ProblemDocument")]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// Identifies the error for programs.
    pub code: Cow<'static, str>,
    /// Explains the error to people.
    pub detail: Box<str>,
    /// Suggests a remedy.
    pub hint: Option<Box<str>>,
}

/// A problem document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemDocument {
    /// Always `about:blank`: `code` distinguishes problems.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// The meaning of the status.
    pub title: String,
    /// The HTTP status.
    #[schemars(range(min = 400, max = 599))]
    pub status: u16,
    /// Explains the error to people.
    pub detail: String,
    /// Identifies the error for programs. Codes are stable.
    #[schemars(regex(pattern = "^[a-z_]+$"))]
    pub code: String,
    /// Suggests a remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<Problem> for ProblemDocument {
    fn from(problem: Problem) -> Self {
        Self {
            kind: "about:blank".to_owned(),
            title: problem.status().canonical_reason().unwrap_or("Error").to_owned(),
            status: problem.status,
            detail: problem.detail.into(),
            code: problem.code.into_owned(),
            hint: problem.hint.map(Into::into),
        }
    }
}

impl From<ProblemDocument> for Problem {
    fn from(document: ProblemDocument) -> Self {
        let ProblemDocument { status, detail, code, hint, .. } = document;
        Self { status, code: code.into(), detail: detail.into(), hint: hint.map(Into::into) }
    }
}

impl Problem {
    /// Creates a problem. A text that ends with a line `hint: …` includes the hint.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let (detail, hint) = match detail.split_once("\nhint: ") {
            Some((detail, hint)) => (detail.to_owned(), Some(hint.into())),
            None => (detail, None),
        };
        Self { status: status.as_u16(), code: code.into(), detail: detail.into(), hint }
    }

    #[must_use]
    pub fn with_hint(self, hint: impl Into<Box<str>>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The request is invalid.
    #[must_use]
    pub fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// A field of the request is invalid.
    #[must_use]
    pub fn bad_field(field: &str, message: &str) -> Self {
        Self::bad_request("bad_field", format!("{field}: {message}"))
    }

    #[must_use]
    pub fn no_session(id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "no_session", format!("no session {id}"))
    }

    /// The request conflicts with the current state.
    #[must_use]
    pub fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (self.status(), [(header::CONTENT_TYPE, MEDIA_TYPE)], body).into_response();
        if self.status() == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
        }
        response
    }
}

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
            StartError::Launch(error) => launch_error_code(error),
            StartError::Files { cause, .. } => file_error_code(cause),
            StartError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        match error {
            StartError::Store(error) => error.into(),
            error => Self::new(status, code, error.to_string()),
        }
    }
}

fn launch_error_code(error: &supervise::LaunchError) -> (StatusCode, &'static str) {
    match error {
        supervise::LaunchError::NotFound { .. } => (StatusCode::CONFLICT, "no_such_program"),
        supervise::LaunchError::Directory { .. } => (StatusCode::CONFLICT, "bad_folder"),
        supervise::LaunchError::Confinement { .. } => (StatusCode::CONFLICT, "no_sandbox"),
        supervise::LaunchError::Supervisor(_) => (StatusCode::SERVICE_UNAVAILABLE, "cannot_start"),
        _ => (StatusCode::CONFLICT, "cannot_start"),
    }
}

fn file_error_code(cause: &io::Error) -> (StatusCode, &'static str) {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => (StatusCode::INSUFFICIENT_STORAGE, "disk_full"),
        // For example, a login file of the user that cannot be read.
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
            StoreError::Unreachable(_) => (StatusCode::SERVICE_UNAVAILABLE, "log_unreachable"),
            StoreError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
            StoreError::Closed => (StatusCode::SERVICE_UNAVAILABLE, "closed"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "log"),
        };
        let problem = Self::new(status, code, error.to_string());
        match error {
            StoreError::Damaged { seq, .. } => problem.with_hint(format!("continue after it with `after={seq}`")),
            StoreError::Full => {
                problem.with_hint("free some disk space or delete sessions; reading and deleting still work")
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
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is larger than this operation accepts")
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
