//! Errors of requests, with messages that people can act on.

use serde::Deserialize;

use crate::{
    AgentError, AgentErrorKind,
    http::{AddressError, HttpError, ServerAddress},
};

/// The error body of a response (RFC 9457).
#[derive(Default, Deserialize)]
#[serde(default)]
struct ProblemDetails {
    title: Option<String>,
    detail: Option<String>,
    code: Option<String>,
    hint: Option<String>,
    /// The error field of other servers.
    error: Option<serde_json::Value>,
    message: Option<String>,
}

impl ProblemDetails {
    fn error_message(&self) -> Option<String> {
        let error = self.error.as_ref().and_then(|error| {
            let nested = error.get("message").unwrap_or(error);
            nested.as_str().map(str::to_owned)
        });
        self.detail.clone().or_else(|| self.title.clone()).or_else(|| self.message.clone()).or(error)
    }
}

/// Converts an error response.
pub fn read_error_response(server: &ServerAddress, path: &str, status: u16, body: &[u8]) -> AgentError {
    let said = String::from_utf8_lossy(body).into_owned();
    let Ok(problem) = serde_json::from_slice::<ProblemDetails>(body) else {
        return unexplained_error(server, path, status, said);
    };
    let code = problem.code.clone().unwrap_or_default();
    let words = problem.error_message().unwrap_or_else(|| format!("{server} answered {path} with status {status}"));
    let kind = error_kind(path, status, &code);
    let hint = problem.hint.clone().or_else(|| (status == 401).then(|| TOKEN_HINT.to_owned()));
    AgentError {
        hint: hint.map(Into::into),
        code: problem.code.map(Into::into),
        ..AgentError::new(kind, words).with_native(said)
    }
}

const TOKEN_HINT: &str = "`switchboard token` prints the server's token";

fn error_kind(path: &str, status: u16, code: &str) -> AgentErrorKind {
    let about_session =
        path.starts_with("/api/sessions/") && !["approval", "request", "agent"].iter().any(|word| code.contains(word));
    match status {
        401 => AgentErrorKind::AuthenticationFailed,
        403 => AgentErrorKind::PermissionDenied,
        404 if about_session || code.contains("session") => AgentErrorKind::SessionNotFound,
        408 | 504 => AgentErrorKind::Timeout,
        429 | 502 | 503 => AgentErrorKind::ConnectionFailed,
        400..500 => AgentErrorKind::ProtocolError,
        _ => AgentErrorKind::Unknown,
    }
}

/// Describes an error response that did not come from a Switchboard server.
fn unexplained_error(server: &ServerAddress, path: &str, status: u16, said: String) -> AgentError {
    let (kind, message) = match status {
        401 => (AgentErrorKind::AuthenticationFailed, format!("{server} wants a token, or another one")),
        403 => (AgentErrorKind::PermissionDenied, format!("{server} does not allow {path}")),
        408 | 504 => (AgentErrorKind::Timeout, format!("{server} took too long")),
        429 => (AgentErrorKind::ConnectionFailed, format!("{server} wants to be asked less often")),
        502 | 503 => (AgentErrorKind::ConnectionFailed, format!("{server} is not there for now (status {status})")),
        500.. => (AgentErrorKind::Unknown, format!("{server} failed (status {status})")),
        _ => (AgentErrorKind::ProtocolError, format!("{server} answered {path} with status {status}")),
    };
    let hint = match kind {
        AgentErrorKind::AuthenticationFailed => Some(TOKEN_HINT),
        AgentErrorKind::ProtocolError => Some("is that a Switchboard?"),
        _ => None,
    };
    AgentError { hint: hint.map(Into::into), ..AgentError::new(kind, message).with_native(said) }
}

impl From<HttpError> for AgentError {
    fn from(error: HttpError) -> Self {
        let kind = match &error {
            HttpError::Connect { .. } => AgentErrorKind::ConnectionFailed,
            HttpError::Late(_) => AgentErrorKind::Timeout,
            HttpError::Broken(broken) if !broken.is_parse() => AgentErrorKind::ConnectionFailed,
            HttpError::Broken(_) | HttpError::TooLarge(_) | HttpError::Request { .. } => AgentErrorKind::ProtocolError,
            HttpError::Authorization(_) => AgentErrorKind::AuthenticationFailed,
            HttpError::Address(error) => return error.clone().into(),
        };
        let hint = match &error {
            HttpError::Connect { .. } => Some("is a server running there? `switchboard serve` starts one"),
            HttpError::Broken(broken) if broken.is_parse() => Some("is that a Switchboard?"),
            _ => None,
        };
        let plain = Self::new(kind, error.to_string());
        Self { hint: hint.map(Into::into), ..plain }
    }
}

impl From<AddressError> for AgentError {
    fn from(error: AddressError) -> Self {
        Self::from_text(AgentErrorKind::ConnectionFailed, &error.to_string())
    }
}
