//! A client for Switchboard's HTTP API.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::{AddressError, HttpClient, HttpError, HttpLimits, ServerAddress, TrustedAuthorities, percent_encode};
use crate::{
    AgentError, AgentErrorKind, Approval, ApprovalAnswer, Approvals, ArchiveRequest, FollowUpRequest, ModeRequest,
    ModelRequest, OptionRequest, SessionAction, SessionPage, SessionQuery, SessionStateFilter, SessionView,
    StartSessionRequest,
};

/// A Switchboard server. Cheap to clone; no connection is kept open.
#[derive(Clone, Debug)]
pub struct RemoteServer {
    pub(crate) http: HttpClient,
}

impl RemoteServer {
    /// Creates a client for a server by its address: `http://HOST:PORT`, `https://…`, `unix:/path`, or the link that a
    /// server prints, whose token is used unless another is given.
    ///
    /// # Errors
    /// Fails if the address is invalid, or if it requires TLS and this machine has no certificate authorities.
    pub fn new(url: &str, token: Option<&str>) -> Result<Self, AgentError> {
        let address = ServerAddress::parse(url).map_err(AgentError::from)?;
        Ok(Self { http: HttpClient::new(address, bearer_authorization(url, token).as_deref())? })
    }

    /// Creates a client like [`Self::new`] that, with TLS, trusts only the given certificate authorities.
    ///
    /// # Errors
    /// Fails if the address is invalid.
    pub fn with_authorities(
        url: &str,
        token: Option<&str>,
        authorities: TrustedAuthorities,
    ) -> Result<Self, AgentError> {
        let address = ServerAddress::parse(url).map_err(AgentError::from)?;
        let authorization = bearer_authorization(url, token);
        Ok(Self { http: HttpClient::with_authorities(address, authorization.as_deref(), authorities)? })
    }

    /// Creates a client for a Unix socket, which is protected by its file permissions.
    #[must_use]
    pub fn from_socket_path(path: impl Into<PathBuf>) -> Self {
        Self { http: HttpClient::without_authorization(ServerAddress::from_socket_path(path)) }
    }

