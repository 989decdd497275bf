//! Sessions: new ones, those of the log, copies; and their end.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use agent_client_protocol::{
    Error, Result,
    v1::schema::{
        CloseSessionRequest, CloseSessionResponse, ForkSessionRequest, ForkSessionResponse, ListSessionsRequest,
        ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest,
        NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse, SessionConfigOption, SessionModeState,
    },
};
use switchboard_dialects::acp::AgentConfigOptions;
use switchboard_event::{Fault, McpServerConfig, McpTransport, SessionConfig, SessionEnded};
use switchboard_store::{SessionFilter, SessionRecord};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    editor::{Editor, Line},
    errors, list,
    open::Open,
    pump::{Pump, Tense},
    settings,
};
use crate::{
    conversation::{Conversation, Opening},
    service::Place,
};

/// How long an agent that is ready may take to say what it offers, and how long a pause means that it has.
const PATIENCE: Duration = Duration::from_secs(3);
const QUIET: Duration = Duration::from_millis(300);

/// What an agent offers, as answers have it.
struct Offers {
    modes: Option<SessionModeState>,
    options: Option<Vec<SessionConfigOption>>,
}

impl Editor {
    /// Opens a new session. What follows is told when the editor knows its id.
    pub async fn new_session(&self, request: NewSessionRequest, line: Line) -> Result<(NewSessionResponse, Pump)> {
        self.check_login()?;
        let front = self.front();
        let config = SessionConfig {
            working_directory: Some(folder(&request.cwd)?),
            mcp_servers: servers(request.mcp_servers),
            ..front.config.clone()
        };
        let agent = front.agent.name.to_owned();
        let opening = Opening { agent, config, command: front.command.clone(), env: front.env.clone() };
        let conversation = self.service().converse(opening).await?;
        let (open, offers) = self.begun(conversation, line).await?;
        let response =
            NewSessionResponse::new(open.id().to_string()).modes(offers.modes).config_options(offers.options);
        Ok((response, Pump::new(self, &open).await?))
    }

    /// A session whose agent was just started, when that is ready.
    async fn begun(&self, conversation: Conversation, line: Line) -> Result<(Arc<Open>, Offers)> {
        if !conversation.ready().await {
            return Err(self.why_not(&conversation).await);
        }
        let open = Arc::new(Open::new(conversation, line));
        self.said_all(open.id()).await;
        let offers = offers(&open.conversation).await?;
        self.keep(&open)?;
        Ok((open, offers))
    }

    /// Waits until an agent that is ready has said what it offers. None says that this was all; it is when nothing more
    /// comes. What comes later is told later.
    async fn said_all(&self, id: &str) {
        let Some(session) = self.service().engine().session(id) else { return };
        let (mut follower, end) = (session.follow(), Instant::now() + PATIENCE);
        while let Ok(Ok(Ok(Some(_)))) = timeout_at(end, timeout(QUIET, follower.next())).await {}
    }

    /// Why an agent ended before it was ready.
    async fn why_not(&self, conversation: &Conversation) -> Error {
        let ended = self.service().engine().session(conversation.id());
        let fault = match ended {
            Some(session) => session.wait_for_outcome().await.error,
            None => self.service().stored(conversation.id()).await.ok().and_then(|stored| fault(&stored)),
        };
        let silent = || Fault::new(Default::default(), "the agent ended before it was ready");
        errors::fault(&fault.unwrap_or_else(silent))
    }

    /// Takes up a session of the log, and tells all of it before the answer.
    pub async fn load(&self, request: LoadSessionRequest, line: Line) -> Result<(LoadSessionResponse, Pump)> {
        let (open, pump) = self.take_up(&request.session_id.0, request.mcp_servers, line, Tense::Told).await?;
        let offers = offers(&open.conversation).await?;
        Ok((LoadSessionResponse::new().modes(offers.modes).config_options(offers.options), pump))
    }

    /// The same for an editor that knows what was said.
    pub async fn resume(&self, request: ResumeSessionRequest, line: Line) -> Result<(ResumeSessionResponse, Pump)> {
        let (open, pump) = self.take_up(&request.session_id.0, request.mcp_servers, line, Tense::Known).await?;
        let offers = offers(&open.conversation).await?;
        Ok((ResumeSessionResponse::new().modes(offers.modes).config_options(offers.options), pump))
    }

    async fn take_up(&self, id: &str, given: Vec<McpServer>, line: Line, tense: Tense) -> Result<(Arc<Open>, Pump)> {
        self.check_free(id)?;
        let conversation = self.service().take_up(id).await?;
        let open = Arc::new(Open::new(conversation, line));
        if let Place::Ended(_) = self.service().place(id).await? {
            open.give_servers(servers(given));
        }
        let head = self.service().stored(id).await?.head;
        let mut pump = Pump::new(self, &open).await?;
        pump.catch_up(head, tense).await?;
        self.keep(&open)?;
        Ok((open, pump))
    }

