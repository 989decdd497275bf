//! One connection to an editor: the agent behind it, the capabilities negotiated by `initialize`, and the open
//! sessions.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use agent_client_protocol::{
    Client, Result,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateRequest, AuthenticateResponse,
            ClientCapabilities, Implementation, InitializeRequest, InitializeResponse, McpCapabilities,
            PromptCapabilities, SessionCapabilities, SessionCloseCapabilities, SessionForkCapabilities,
            SessionListCapabilities, SessionResumeCapabilities,
        },
    },
};
use parking_lot::Mutex;
use serde_json::Value;
use switchboard_agents::{Agent, Login};
use switchboard_dialects::acp::AcpClientCapabilities;
use switchboard_event::SessionConfig;

use super::{UpdateLimiter, errors, open_session::OpenSession};
use crate::Service;

/// The only way to log in: with the agent's own program.
const AGENT_LOGIN_METHOD: &str = "agent-login";

/// The agent that an editor gets, and how to run it.
#[derive(Clone)]
pub struct AcpAgentConfig {
    pub agent: &'static Agent,
    /// The settings of new sessions.
    pub config: SessionConfig,
    /// The program and its arguments, for an agent that is given by its command.
    pub command: Vec<String>,
    /// Environment variables for the agent.
    pub env: BTreeMap<String, String>,
}

/// A connection to an editor. Cheap to clone.
#[derive(Clone)]
pub struct EditorConnection(Arc<EditorState>);

struct EditorState {
    service: Service,
    agent_config: AcpAgentConfig,
    updates: UpdateLimiter,
    capabilities: Mutex<AcpClientCapabilities>,
    open: Mutex<HashMap<String, Arc<OpenSession>>>,
}

pub type EditorClient = ConnectionTo<Client>;

impl EditorConnection {
    pub fn new(service: Service, agent_config: AcpAgentConfig, updates: UpdateLimiter) -> Self {
        // The least, until `initialize` says more.
        let capabilities = AcpClientCapabilities {
            notices: false,
            compaction: false,
            forms: false,
            terminals: false,
            extensions: false,
        };
        Self(Arc::new(EditorState {
            service,
            agent_config,
            updates,
            capabilities: Mutex::new(capabilities),
            open: Mutex::default(),
        }))
    }

    pub fn service(&self) -> &Service {
        &self.0.service
    }

    pub fn agent_config(&self) -> &AcpAgentConfig {
        &self.0.agent_config
    }

    pub fn update_limiter(&self) -> &UpdateLimiter {
        &self.0.updates
    }

    pub fn client_capabilities(&self) -> AcpClientCapabilities {
        *self.0.capabilities.lock()
    }

    fn set_client_capabilities(&self, capabilities: AcpClientCapabilities) {
        *self.0.capabilities.lock() = capabilities;
    }

    /// Adds an opened session. Another one with the same ID is dropped, unless one of its prompts still needs an
    /// answer.
    pub fn add_session(&self, new: &Arc<OpenSession>) -> Result<()> {
        let id = new.id().to_string();
        let mut open = self.0.open.lock();
        if let Some(before) = open.get(&id) {
            check_no_prompts(before)?;
            before.stop_updates();
        }
        open.insert(id, new.clone());
        Ok(())
    }

    /// Fails if a session is open and one of its prompts still needs an answer.
    pub fn check_not_busy(&self, id: &str) -> Result<()> {
        let open = self.0.open.lock();
        open.get(id).map_or(Ok(()), |open| check_no_prompts(open))
    }

    /// Adds a prompt to an open session, which stays open until the prompt is answered.
    pub fn add_prompt(&self, id: &str, text: &str) -> Result<(Arc<OpenSession>, u64)> {
        let open = self.0.open.lock();
        let open = open.get(id).ok_or_else(|| errors::not_open(id))?;
        let prompt = open.prompts().add(text);
        Ok((open.clone(), prompt))
    }

    pub fn find_session(&self, id: &str) -> Result<Arc<OpenSession>> {
        let open = self.0.open.lock();
        open.get(id).cloned().ok_or_else(|| errors::not_open(id))
    }

    pub fn remove_session(&self, id: &str) -> Result<Arc<OpenSession>> {
        let mut open = self.0.open.lock();
        open.remove(id).ok_or_else(|| errors::not_open(id))
    }

    /// Stops sending updates, because the editor is gone.
    pub fn stop_updates(&self) {
        let open = std::mem::take(&mut *self.0.open.lock());
        open.values().for_each(|open| open.stop_updates());
    }
}

fn check_no_prompts(open: &OpenSession) -> Result<()> {
    if open.prompts().is_empty() { Ok(()) } else { Err(errors::busy(open.id())) }
}

impl EditorConnection {
    pub fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        self.set_client_capabilities(client_capabilities(&request.client_capabilities));
        let agent = self.agent_config().agent;
        let title = format!("{} by Switchboard", agent.title);
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(self.capabilities())
            .agent_info(Implementation::new("switchboard", env!("CARGO_PKG_VERSION")).title(title))
            .auth_methods(self.auth_methods())
    }

    fn capabilities(&self) -> AgentCapabilities {
        let can = self.agent_config().agent.abilities;
        let mut sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new());
        if can.fork {
            sessions = sessions.fork(SessionForkCapabilities::new());
        }
        AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(can.images).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(can.mcp).sse(can.mcp))
            .session_capabilities(sessions)
    }

    fn login(&self) -> Login {
        (self.agent_config().agent.login)(&self.service().config().host)
    }

    /// Returns how to log in, if the agent is known not to be logged in.
    fn auth_methods(&self) -> Vec<AuthMethod> {
        let Login::No(how) = self.login() else { return Vec::new() };
        let name = format!("Log in to {}", self.agent_config().agent.title);
        vec![AuthMethod::Agent(AuthMethodAgent::new(AGENT_LOGIN_METHOD, name).description(how))]
    }

    /// Fails if the agent is known not to be logged in.
    pub fn check_login(&self) -> Result<()> {
        match self.login() {
            Login::No(how) => Err(errors::login_required(self.agent_config().agent.title, &how)),
            Login::Yes(_) | Login::Unknown | Login::NotNeeded => Ok(()),
        }
    }

    /// Checks the login; logging in is done with the agent's own program.
    pub fn authenticate(&self, request: &AuthenticateRequest) -> Result<AuthenticateResponse> {
        let method = &*request.method_id.0;
        if method != AGENT_LOGIN_METHOD {
            return Err(errors::invalid_params(format!(
                "unknown authentication method {method}; use {AGENT_LOGIN_METHOD}"
            )));
        }
        self.check_login().map(|()| AuthenticateResponse::new())
    }
}

fn client_capabilities(client: &ClientCapabilities) -> AcpClientCapabilities {
    let session = client.session.as_ref();
    let extension = |name: &str| client.meta.as_ref().and_then(|meta| meta.get(name)).and_then(Value::as_bool);
    AcpClientCapabilities {
        notices: session.is_some_and(|session| session.notices.is_some()),
        compaction: session.is_some_and(|session| session.compaction.is_some()),
        forms: client.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some()),
        // The name that editors already use for it.
        terminals: extension("terminal_output") == Some(true),
        extensions: extension("switchboard") == Some(true),
    }
}