    /// Sets the limits of time and size of a response.
    #[must_use]
    pub fn with_limits(self, limits: HttpLimits) -> Self {
        Self { http: self.http.with_limits(limits) }
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn address(&self) -> &ServerAddress {
        self.http.address()
    }

    /// Starts or continues a session.
    ///
    /// # Errors
    /// Fails if the server refuses or cannot be reached. The methods below fail in the same way.
    pub async fn create_session(&self, request: &StartSessionRequest) -> Result<SessionView, AgentError> {
        let created = self.call_json("POST", "/api/sessions", Some(request)).await;
        created.map_err(|error| error.with_agent(&request.agent_type))
    }

    /// Lists sessions, newest first.
    pub async fn list_sessions(&self, query: &SessionQuery) -> Result<SessionPage, AgentError> {
        self.get(&format!("/api/sessions{}", query.to_query_string())).await
    }

    /// Returns one session.
    pub async fn get_session(&self, id: &str) -> Result<SessionView, AgentError> {
        self.get(&session_path(id, "")).await
    }

    /// Deletes a session with all its data. A running session is cancelled first.
    pub async fn delete_session(&self, id: &str) -> Result<(), AgentError> {
        self.request("DELETE", &session_path(id, ""), None::<&()>).await.map(drop)
    }

    /// Hides a session from lists, or shows it again.
    pub async fn archive_session(&self, id: &str, archive: &ArchiveRequest) -> Result<(), AgentError> {
        self.request("POST", &session_path(id, "/archive"), Some(archive)).await.map(drop)
    }

    /// Lists the open requests of a session.
    pub async fn list_approvals(&self, id: &str) -> Result<Vec<Approval>, AgentError> {
        let open: Approvals = self.get(&session_path(id, "/approvals")).await?;
        Ok(open.approvals)
    }

    /// Answers a request. The first answer wins.
    pub async fn answer_approval(&self, id: &str, request: &str, answer: &ApprovalAnswer) -> Result<(), AgentError> {
        let path = session_path(id, &format!("/approvals/{}", percent_encode(request)));
        self.request("POST", &path, Some(answer)).await.map(drop)
    }

    /// Sends another prompt. An ended session is resumed.
    pub async fn send_prompt(&self, id: &str, prompt: &FollowUpRequest) -> Result<(), AgentError> {
        self.request("POST", &session_path(id, "/prompt"), Some(prompt)).await.map(drop)
    }

    /// Stops the turn; the session stays open.
    pub async fn interrupt_turn(&self, id: &str) -> Result<(), AgentError> {
        self.request("POST", &session_path(id, "/interrupt"), None::<&()>).await.map(drop)
    }

    /// Ends the session.
    pub async fn cancel_session(&self, id: &str) -> Result<(), AgentError> {
        self.request("POST", &session_path(id, "/cancel"), None::<&()>).await.map(drop)
    }

    /// Performs an action on a session.
    pub async fn send_action(&self, id: &str, order: &SessionAction) -> Result<(), AgentError> {
        match order.clone() {
            SessionAction::Prompt(prompt) => self.send_prompt(id, &prompt).await,
            SessionAction::Answer { request, answer } => self.answer_approval(id, &request, &answer).await,
            SessionAction::Interrupt => self.interrupt_turn(id).await,
            SessionAction::Cancel => self.cancel_session(id).await,
            SessionAction::SetModel(model) => self.post_json(id, "/model", &ModelRequest { model }).await,
            SessionAction::SetMode(mode) => self.post_json(id, "/mode", &ModeRequest { mode }).await,
            SessionAction::SetOption { id: option, value } => {
                self.post_json(id, "/option", &OptionRequest { id: option, value }).await
            }
        }
    }

    async fn post_json(&self, id: &str, path: &str, body: &impl Serialize) -> Result<(), AgentError> {
        self.request("POST", &session_path(id, path), Some(body)).await.map(drop)
    }

    /// Lists the agents of the server.
    pub async fn list_agents(&self) -> Result<Value, AgentError> {
        self.get("/api/agents").await
    }

    /// Returns the health of the server. Needs no token.
    pub async fn get_health(&self) -> Result<Value, AgentError> {
        self.get("/api/health").await
    }

    /// Sends a GET request and parses the JSON response.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, AgentError> {
        self.call_json("GET", path, None::<&()>).await
    }

    /// Sends a request with a JSON body and parses the JSON response.
    pub async fn call_json<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, AgentError> {
        let answer = self.request(method, path, body).await?;
        serde_json::from_slice(&answer).map_err(|error| self.malformed_response(&error.to_string(), &answer))
    }

    /// Sends a request with a JSON body and returns the bytes of the response; an error status is an error.
    pub async fn request(&self, method: &str, path: &str, body: Option<&impl Serialize>) -> Result<Bytes, AgentError> {
        let body = body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|error| AgentError::new(AgentErrorKind::ProtocolError, error.to_string()))?;
        let (status, answer) = self.http.request(method, path, body.map(Bytes::from)).await?;
        if (200..300).contains(&status) {
            Ok(answer)
        } else {
            Err(read_error_response(self.address(), path, status, &answer))
        }
    }

    /// Returns the error for a response that no Switchboard server would send.
    pub(crate) fn malformed_response(&self, cause: &str, response: &[u8]) -> AgentError {
        let response =
            String::from_utf8_lossy(response.get(..response.len().min(500)).unwrap_or_default()).into_owned();
        AgentError::new(
            AgentErrorKind::ProtocolError,
            format!("what {} answers makes no sense: {cause}", self.address()),
        )
        .with_hint("is that a Switchboard, and of a version that fits?")
        .with_native(response)
    }
}

