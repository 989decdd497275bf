//! The state and the queries behind all operations. Cheap to clone.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_client::{SandboxView, http::SocketPath};
pub use switchboard_client::{SessionLifecycle, SessionView};
use switchboard_cluster::ClusterLog;
use switchboard_dialects::Dialect;
use switchboard_engine::{
    Engine, HostEnvironment, SessionHandle, SessionTimeouts,
    paths::{LocatedFile, WorkingDirectory},
    session_lifecycle, session_view,
    supervise::{SandboxFeature, SandboxReport},
};
use switchboard_event as event;
use switchboard_event::{ApprovalMode, Id, Timestamp};
use switchboard_logs::AgentHome;
use switchboard_store::{SessionLog, SessionPhase, SessionRecord, StoreError};
use tokio::{
    net::UnixStream,
    sync::{OwnedSemaphorePermit, Semaphore},
};

use crate::{
    Drain, Problem,
    agent_inventory::AgentInventory,
    consumers::SharedSessions,
    conversation::CapabilityCache,
    feed::{FeedRegistry, FeedStart, SessionReader},
    logs::{self, SharedLogLibrary},
    metrics::Metrics,
    nodes::{RecentPlacements, SessionPeer},
    page::{BoardUpdates, SessionSummaries, TimelineCache, TranscriptCache},
};

/// How often a session that is starting or ending is looked up, and the time between two attempts.
const MAX_LOCATE_ATTEMPTS: usize = 100;

const LOCATE_INTERVAL: Duration = Duration::from_millis(20);

/// The configuration of a server.
pub struct ServiceConfig {
    pub engine: Engine,
    /// The environment in which agents are looked up.
    pub host: HostEnvironment,
    /// The data directory, with the log and the sockets of all processes that share it.
    pub data: PathBuf,
    /// The number of this process among those; `None` if the log cannot be written.
    pub owner: Option<u64>,
    /// The log that this server shares with other nodes, if it is one of a cluster.
    pub cluster: Option<Arc<ClusterLog>>,
    /// The working directory of sessions that name none.
    pub cwd: PathBuf,
    /// The directories in which sessions may work; empty for any.
    pub roots: Vec<PathBuf>,
    /// The timeouts of requests that set none.
    pub timeouts: SessionTimeouts,
    /// The maximum number of sessions that run here.
    pub max_sessions: Option<usize>,
    /// The approval mode of requests that set none.
    pub approval_mode: ApprovalMode,
    /// Signals the shutdown to streams.
    pub drain: Drain,
    /// The directories with the agents' logs.
    pub homes: Vec<AgentHome>,
    /// The time zone of requests that name none.
    pub time_zone: TimeZone,
}

/// The operations of a server, independent of the protocol.
#[derive(Clone)]
pub struct Service(Arc<ServiceState>);

struct ServiceState {
    config: ServiceConfig,
    metrics: Metrics,
    agents: AgentInventory,
    feeds: Arc<FeedRegistry>,
    capabilities: CapabilityCache,
    shared_sessions: SharedSessions,
    logs: SharedLogLibrary,
    timelines: TimelineCache,
    summaries: SessionSummaries,
    transcripts: TranscriptCache,
    board_updates: BoardUpdates,
    placements: RecentPlacements,
    started: Instant,
    accepts_sessions: bool,
    session_slots: Arc<Semaphore>,
}

pub enum SessionLocation {
    /// This process runs it.
    Here(SessionHandle),
    /// No process runs it.
    Ended(Box<SessionRecord>),
    /// Another process runs it.
    Elsewhere(SessionPeer),
}

impl Service {
    #[must_use]
    pub fn new(config: ServiceConfig) -> Self {
        Self::with(config, true)
    }

    /// Creates the service of a process that ends with its current sessions: clients can control these, but not start
    /// any.
    #[must_use]
    pub fn for_current_sessions(config: ServiceConfig) -> Self {
        Self::with(config, false)
    }

    fn with(config: ServiceConfig, accepts_sessions: bool) -> Self {
        let agents = AgentInventory::new(config.host.clone());
        let (feeds, capabilities, shared_sessions) =
            (Arc::default(), CapabilityCache::default(), SharedSessions::default());
        let logs = SharedLogLibrary::new(config.homes.clone(), config.data.clone(), config.engine.log().clone());
        let started = Instant::now();
        let session_slots = Arc::new(Semaphore::new(config.max_sessions.unwrap_or(Semaphore::MAX_PERMITS)));
        let metrics = Metrics::new();
        let summaries = SessionSummaries::new(&config.data, config.engine.clone());
        let board_updates = BoardUpdates::new((config.host.now)().as_micros().to_string());
        Self(Arc::new(ServiceState {
            config,
            metrics,
            agents,
            feeds,
            capabilities,
            shared_sessions,
            logs,
            timelines: TimelineCache::default(),
            summaries,
            transcripts: TranscriptCache::default(),
            board_updates,
            placements: RecentPlacements::default(),
            started,
            accepts_sessions,
            session_slots,
        }))
    }

