//! `session/new`, `session/load`, `session/resume`, `session/fork`, `session/list` and `session/close`.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use agent_client_protocol::{
    Error, Result,
    v1::schema::{
        CloseSessionRequest, CloseSessionResponse, ForkSessionRequest, ForkSessionResponse, ListSessionsRequest,
        ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest,
        NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse, SessionConfigOption, SessionInfo,
        SessionModeState,
    },
};
use switchboard_dialects::acp::AgentConfigOptions;
use switchboard_event::{Event, EventBody, Fault, Kind, McpServerConfig, McpTransport, SessionConfig, SessionEnded};
use switchboard_store::{PageQuery, SessionFilter, SessionLog, SessionRecord, StoreError};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    editor::{EditorClient, EditorConnection},
    errors,
    open_session::{EventAge, OpenSession, UpdateForwarder},
    request_settings::{RequestWithSettings, conflict},
    settings,
};
use crate::{
    conversation::{Conversation, NewConversation},
    service::SessionLocation,
};

/// The maximum time for a ready agent to report its settings, and the pause after which they count as complete.
const CAPABILITIES_TIMEOUT: Duration = Duration::from_secs(3);

const CAPABILITIES_PAUSE: Duration = Duration::from_millis(300);

const SESSIONS_PER_PAGE: usize = 50;

const MAX_TITLE_BYTES: usize = 80;

/// The turns to search for the first prompt.
const FIRST_TURNS: PageQuery = PageQuery { after: 0, limit: 8, max_bytes: 256 << 10, kinds: &[Kind::TurnStarted] };

/// The settings of an agent in the form of responses.
struct AcpSettings {
    modes: Option<SessionModeState>,
    options: Option<Vec<SessionConfigOption>>,
}

impl EditorConnection {
    /// Starts a session. Its updates follow the response.
    pub async fn new_session(
        &self,
        request: RequestWithSettings<NewSessionRequest>,
        client: EditorClient,
    ) -> Result<(NewSessionResponse, UpdateForwarder)> {
        self.check_login()?;
        let RequestWithSettings { request, settings: given } = request;
        let agent_config = self.agent_config();
        let mut config = SessionConfig {
            working_directory: Some(check_directory(&request.cwd)?),
            mcp_servers: to_mcp_servers(request.mcp_servers),
            ..agent_config.config.clone()
        };
        config.add_given(&given.config).map_err(|error| conflict(&error))?;
        let agent = agent_config.agent.name.to_owned();
        let opening =
            NewConversation { agent, config, command: agent_config.command.clone(), env: agent_config.env.clone() };
        let conversation = self.service().start_conversation(opening).await?;
        let (open, settings) = self.open_started(conversation, client).await?;
        self.service().report_ignored_fields(open.id(), &given.ignored).await;
        let response =
            NewSessionResponse::new(open.id().to_string()).modes(settings.modes).config_options(settings.options);
        Ok((response, UpdateForwarder::new(self, &open).await?))
    }

    /// Opens a session whose agent was just started, once the agent is ready.
    async fn open_started(
        &self,
        conversation: Conversation,
        client: EditorClient,
    ) -> Result<(Arc<OpenSession>, AcpSettings)> {
        if !conversation.wait_until_ready().await {
            return Err(self.start_error(&conversation).await);
        }
        let open = Arc::new(OpenSession::new(conversation, client));
        self.wait_for_settings(open.id()).await;
        let settings = read_offered_settings(&open.conversation).await?;
        self.add_session(&open)?;
        Ok((open, settings))
    }

    /// Waits until an agent that is ready has reported its settings. No event marks their end, so a pause does; later
    /// reports are forwarded as updates.
    async fn wait_for_settings(&self, id: &str) {
        let Some(session) = self.service().engine().session(id) else { return };
        let (mut follower, end) = (session.follow(), Instant::now() + CAPABILITIES_TIMEOUT);
        while let Ok(Ok(Ok(Some(_)))) = timeout_at(end, timeout(CAPABILITIES_PAUSE, follower.next())).await {}
    }

    /// Returns why an agent ended before it was ready.
    async fn start_error(&self, conversation: &Conversation) -> Error {
        let ended = self.service().engine().session(conversation.id());
        let fault = match ended {
            Some(session) => session.wait_for_outcome().await.error,
            None => {
                self.service().session_record(conversation.id()).await.ok().and_then(|stored| stored_fault(&stored))
            }
        };
        let unknown = || Fault::new(Default::default(), "the agent ended before it was ready");
        errors::agent_error(&fault.unwrap_or_else(unknown))
    }

