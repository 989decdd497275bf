//! The entry point of the library: starts and finds sessions.

use std::sync::Arc;

use switchboard_event::{Id, SessionConfig};

use crate::{
    AgentError, AgentSession, NetworkTransport, RemoteServer, SessionPage, SessionQuery, SessionView,
    StartSessionRequest, Transport,
};

/// A client for coding agents, local or remote.
#[derive(Clone)]
pub struct AgentClient {
    transport: Arc<dyn Transport>,
    agent_type: String,
    working_directory: Option<String>,
}

impl AgentClient {
    /// Creates a client for a server by its address: `http://HOST:PORT`, `https://…`, `unix:/path`, or the link that a
    /// server prints, whose token is used unless another is given. Sends nothing yet.
    ///
    /// # Errors
    /// Fails if the address is invalid, or if it requires TLS and this machine has no certificate authorities.
    pub fn connect(url: &str, token: Option<&str>) -> Result<Self, AgentError> {
        Ok(Self::new(NetworkTransport::new(RemoteServer::new(url, token)?)))
    }

    /// Creates a client over any transport.
    pub fn new(transport: impl Transport) -> Self {
        Self { transport: Arc::new(transport), agent_type: String::new(), working_directory: None }
    }

    /// Sets the default agent of new sessions.
    #[must_use]
    pub fn for_agent(self, agent_type: impl Into<String>) -> Self {
        Self { agent_type: agent_type.into(), ..self }
    }

    /// Sets the default working directory (on the server) of new sessions.
    #[must_use]
    pub fn in_directory(self, folder: impl Into<String>) -> Self {
        Self { working_directory: Some(folder.into()), ..self }
    }

    /// Starts a session.
    ///
    /// # Errors
    /// Fails if the session did not start. The methods below fail in the same way.
    pub async fn create_session(
        &self,
        prompt: impl Into<String>,
        mut config: SessionConfig,
    ) -> Result<AgentSession, AgentError> {
        config.working_directory = config.working_directory.or_else(|| self.working_directory.clone());
        let agent_type = config.agent_type.clone().unwrap_or_else(|| self.agent_type.clone());
        let prompt = prompt.into();
        self.start_session(StartSessionRequest {
            agent_type,
            prompt,
            config: Some(config),
            ..StartSessionRequest::default()
        })
        .await
    }

    /// Continues a session that has ended, with a new run in the same log. Earlier events are not repeated.
    pub async fn resume_session(&self, id: &str, prompt: impl Into<String>) -> Result<AgentSession, AgentError> {
        let view = self.transport.get_session(id).await?;
        let (agent_type, prompt, session_id) = (view.agent_type.clone(), prompt.into(), Some(Id::from(id)));
        self.start_session(StartSessionRequest { agent_type, prompt, session_id, ..StartSessionRequest::default() })
            .await
    }

    /// Starts or continues a session with all available options.
    pub async fn start_session(&self, request: StartSessionRequest) -> Result<AgentSession, AgentError> {
        let begin = match request.session_id.as_ref().filter(|_| !request.fork) {
            Some(id) => self.transport.get_session(id).await?.events,
            None => 0,
        };
        let view = self.transport.create_session(request).await?;
        Ok(AgentSession::new(self.transport.clone(), &view, begin))
    }

    /// Opens an existing session from its beginning.
    pub async fn open_session(&self, id: &str) -> Result<AgentSession, AgentError> {
        Ok(AgentSession::new(self.transport.clone(), &self.transport.get_session(id).await?, 0))
    }

    /// Returns the current view of a session.
    pub async fn get_session(&self, id: &str) -> Result<SessionView, AgentError> {
        self.transport.get_session(id).await
    }

    /// Lists sessions, newest first.
    pub async fn list_sessions(&self, query: SessionQuery) -> Result<SessionPage, AgentError> {
        self.transport.list_sessions(query).await
    }

    /// Deletes a session with all its data. A running session is cancelled first.
    pub async fn delete_session(&self, id: &str) -> Result<(), AgentError> {
        self.transport.delete_session(id).await
    }
}