    /// Reserves one of the limited number of sessions.
    pub(crate) fn reserve_session_slot(&self) -> Result<OwnedSemaphorePermit, Problem> {
        if self.drain().is_begun() {
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", Drain::REASON));
        }
        let full = |_| {
            let detail = "session limit reached";
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_sessions", detail);
            problem.with_hint("wait for one to end, or start the server with a higher --max-sessions")
        };
        self.0.session_slots.clone().try_acquire_owned().map_err(full)
    }

    pub(crate) fn shared_sessions(&self) -> &SharedSessions {
        &self.0.shared_sessions
    }

    /// Returns whether clients can start sessions.
    #[must_use]
    pub fn accepts_sessions(&self) -> bool {
        self.0.accepts_sessions
    }

    #[must_use]
    pub fn config(&self) -> &ServiceConfig {
        &self.0.config
    }

    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.0.config.engine
    }

    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    #[must_use]
    pub fn agents(&self) -> &AgentInventory {
        &self.0.agents
    }

    pub(crate) fn capabilities(&self) -> &CapabilityCache {
        &self.0.capabilities
    }

    pub(crate) fn logs(&self) -> &SharedLogLibrary {
        &self.0.logs
    }

    pub(crate) fn timelines(&self) -> &TimelineCache {
        &self.0.timelines
    }

    pub(crate) fn summaries(&self) -> &SessionSummaries {
        &self.0.summaries
    }

    pub(crate) fn transcripts(&self) -> &TranscriptCache {
        &self.0.transcripts
    }

    pub(crate) fn board_updates(&self) -> &BoardUpdates {
        &self.0.board_updates
    }

    pub(crate) fn placements(&self) -> &RecentPlacements {
        &self.0.placements
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.config().host.now)()
    }

    pub(crate) fn time_zone(&self, name: Option<&str>) -> Result<TimeZone, Problem> {
        logs::parse_zone(name, &self.config().time_zone)
    }

    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.0.started.elapsed()
    }

    /// Queries the log on a thread that may block.
    pub async fn query_log<T: Send + 'static>(
        &self,
        query: impl FnOnce(&dyn SessionLog) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let log = self.engine().log().clone();
        let result = tokio::task::spawn_blocking(move || query(&*log)).await;
        let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the query of the log failed");
        Ok(result.map_err(failed)??)
    }

    #[must_use]
    pub fn drain(&self) -> &Drain {
        &self.0.config.drain
    }

    pub async fn open_reader(
        &self,
        session: &str,
        dialect: &'static Dialect,
        start: FeedStart,
    ) -> Result<SessionReader, Problem> {
        Ok(self.0.feeds.open(self.engine(), Id::from(session), dialect, start).await?)
    }

    pub async fn session_record(&self, id: &str) -> Result<SessionRecord, Problem> {
        let wanted = id.to_owned();
        self.query_log(move |log| log.get_session(&wanted)).await?.ok_or_else(|| Problem::no_session(id))
    }

    pub async fn session_view(&self, id: &str) -> Result<SessionView, Problem> {
        let stored = self.session_record(id).await?;
        self.view_of_record(stored).await
    }

    /// Finds out which process runs a session. Fails if the session stays between two states.
    pub async fn locate_session(&self, id: &str) -> Result<SessionLocation, Problem> {
        for _ in 0..MAX_LOCATE_ATTEMPTS {
            let stored = self.session_record(id).await?;
            if let Some(session) = self.engine().session(id).filter(|session| !session.is_over()) {
                return Ok(SessionLocation::Here(session));
            }
            if stored.state.is_final() {
                return Ok(SessionLocation::Ended(Box::new(stored)));
            }
            match stored.owner.filter(|owner| Some(*owner) != self.config().owner) {
                Some(owner) => {
                    let peer = self.peer(owner);
                    if self.is_alive(&peer, id).await? || !self.recover_session(id).await? {
                        return Ok(SessionLocation::Elsewhere(peer));
                    }
                }
                None => tokio::time::sleep(LOCATE_INTERVAL).await,
            }
        }
        let detail = format!("session {id} is neither running nor ended; its end could not be recorded");
        Err(Problem::conflict("unsettled", detail).with_hint("restart the server once the log can be written"))
    }

    /// Returns whether the process of a session seems to be alive.
    async fn is_alive(&self, peer: &SessionPeer, session: &str) -> Result<bool, Problem> {
        if let SessionPeer::Socket(socket) = peer {
            return Ok(is_listening(socket).await);
        }
        let abandoned = self.query_log(|log| log.list_abandoned()).await?;
        Ok(!abandoned.iter().any(|abandoned| *abandoned.session.id == *session))
    }

    /// Returns the socket of a process that shares the log.
    pub(crate) fn owner_socket(&self, owner: u64) -> PathBuf {
        self.config().data.join("owners").join(format!("{owner}.sock"))
    }

    /// Ends the sessions of dead processes. Returns whether the session no longer belongs to another process.
    async fn recover_session(&self, id: &str) -> Result<bool, Problem> {
        let engine = self.engine().clone();
        let recovered = tokio::task::spawn_blocking(move || engine.recover_sessions()).await;
        let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the query of the log failed");
        recovered.map_err(failed)??;
        let stored = self.session_record(id).await?;
        Ok(stored.state.is_final() || stored.owner == self.config().owner)
    }

    /// Opens a working directory; directories outside the roots are refused.
    pub async fn open_directory(&self, path: Option<&str>) -> Result<WorkingDirectory, Problem> {
        let path = path.map_or_else(|| self.config().cwd.clone(), PathBuf::from);
        if !path.is_absolute() {
            return Err(Problem::bad_field("config.workingDirectory", "must be an absolute path"));
        }
        let roots = self.config().roots.clone();
        let opened = tokio::task::spawn_blocking(move || open_working_directory(&path, &roots)).await;
        opened.unwrap_or_else(|_| Err(Problem::bad_field("config.workingDirectory", "cannot be opened")))
    }
}