    /// Continues a copy of a session.
    pub async fn fork(&self, request: ForkSessionRequest, line: Line) -> Result<(ForkSessionResponse, Pump)> {
        let id = &*request.session_id.0;
        let config = SessionConfig { mcp_servers: servers(request.mcp_servers), ..SessionConfig::default() };
        let conversation = self.service().copy(id, config).await?;
        let (open, offers) = self.begun(conversation, line).await?;
        let response =
            ForkSessionResponse::new(open.id().to_string()).modes(offers.modes).config_options(offers.options);
        Ok((response, Pump::new(self, &open).await?))
    }

    /// The agent's sessions of the log, the latest first.
    pub async fn list(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse> {
        let before = match request.cursor.as_deref().map(str::parse) {
            None => None,
            Some(Ok(before)) => Some(before),
            Some(Err(_)) => return Err(errors::invalid("a cursor that was never given")),
        };
        let filter = SessionFilter {
            agent: Some(self.front().agent.name.to_owned()),
            cwd: request.cwd.as_deref().map(real).transpose()?,
            archived: Some(false),
            before,
            limit: Some(list::PAGE),
            ..SessionFilter::default()
        };
        let found = self.service().ask(move |log| list::page(log, &filter)).await?;
        Ok(ListSessionsResponse::new(found.sessions).next_cursor(found.next))
    }

    /// The editor is done with a session. What is going on is stopped, and the agent ends; the log keeps it.
    pub async fn close(&self, request: &CloseSessionRequest) -> Result<CloseSessionResponse> {
        let open = self.forget(&request.session_id.0)?;
        open.cancelled();
        if open.tickets().cancel() {
            open.clone().stop();
        }
        open.conversation.close().await;
        // Prompts that wait are answered before nobody tells how they end.
        drop(open.gate.lock().await);
        open.leave();
        Ok(CloseSessionResponse::new())
    }
}

async fn offers(conversation: &Conversation) -> Result<Offers> {
    let offered = AgentConfigOptions::from(&conversation.info().await?);
    let modes = offered.session_modes().map(serde_json::to_value).transpose().map_err(Error::into_internal_error)?;
    let modes = modes.map(serde_json::from_value).transpose().map_err(Error::into_internal_error)?;
    let options = settings::wire(&offered.config_options())?;
    Ok(Offers { modes, options: (!options.is_empty()).then_some(options) })
}

/// A folder as the protocol wants it.
fn folder(cwd: &Path) -> Result<String> {
    if !cwd.is_absolute() {
        return Err(errors::invalid(format!("cwd: {} is not an absolute path", cwd.display())));
    }
    Ok(cwd.to_string_lossy().into_owned())
}

/// A folder as the log has it: without detours.
fn real(cwd: &Path) -> Result<String> {
    let folder = folder(cwd)?;
    Ok(std::fs::canonicalize(cwd).map_or(folder, |real| real.to_string_lossy().into_owned()))
}

/// Servers by name.
fn servers(given: Vec<McpServer>) -> BTreeMap<String, McpServerConfig> {
    given.into_iter().filter_map(server).collect()
}

fn server(given: McpServer) -> Option<(String, McpServerConfig)> {
    let (http, sse) = (Some(McpTransport::Http), Some(McpTransport::Sse));
    match given {
        McpServer::Stdio(own) => {
            let env = own.env.into_iter().map(|variable| (variable.name, variable.value)).collect();
            let command = Some(own.command.to_string_lossy().into_owned());
            Some((own.name, McpServerConfig { command, args: own.args, env, ..McpServerConfig::default() }))
        }
        McpServer::Http(own) => Some(at(own.name, own.url, http, own.headers.into_iter().map(|h| (h.name, h.value)))),
        McpServer::Sse(own) => Some(at(own.name, own.url, sse, own.headers.into_iter().map(|h| (h.name, h.value)))),
        _ => None,
    }
}

fn at(
    name: String,
    url: String,
    transport: Option<McpTransport>,
    headers: impl Iterator<Item = (String, String)>,
) -> (String, McpServerConfig) {
    (name, McpServerConfig { url: Some(url), transport, headers: headers.collect(), ..McpServerConfig::default() })
}

/// Why a session failed, as the log has it.
fn fault(stored: &SessionRecord) -> Option<Fault> {
    let end: SessionEnded = serde_json::from_str(stored.end.as_ref()?.get()).ok()?;
    end.error
}
