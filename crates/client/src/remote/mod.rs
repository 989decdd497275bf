//! A server that speaks Switchboard's HTTP, and all that can be asked of it.

mod refusal;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    AgentError, AgentErrorKind, Answer, Approval, Order, PromptRequest, SessionPage, SessionQuery, SessionRequest,
    SessionView,
    http::{Address, Client, Limits},
};

/// A server. Cheap to clone; nothing is kept open.
#[derive(Clone, Debug)]
pub struct Remote {
    pub(crate) http: Client,
}

impl Remote {
    /// The server at this address: `http://HOST:PORT`, `unix:/path`, or the link that a server prints, whose token
    /// counts unless another is given.
    ///
    /// # Errors
    /// If it is no address.
    pub fn new(url: &str, token: Option<&str>) -> Result<Self, AgentError> {
        let linked = url.split_once("?token=").map(|(_, token)| token.split('&').next().unwrap_or_default());
        let bearer = token.or(linked).map(|token| format!("Bearer {}", token.trim()));
        let http = Client::new(Address::parse(url).map_err(AgentError::from)?, bearer.as_deref())?;
        Ok(Self { http })
    }

    /// The server behind a socket, which its file's permissions guard.
    #[must_use]
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Self { http: Client { address: Address::unix(path), authorization: None, limits: Limits::default() } }
    }

    /// The same with other limits of time and size for an answer.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { http: self.http.with_limits(limits) }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> &Address {
        self.http.address()
    }

    /// Starts a session, or continues one.
    ///
    /// # Errors
    /// If the server refuses or cannot be reached; so all that follow.
    pub async fn create(&self, request: &SessionRequest) -> Result<SessionView, AgentError> {
        let created = self.call("POST", "/api/sessions", Some(request)).await;
        created.map_err(|error| error.with_agent(&request.agent_type))
    }

    /// Some sessions, newest first.
    pub async fn sessions(&self, query: &SessionQuery) -> Result<SessionPage, AgentError> {
        self.get(&format!("/api/sessions{}", query.written())).await
    }

    /// One session.
    pub async fn session(&self, id: &str) -> Result<SessionView, AgentError> {
        self.get(&of(id, "")).await
    }

    /// Deletes a session and all that is known about it. One that goes on is cancelled first.
    pub async fn delete(&self, id: &str) -> Result<(), AgentError> {
        self.request("DELETE", &of(id, ""), None::<&()>).await.map(drop)
    }

    /// What the agent waits for.
    pub async fn approvals(&self, id: &str) -> Result<Vec<Approval>, AgentError> {
        #[derive(Deserialize)]
        struct Open {
            approvals: Vec<Approval>,
        }
        let open: Open = self.get(&of(id, "/approvals")).await?;
        Ok(open.approvals)
    }

    /// Answers a request. The first answer counts.
    pub async fn answer(&self, id: &str, request: &str, answer: &Answer) -> Result<(), AgentError> {
        let path = of(id, &format!("/approvals/{}", encoded(request)));
        self.request("POST", &path, Some(answer)).await.map(drop)
    }

    /// Gives the agent another prompt. An ended session is resumed.
    pub async fn prompt(&self, id: &str, prompt: &PromptRequest) -> Result<(), AgentError> {
        self.request("POST", &of(id, "/prompt"), Some(prompt)).await.map(drop)
    }

    /// Stops the turn; the session goes on.
    pub async fn interrupt(&self, id: &str) -> Result<(), AgentError> {
        self.request("POST", &of(id, "/interrupt"), None::<&()>).await.map(drop)
    }

    /// Ends the session.
    pub async fn cancel(&self, id: &str) -> Result<(), AgentError> {
        self.request("POST", &of(id, "/cancel"), None::<&()>).await.map(drop)
    }

    /// Does what is wanted of a session.
    pub async fn order(&self, id: &str, order: &Order) -> Result<(), AgentError> {
        let (path, body) = match order {
            Order::Prompt(prompt) => return self.prompt(id, prompt).await,
            Order::Answer { request, answer } => return self.answer(id, request, answer).await,
            Order::Interrupt => return self.interrupt(id).await,
            Order::Cancel => return self.cancel(id).await,
            Order::SetModel(model) => ("/model", json!({ "model": model })),
            Order::SetMode(mode) => ("/mode", json!({ "mode": mode })),
            Order::SetOption { id, value } => ("/option", json!({ "id": id, "value": value })),
        };
        self.request("POST", &of(id, path), Some(&body)).await.map(drop)
    }

    /// The agents, as the server lists them.
    pub async fn agents(&self) -> Result<Value, AgentError> {
        self.get("/api/agents").await
    }

    /// How the server is. It needs no token.
    pub async fn health(&self) -> Result<Value, AgentError> {
        self.get("/api/health").await
    }

    /// Asks for something.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, AgentError> {
        self.call("GET", path, None::<&()>).await
    }

    /// Makes a request with a JSON body and reads the JSON that it is answered with.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, AgentError> {
        let answer = self.request(method, path, body).await?;
        serde_json::from_slice(&answer).map_err(|error| self.strange(&error.to_string(), &answer))
    }

    /// Makes a request with a JSON body and gives the bytes that it is answered with; a no is an error.
    pub async fn request(&self, method: &str, path: &str, body: Option<&impl Serialize>) -> Result<Bytes, AgentError> {
        let body = body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|error| AgentError::new(AgentErrorKind::ProtocolError, error.to_string()))?;
        let (status, answer) = self.http.request(method, path, body.map(Bytes::from)).await?;
        if (200..300).contains(&status) {
            Ok(answer)
        } else {
            Err(refusal::read(self.address(), path, status, &answer))
        }
    }

    /// It answers, but not as a Switchboard would.
    pub(crate) fn strange(&self, cause: &str, said: &[u8]) -> AgentError {
        let said = String::from_utf8_lossy(said.get(..said.len().min(500)).unwrap_or_default()).into_owned();
        AgentError::new(
            AgentErrorKind::ProtocolError,
            format!("what {} answers makes no sense: {cause}", self.address()),
        )
        .with_hint("is that a Switchboard, and of a version that fits?")
        .with_native(said)
    }
}

/// A path of a session.
pub(crate) fn of(id: &str, rest: &str) -> String {
    format!("/api/sessions/{}{rest}", encoded(id))
}

/// A text as part of a path or a query.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

impl SessionQuery {
    /// As the query of a path.
    fn written(&self) -> String {
        let limit = self.limit.map(|limit| limit.to_string());
        let pairs = [
            ("agent", self.agent.as_deref()),
            ("project", self.project.as_deref()),
            ("state", self.state.map(super::SessionState::name)),
            ("text", self.text.as_deref()),
            ("cwd", self.cwd.as_deref()),
            ("limit", limit.as_deref()),
            ("before", self.before.as_deref()),
        ];
        let pairs = pairs.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", encoded(value?))));
        let query = pairs.collect::<Vec<_>>().join("&");
        if query.is_empty() { query } else { format!("?{query}") }
    }
}