async fn is_listening(socket: &Path) -> bool {
    let Ok(reachable) = SocketPath::new(socket) else { return false };
    UnixStream::connect(reachable.as_path()).await.is_ok()
}

fn open_working_directory(path: &Path, roots: &[PathBuf]) -> Result<WorkingDirectory, Problem> {
    WorkingDirectory::open_beneath(path, roots).map_err(|error| {
        // Does not disclose whether a directory outside the roots exists.
        let is_hidden = !roots.is_empty() && LocatedFile::open_beneath(path, roots).is_err();
        if is_hidden {
            let detail = format!("{} is outside the directories in which sessions may work", path.display());
            return Problem::new(StatusCode::FORBIDDEN, "outside_roots", detail)
                .with_hint("the server was started with --root");
        }
        let detail = format!("cannot work in {}: {error}", path.display());
        Problem::new(StatusCode::CONFLICT, "bad_folder", detail)
    })
}

/// The short response of most commands: the state of the session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Standing")]
pub struct SessionStanding {
    /// The session.
    pub id: Id,
    /// The state after the command.
    pub state: SessionLifecycle,
}

impl From<&SessionRecord> for SessionStanding {
    fn from(stored: &SessionRecord) -> Self {
        Self { id: stored.id.clone(), state: session_lifecycle(stored.state) }
    }
}

impl Service {
    pub async fn view_of_record(&self, stored: SessionRecord) -> Result<SessionView, Problem> {
        let approvals =
            if stored.state == SessionPhase::Waiting { self.open_approvals(&stored).await?.len() } else { 0 };
        let running = self.engine().session(&stored.id).filter(|session| !session.is_over());
        let sandbox = running.as_ref().and_then(|session| session.sandbox().map(describe_sandbox));
        Ok(SessionView { sandbox, ..session_view(stored, running.is_some(), approvals) })
    }
}

fn describe_sandbox(report: &SandboxReport) -> SandboxView {
    let name = |feature: SandboxFeature| feature.name().to_owned();
    SandboxView {
        enforced: report.enforced.iter().copied().map(name).collect(),
        missing: report.missing.iter().map(|(feature, _)| name(*feature)).collect(),
    }
}

/// Returns a session that this process does not run.
pub fn read_session_view(log: &dyn SessionLog, stored: SessionRecord) -> Result<SessionView, StoreError> {
    let waits = stored.state == SessionPhase::Waiting;
    let kinds = event::SessionState::REQUEST_KINDS;
    let approvals = if waits { log.read_state(&stored.id, kinds)?.requests.len() } else { 0 };
    Ok(session_view(stored, false, approvals))
}