/// Returns the header for a token, or for the one in the link of a server.
fn bearer_authorization(url: &str, token: Option<&str>) -> Option<String> {
    let linked = url.split_once("?token=").map(|(_, token)| token.split('&').next().unwrap_or_default());
    token.or(linked).map(|token| format!("Bearer {}", token.trim()))
}

/// Returns an API path of a session.
pub(crate) fn session_path(id: &str, rest: &str) -> String {
    format!("/api/sessions/{}{rest}", percent_encode(id))
}

impl SessionQuery {
    /// Returns the query string, with its question mark.
    fn to_query_string(&self) -> String {
        let (limit, archived) = (self.limit.map(|limit| limit.to_string()), self.archived.map(|only| only.to_string()));
        let pairs = [
            ("agent", self.agent.as_deref()),
            ("project", self.project.as_deref()),
            ("state", self.state.map(SessionStateFilter::name)),
            ("text", self.text.as_deref()),
            ("cwd", self.cwd.as_deref()),
            ("archived", archived.as_deref()),
            ("limit", limit.as_deref()),
            ("before", self.before.as_deref()),
        ];
        let pairs = pairs.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", percent_encode(value?))));
        let query = pairs.collect::<Vec<_>>().join("&");
        if query.is_empty() { query } else { format!("?{query}") }
    }
}

/// The error body of a response (RFC 9457).
#[derive(Default, Deserialize)]
#[serde(default)]
struct ProblemDetails {
    title: Option<String>,
    detail: Option<String>,
    code: Option<String>,
    hint: Option<String>,
    /// The error field of other servers.
    error: Option<Value>,
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
    let response = String::from_utf8_lossy(body).into_owned();
    let Ok(problem) = serde_json::from_slice::<ProblemDetails>(body) else {
        return unexplained_error(server, path, status, response);
    };
    let code = problem.code.clone().unwrap_or_default();
    let words = problem.error_message().unwrap_or_else(|| format!("{server} answered {path} with status {status}"));
    let kind = error_kind(path, status, &code);
    let hint = problem.hint.clone().or_else(|| (status == 401).then(|| TOKEN_HINT.to_owned()));
    AgentError {
        hint: hint.map(Into::into),
        code: problem.code.map(Into::into),
        ..AgentError::new(kind, words).with_native(response)
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
fn unexplained_error(server: &ServerAddress, path: &str, status: u16, response: String) -> AgentError {
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
    AgentError { hint: hint.map(Into::into), ..AgentError::new(kind, message).with_native(response) }
}

impl From<HttpError> for AgentError {
    fn from(error: HttpError) -> Self {
        let kind = match &error {
            HttpError::Connect { .. } | HttpError::Broken(_) => AgentErrorKind::ConnectionFailed,
            HttpError::Late(_) => AgentErrorKind::Timeout,
            HttpError::NotHttp { .. } | HttpError::NotTls(_) => AgentErrorKind::ProtocolError,
            HttpError::TooLarge(_) | HttpError::Request { .. } => AgentErrorKind::ProtocolError,
            // The server could not prove that it is the right one.
            HttpError::Certificate { .. } | HttpError::Authorization(_) => AgentErrorKind::AuthenticationFailed,
            HttpError::TlsSetup(error) => return Self::from_text(AgentErrorKind::Unknown, &error.to_string()),
            HttpError::Address(error) => return error.clone().into(),
        };
        let hint = match &error {
            HttpError::Connect { .. } => Some("is a server running there? `switchboard serve` starts one"),
            HttpError::Certificate { hint, .. } => Some(*hint),
            HttpError::NotTls(_) => Some("a server without TLS has an address that begins with http://"),
            HttpError::NotHttp { address, .. } if !address.requires_tls() => {
                Some("is that a Switchboard? The address of a server with TLS begins with https://")
            }
            HttpError::NotHttp { .. } => Some("is that a Switchboard?"),
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
