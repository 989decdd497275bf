//! `initialize` and `authenticate`: what this agent can do, and whether somebody has to log in.

use agent_client_protocol::{
    Result,
    schema::ProtocolVersion,
    v1::schema::{
        AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateRequest, AuthenticateResponse, ClientCapabilities,
        Implementation, InitializeRequest, InitializeResponse, McpCapabilities, PromptCapabilities,
        SessionCapabilities, SessionCloseCapabilities, SessionForkCapabilities, SessionListCapabilities,
        SessionResumeCapabilities,
    },
};
use serde_json::Value;
use switchboard_agents::Login;
use switchboard_dialects::acp::AcpClientCapabilities;

use super::{editor::Editor, errors};

/// The only way to log in that there is: the agent's own.
const LOGIN: &str = "agent-login";

impl Editor {
    pub fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        self.can_show(shows(&request.client_capabilities));
        let agent = self.front().agent;
        let title = format!("{} by Switchboard", agent.title);
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(self.capabilities())
            .agent_info(Implementation::new("switchboard", env!("CARGO_PKG_VERSION")).title(title))
            .auth_methods(self.auth_methods())
    }

    fn capabilities(&self) -> AgentCapabilities {
        let can = self.front().agent.abilities;
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
        (self.front().agent.login)(&self.service().setup().machine)
    }

    /// How to log in, where that is known to be missing.
    fn auth_methods(&self) -> Vec<AuthMethod> {
        let Login::No(how) = self.login() else { return Vec::new() };
        let name = format!("Log in to {}", self.front().agent.title);
        vec![AuthMethod::Agent(AuthMethodAgent::new(LOGIN, name).description(how))]
    }

    /// Fails if the agent is known not to be logged in.
    pub fn check_login(&self) -> Result<()> {
        match self.login() {
            Login::No(how) => Err(errors::login(self.front().agent.title, &how)),
            Login::Yes(_) | Login::Unknown | Login::NotNeeded => Ok(()),
        }
    }

    /// Logging in is done with the agent's own program. This only says whether it was done.
    pub fn authenticate(&self, request: &AuthenticateRequest) -> Result<AuthenticateResponse> {
        let method = &*request.method_id.0;
        if method != LOGIN {
            return Err(errors::invalid(format!("there is no way to log in that is called {method}, only {LOGIN}")));
        }
        self.check_login().map(|()| AuthenticateResponse::new())
    }
}

/// What an editor can show.
fn shows(client: &ClientCapabilities) -> AcpClientCapabilities {
    let session = client.session.as_ref();
    let said = |name: &str| client.meta.as_ref().and_then(|meta| meta.get(name)).and_then(Value::as_bool);
    AcpClientCapabilities {
        notices: session.is_some_and(|session| session.notices.is_some()),
        compaction: session.is_some_and(|session| session.compaction.is_some()),
        forms: client.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some()),
        // The word that editors already have for it.
        terminals: said("terminal_output") == Some(true),
        extensions: said("switchboard") == Some(true),
    }
}
