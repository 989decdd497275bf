//! The front door: starts sessions, finds them again.

use std::sync::Arc;

use switchboard_event::{Id, SessionConfig};

use crate::{
    AgentError, NetworkTransport, Remote, Session, SessionPage, SessionQuery, SessionRequest, SessionView, Transport,
};

/// Uses coding agents, wherever they run.
#[derive(Clone)]
pub struct AgentClient {
    transport: Arc<dyn Transport>,
    agent_type: String,
    working_directory: Option<String>,
}

impl AgentClient {
    /// A client of the server at this address: `http://HOST:PORT`, `unix:/path`, or the link that a server prints,
    /// whose token counts unless another is given. Nothing is sent yet.
    ///
    /// # Errors
    /// If it is no address.
    pub fn connect(url: &str, token: Option<&str>) -> Result<Self, AgentError> {
        Ok(Self::new(NetworkTransport::new(Remote::new(url, token)?)))
    }

    /// A client over any transport.
    pub fn new(transport: impl Transport) -> Self {
        Self { transport: Arc::new(transport), agent_type: String::new(), working_directory: None }
    }

    /// The same, for sessions of this agent.
    #[must_use]
    pub fn for_agent(self, agent_type: impl Into<String>) -> Self {
        Self { agent_type: agent_type.into(), ..self }
    }

    /// The same, for sessions that work in this folder of the server.
    #[must_use]
    pub fn in_folder(self, folder: impl Into<String>) -> Self {
        Self { working_directory: Some(folder.into()), ..self }
    }

    /// Starts a session.
    ///
    /// # Errors
    /// If it did not start; the error says why. So all that follow.
    pub async fn create_session(
        &self,
        prompt: impl Into<String>,
        mut config: SessionConfig,
    ) -> Result<Session, AgentError> {
        config.working_directory = config.working_directory.or_else(|| self.working_directory.clone());
        let agent_type = config.agent_type.clone().unwrap_or_else(|| self.agent_type.clone());
        let prompt = prompt.into();
        self.start(SessionRequest { agent_type, prompt, config: Some(config), ..SessionRequest::default() }).await
    }

    /// Continues a session that has ended, with a new run in the same log. What was before is not told again.
    pub async fn resume_session(&self, id: &str, prompt: impl Into<String>) -> Result<Session, AgentError> {
        let view = self.transport.get(id).await?;
        let (agent_type, prompt, session_id) = (view.agent_type.clone(), prompt.into(), Some(Id::from(id)));
        self.start(SessionRequest { agent_type, prompt, session_id, ..SessionRequest::default() }).await
    }

    /// Starts or continues a session with all that can be asked for.
    pub async fn start(&self, request: SessionRequest) -> Result<Session, AgentError> {
        let begin = match request.session_id.as_ref().filter(|_| !request.fork) {
            Some(id) => self.transport.get(id).await?.events,
            None => 0,
        };
        let view = self.transport.create(request).await?;
        Ok(Session::new(self.transport.clone(), &view, begin))
    }

    /// A session that is there already, from its beginning.
    pub async fn session(&self, id: &str) -> Result<Session, AgentError> {
        Ok(Session::new(self.transport.clone(), &self.transport.get(id).await?, 0))
    }

    /// What is known about a session.
    pub async fn get_session(&self, id: &str) -> Result<SessionView, AgentError> {
        self.transport.get(id).await
    }

    /// Some sessions, newest first.
    pub async fn list_sessions(&self, query: SessionQuery) -> Result<SessionPage, AgentError> {
        self.transport.list(query).await
    }

    /// Deletes a session and all that is known about it. One that goes on is cancelled first.
    pub async fn delete_session(&self, id: &str) -> Result<(), AgentError> {
        self.transport.delete(id).await
    }
}