    /// Opens a session of the log and sends its history before the response.
    pub async fn load(
        &self,
        request: RequestWithSettings<LoadSessionRequest>,
        client: EditorClient,
    ) -> Result<(LoadSessionResponse, UpdateForwarder)> {
        let (open, updates) = self
            .open_stored(&request.request.session_id.0, request.request.mcp_servers, client, EventAge::Replayed)
            .await?;
        let settings = read_offered_settings(&open.conversation).await?;
        Ok((LoadSessionResponse::new().modes(settings.modes).config_options(settings.options), updates))
    }

    /// Opens a session of the log without its history, which the editor has.
    pub async fn resume(
        &self,
        request: RequestWithSettings<ResumeSessionRequest>,
        client: EditorClient,
    ) -> Result<(ResumeSessionResponse, UpdateForwarder)> {
        let (open, updates) = self
            .open_stored(&request.request.session_id.0, request.request.mcp_servers, client, EventAge::Known)
            .await?;
        let settings = read_offered_settings(&open.conversation).await?;
        Ok((ResumeSessionResponse::new().modes(settings.modes).config_options(settings.options), updates))
    }

    async fn open_stored(
        &self,
        id: &str,
        given: Vec<McpServer>,
        client: EditorClient,
        age: EventAge,
    ) -> Result<(Arc<OpenSession>, UpdateForwarder)> {
        self.check_not_busy(id)?;
        let conversation = self.service().find_conversation(id).await?;
        let open = Arc::new(OpenSession::new(conversation, client));
        if let SessionLocation::Ended(_) = self.service().locate_session(id).await? {
            open.set_servers(to_mcp_servers(given));
        }
        let head = self.service().session_record(id).await?.head;
        let mut updates = UpdateForwarder::new(self, &open).await?;
        updates.catch_up(head, age).await?;
        self.add_session(&open)?;
        Ok((open, updates))
    }

    /// Continues a copy of a session.
    pub async fn fork(
        &self,
        request: RequestWithSettings<ForkSessionRequest>,
        client: EditorClient,
    ) -> Result<(ForkSessionResponse, UpdateForwarder)> {
        let RequestWithSettings { request, settings: given } = request;
        let id = &*request.session_id.0;
        let mut config = SessionConfig { mcp_servers: to_mcp_servers(request.mcp_servers), ..SessionConfig::default() };
        config.add_given(&given.config).map_err(|error| conflict(&error))?;
        let conversation = self.service().fork_conversation(id, config).await?;
        let (open, settings) = self.open_started(conversation, client).await?;
        self.service().report_ignored_fields(open.id(), &given.ignored).await;
        let response =
            ForkSessionResponse::new(open.id().to_string()).modes(settings.modes).config_options(settings.options);
        Ok((response, UpdateForwarder::new(self, &open).await?))
    }

