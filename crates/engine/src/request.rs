//! Requests to the engine, the sessions that they continue, and the errors of refused ones.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use switchboard_agents::{AgentPrompt, UnsupportedOperation};
use switchboard_event::{Id, SessionConfig, Usage};
use switchboard_store::{SessionLog, StoreError};
use thiserror::Error;

use crate::{paths::WorkingDirectory, supervise::LaunchError};

/// A session to start, or to continue.
#[derive(Clone, Debug, Default)]
pub struct StartRequest {
    /// The agent. May be left empty when a session is continued.
    pub agent: String,
    /// The first prompt; a session that stays open may start without one.
    pub prompt: Option<AgentPrompt>,
    pub config: SessionConfig,
    /// The working directory, if the caller has opened and checked it. Otherwise the one in the settings is used.
    pub working_directory: Option<WorkingDirectory>,
    /// The session of the log to continue.
    pub resume: Option<Id>,
    /// The session to continue that only the agent has. It becomes a session of the log.
    pub adopt: Option<AdoptedSession>,
    /// Continue a copy of it, as a session of its own.
    pub fork: bool,
    /// Use the agent's simplest form, which cannot ask for approvals.
    pub one_shot: bool,
    /// The program and its arguments, for an agent that is named by its command.
    pub command: Vec<String>,
    /// Variables to set for the agent.
    pub env: BTreeMap<String, String>,
    /// Pass on only these variables and those that every agent needs.
    pub env_only: Option<Vec<String>>,
    pub audience: RequestAudience,
    /// Keep the session open for further prompts after a turn.
    pub stay: bool,
    /// Start even if the kernel cannot enforce all of the sandbox.
    pub sandbox_best_effort: bool,
    pub timeouts: SessionTimeouts,
    /// Remarks about the request itself, reported at the start of the session.
    pub remarks: Vec<String>,
}

/// A session that the agent has and the log does not, for example one that was started in a terminal.
#[derive(Clone, Debug, Default)]
pub struct AdoptedSession {
    /// The agent's own ID of it.
    pub session: Id,
    /// The usage so far, if known: some agents continue counting from there.
    pub usage: Option<Usage>,
}

/// The receiver of requests that the settings do not decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestAudience {
    /// Requests that need an answer are declined at once.
    #[default]
    None,
    /// A client follows the session and can answer.
    Client,
}

#[derive(Clone, Copy, Debug)]
pub struct SessionTimeouts {
    /// From the start to the end of the session.
    pub total: Option<Duration>,
    /// Without agent output during a turn.
    pub idle: Option<Duration>,
    /// Without a turn, in a session that stays open between turns.
    pub unused: Option<Duration>,
    /// Until the agent is ready for a prompt.
    pub handshake: Duration,
    /// Until a request is declined.
    pub approval: Duration,
}

impl Default for SessionTimeouts {
    fn default() -> Self {
        Self {
            total: None,
            idle: Some(Duration::from_secs(30 * 60)),
            unused: Some(Duration::from_secs(30 * 60)),
            handshake: Duration::from_secs(90),
            approval: Duration::from_secs(30 * 60),
        }
    }
}

/// The session that a new run continues: one in the log, or one that only its agent has.
pub(crate) struct ResumeTarget {
    /// Switchboard's ID of it.
    pub id: Id,
    /// The agent's own ID of it; `None` if it had no turn yet, since the agent has stored nothing then.
    pub agent_session: Option<Id>,
    /// The last event of the session.
    pub last_seq: u64,
    /// The number of runs so far.
    pub runs: u32,
    /// The number of turns so far.
    pub turns: u32,
    /// The usage so far, if known.
    pub usage: Option<Usage>,
    /// The session in the log is continued. Otherwise a new one begins, from a session of the agent or a copy.
    pub is_in_log: bool,
}