    /// Lists the agent's sessions, newest first.
    pub async fn list(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse> {
        let before = match request.cursor.as_deref().map(str::parse) {
            None => None,
            Some(Ok(before)) => Some(before),
            Some(Err(_)) => return Err(errors::invalid_params("invalid cursor")),
        };
        let filter = SessionFilter {
            agent: Some(self.agent_config().agent.name.to_owned()),
            cwd: request.cwd.as_deref().map(canonical_directory).transpose()?,
            archived: Some(false),
            before,
            limit: Some(SESSIONS_PER_PAGE),
            ..SessionFilter::default()
        };
        let found = self.service().query_log(move |log| list_sessions(log, &filter)).await?;
        Ok(ListSessionsResponse::new(found.sessions).next_cursor(found.next))
    }

    /// Closes a session: its turn is stopped and its agent ends. The log keeps it.
    pub async fn close(&self, request: &CloseSessionRequest) -> Result<CloseSessionResponse> {
        let open = self.remove_session(&request.session_id.0)?;
        open.count_cancel();
        if open.prompts().cancel() {
            open.clone().stop();
        }
        open.conversation.close().await;
        // Queued prompts are answered before their updates stop.
        drop(open.prompt_lock.lock().await);
        open.stop_updates();
        Ok(CloseSessionResponse::new())
    }
}

async fn read_offered_settings(conversation: &Conversation) -> Result<AcpSettings> {
    let offered = AgentConfigOptions::from(&conversation.info().await?);
    let modes = offered.session_modes().map(serde_json::to_value).transpose().map_err(Error::into_internal_error)?;
    let modes = modes.map(serde_json::from_value).transpose().map_err(Error::into_internal_error)?;
    let options = settings::to_acp_options(&offered.config_options())?;
    Ok(AcpSettings { modes, options: (!options.is_empty()).then_some(options) })
}

fn check_directory(cwd: &Path) -> Result<String> {
    if !cwd.is_absolute() {
        return Err(errors::invalid_params(format!("cwd: {} is not an absolute path", cwd.display())));
    }
    Ok(cwd.to_string_lossy().into_owned())
}

/// Returns a directory as the log has it, without symbolic links.
fn canonical_directory(cwd: &Path) -> Result<String> {
    let folder = check_directory(cwd)?;
    Ok(std::fs::canonicalize(cwd).map_or(folder, |real| real.to_string_lossy().into_owned()))
}

fn to_mcp_servers(given: Vec<McpServer>) -> BTreeMap<String, McpServerConfig> {
    given.into_iter().filter_map(to_mcp_server).collect()
}

fn to_mcp_server(given: McpServer) -> Option<(String, McpServerConfig)> {
    let (http, sse) = (Some(McpTransport::Http), Some(McpTransport::Sse));
    match given {
        McpServer::Stdio(server) => {
            let env = server.env.into_iter().map(|variable| (variable.name, variable.value)).collect();
            let command = Some(server.command.to_string_lossy().into_owned());
            Some((server.name, McpServerConfig { command, args: server.args, env, ..McpServerConfig::default() }))
        }
        McpServer::Http(server) => Some(remote_mcp_server(
            server.name,
            server.url,
            http,
            server.headers.into_iter().map(|h| (h.name, h.value)),
        )),
        McpServer::Sse(server) => {
            Some(remote_mcp_server(server.name, server.url, sse, server.headers.into_iter().map(|h| (h.name, h.value))))
        }
        _ => None,
    }
}

fn remote_mcp_server(
    name: String,
    url: String,
    transport: Option<McpTransport>,
    headers: impl Iterator<Item = (String, String)>,
) -> (String, McpServerConfig) {
    (name, McpServerConfig { url: Some(url), transport, headers: headers.collect(), ..McpServerConfig::default() })
}

fn stored_fault(stored: &SessionRecord) -> Option<Fault> {
    let end: SessionEnded = serde_json::from_str(stored.end.as_ref()?.get()).ok()?;
    end.error
}

pub struct SessionListPage {
    pub sessions: Vec<SessionInfo>,
    pub next: Option<String>,
}

/// Lists matching sessions, newest first, without those that never had a turn.
pub fn list_sessions(log: &dyn SessionLog, filter: &SessionFilter) -> Result<SessionListPage, StoreError> {
    let found = log.list_sessions(filter)?;
    let next = found.last().filter(|_| found.len() == SESSIONS_PER_PAGE).map(|last| last.number.to_string());
    let used = found.iter().filter(|session| session.turns > 0);
    let sessions = used
        .map(|session| Ok(session_info(session, session_title(log, session)?)))
        .collect::<Result<_, StoreError>>()?;
    Ok(SessionListPage { sessions, next })
}

fn session_info(session: &SessionRecord, title: String) -> SessionInfo {
    SessionInfo::new(session.id.to_string(), session.cwd.clone())
        .title(Some(title).filter(|title| !title.is_empty()))
        .updated_at(session.updated.to_string())
}

fn session_title(log: &dyn SessionLog, session: &SessionRecord) -> Result<String, StoreError> {
    let title = session.title.as_deref().unwrap_or(&session.prompt);
    let title = if title.trim().is_empty() { first_prompt(log, session)? } else { title.to_owned() };
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(title.get(..title.floor_char_boundary(MAX_TITLE_BYTES)).unwrap_or_default().to_owned())
}

/// Returns the first prompt of a session that was started without one.
fn first_prompt(log: &dyn SessionLog, session: &SessionRecord) -> Result<String, StoreError> {
    let (rows, _) = log.read_sound_rows(&session.id, FIRST_TURNS)?;
    let first = rows.iter().find_map(|row| match Event::from_json(&row.json).ok()?.body {
        EventBody::TurnStarted(turn) => turn.prompt,
        _ => None,
    });
    Ok(first.unwrap_or_default())
}