impl ResumeTarget {
    /// Returns the session that a request continues. Its settings apply unless the request overrides them.
    pub fn find(log: &dyn SessionLog, request: &mut StartRequest) -> Result<Option<Self>, StartError> {
        let Some(id) = request.resume.clone() else { return Ok(request.adopt.as_ref().map(Self::from_adopted)) };
        let session = log.get_session(&id)?.ok_or_else(|| StartError::NoSession(format!("no session {id}")))?;
        if request.agent.is_empty() {
            request.agent = session.agent.to_string();
        }
        if request.agent != *session.agent {
            let text = format!("session {id} belongs to {}; {} cannot continue it", session.agent, request.agent);
            return Err(StartError::NoSession(text));
        }
        let agent_session = session.agent_session.clone().filter(|_| session.turns > 0);
        if agent_session.is_none() && (session.turns > 0 || request.fork) {
            let text = format!("cannot continue session {id}: it ended before the agent began");
            return Err(StartError::NoSession(text));
        }
        request.config = merge_configs(std::mem::take(&mut request.config), session.parse_config()?);
        let usage = session.carry.as_ref().and_then(|carry| serde_json::from_str(carry.get()).ok()).unwrap_or_default();
        Ok(Some(Self {
            id,
            agent_session,
            last_seq: session.head,
            runs: session.runs,
            turns: session.turns,
            usage: Some(usage),
            is_in_log: true,
        }))
    }

    fn from_adopted(adopted: &AdoptedSession) -> Self {
        Self {
            id: Id::default(),
            agent_session: Some(adopted.session.clone()),
            last_seq: 0,
            runs: 0,
            turns: 0,
            usage: adopted.usage.clone(),
            is_in_log: false,
        }
    }
}

/// Merges settings: those of a request, and those of the session where the request has none.
fn merge_configs(request: SessionConfig, session: SessionConfig) -> SessionConfig {
    SessionConfig {
        agent_type: request.agent_type.or(session.agent_type),
        project_id: request.project_id.or(session.project_id),
        working_directory: request.working_directory.or(session.working_directory),
        model: request.model.or(session.model),
        approval_mode: request.approval_mode.or(session.approval_mode),
        sandbox_mode: request.sandbox_mode.or(session.sandbox_mode),
        allowed_tools: request.allowed_tools.or(session.allowed_tools),
        blocked_tools: request.blocked_tools.or(session.blocked_tools),
        max_turns: request.max_turns.or(session.max_turns),
        mcp_servers: if request.mcp_servers.is_empty() { session.mcp_servers } else { request.mcp_servers },
        mode: request.mode.or(session.mode),
        options: session.options.into_iter().chain(request.options).collect(),
        writable_roots: request.writable_roots.or(session.writable_roots),
        writable_paths: request.writable_paths.or(session.writable_paths),
        network_access: request.network_access.or(session.network_access),
        allowed_domains: request.allowed_domains.or(session.allowed_domains),
        published_ports: request.published_ports.or(session.published_ports),
        // They chose where the session was started.
        node: None,
        labels: None,
    }
}

/// The reason why a session did not start.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("no agent named `{0}`\nhint: run `switchboard agents` for a list")]
    UnknownAgent(String),
    #[error("{title} is not installed: `{program}` not found on PATH{}", hint_line(.install.as_deref().map(|i| format!("install it with: {i}"))))]
    NotInstalled { title: String, program: String, install: Option<String> },
    /// The program is given as a path.
    #[error("{0}: no such file")]
    NoSuchFile(String),
    /// The program is named by a variable.
    #[error("no program `{program}`{}", hint_line(Some(.hint.clone())))]
    NoSuchProgram { program: String, hint: String },
    #[error("{title} {version} is too old: {oldest} or newer is required{}", hint_line(.install.as_deref().map(|i| format!("update it with: {i}"))))]
    TooOld { title: String, version: String, oldest: String, install: Option<String> },
    #[error("cannot use directory {}: {cause}", .path.display())]
    BadDirectory { path: PathBuf, cause: String },
    #[error(transparent)]
    Unsupported(#[from] UnsupportedOperation),
    #[error("{0}")]
    BadRequest(String),
    /// The session to continue does not exist or cannot be continued.
    #[error("{0}")]
    NoSession(String),
    #[error("session {0} is already running")]
    AlreadyRunning(Id),
    #[error("{}{}", .0, hint_line(.0.hint()))]
    Launch(#[from] LaunchError),
    /// The files of the session could not be created.
    #[error("cannot prepare {}: {cause}", .path.display())]
    Files { path: PathBuf, cause: std::io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a command to a running session failed.
#[derive(Clone, Debug, Error)]
pub enum CommandError {
    #[error("the session has ended")]
    Ended,
    #[error(transparent)]
    Unsupported(#[from] UnsupportedOperation),
    #[error("the request is not open: it was answered, withdrawn, or never made")]
    NotOpen,
    /// The answer is invalid for this request.
    #[error("{0}")]
    BadAnswer(String),
}

fn hint_line(hint: Option<String>) -> String {
    hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default()
}
