//! The state behind all operations: the engine, the log, and what this server allows. Cloning it is cheap.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use jiff::tz::TimeZone;
use switchboard_client::http::SocketPath;
use switchboard_dialects::Dialect;
use switchboard_engine::{
    Engine, HostEnvironment, SessionHandle, SessionTimeouts,
    paths::{LocatedFile, WorkingDirectory},
};
use switchboard_event::{ApprovalMode, Id, Timestamp};
use switchboard_logs::AgentHome;
use switchboard_store::{SessionLog, SessionRecord, StoreError};
use tokio::{
    net::UnixStream,
    sync::{OwnedSemaphorePermit, Semaphore},
};

use crate::{
    Drain, Problem,
    agents::Agents,
    consumers::Rooms,
    conversation::Offers,
    feed::{Begin, Feeds, Reader},
    logs::{self, Archive},
    metrics::Metrics,
    page::{BoardWatch, SessionSummaries, TimelineCache, Transcripts},
    view::SessionView,
};

/// What a server is made of.
pub struct Setup {
    /// What runs sessions.
    pub engine: Engine,
    /// What the machine gives, to look for agents.
    pub machine: HostEnvironment,
    /// Where the log lies, and the sockets of all processes that share it.
    pub data: PathBuf,
    /// The number of this process among those; none if the log cannot be written.
    pub owner: Option<u64>,
    /// Where sessions work that do not say where.
    pub cwd: PathBuf,
    /// The folders in which sessions may work; none means anywhere.
    pub roots: Vec<PathBuf>,
    /// Limits of time, where a request sets no others.
    pub limits: SessionTimeouts,
    /// So many sessions run here at once, at most.
    pub most_sessions: Option<usize>,
    /// What an agent may do without asking, where a request does not say.
    pub approval: ApprovalMode,
    /// Tells streams that the server is about to end.
    pub drain: Drain,
    /// The agents' folders with their logs.
    pub homes: Vec<AgentHome>,
    /// The time zone of days, where a request names none.
    pub zone: TimeZone,
}

/// The server's operations, whatever wire they come by.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    setup: Setup,
    metrics: Metrics,
    agents: Agents,
    feeds: Arc<Feeds>,
    offers: Offers,
    rooms: Rooms,
    logs: Archive,
    timelines: TimelineCache,
    summaries: SessionSummaries,
    transcripts: Transcripts,
    board_watch: BoardWatch,
    started: Instant,
    serves: bool,
    places: Arc<Semaphore>,
}

/// Where a session is.
pub enum Place {
    /// This process runs it.
    Here(SessionHandle),
    /// Nobody runs it.
    Ended(Box<SessionRecord>),
    /// Another process runs it, and this is its socket.
    Elsewhere(PathBuf),
}

/// How often a session that is just beginning or ending is looked for, and how long we wait in between.
const LOOKS: usize = 100;
const BETWEEN: Duration = Duration::from_millis(20);

impl Service {
    /// A server that nobody can reach yet.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self::with(setup, true)
    }

    /// The same for a process that ends with the sessions it has: others can steer these, and begin none.
    #[must_use]
    pub fn passing(setup: Setup) -> Self {
        Self::with(setup, false)
    }

    fn with(setup: Setup, serves: bool) -> Self {
        let agents = Agents::new(setup.machine.clone());
        let (feeds, offers, rooms) = (Arc::default(), Offers::default(), Rooms::default());
        let logs = Archive::new(setup.homes.clone(), setup.data.clone(), setup.engine.log().clone());
        let started = Instant::now();
        let places = Arc::new(Semaphore::new(setup.most_sessions.unwrap_or(Semaphore::MAX_PERMITS)));
        let metrics = Metrics::new();
        let summaries = SessionSummaries::new(&setup.data, setup.engine.clone());
        let board_watch = BoardWatch::new((setup.machine.now)().as_micros().to_string());
        Self(Arc::new(Inner {
            setup,
            metrics,
            agents,
            feeds,
            offers,
            rooms,
            logs,
            timelines: TimelineCache::default(),
            summaries,
            transcripts: Transcripts::default(),
            board_watch,
            started,
            serves,
            places,
        }))
    }

    /// The place of one session among those that may run here at once.
    pub(crate) fn place_for_one(&self) -> Result<OwnedSemaphorePermit, Problem> {
        if self.drain().is_begun() {
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", Drain::REASON));
        }
        let full = |_| {
            let detail = "as many sessions run here as may run at once";
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_sessions", detail);
            problem.with_hint("wait for one to end, or start the server with a higher --max-sessions")
        };
        self.0.places.clone().try_acquire_owned().map_err(full)
    }

    /// Where consumers of one session meet.
    pub(crate) fn rooms(&self) -> &Rooms {
        &self.0.rooms
    }

    /// It begins sessions for whoever asks.
    #[must_use]
    pub fn serves(&self) -> bool {
        self.0.serves
    }

    /// What it is made of.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.0.setup
    }

    /// What runs sessions.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.0.setup.engine
    }

    /// What is counted.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// The agents of this machine.
    #[must_use]
    pub fn agents(&self) -> &Agents {
        &self.0.agents
    }

    /// What agents said that they offer.
    pub(crate) fn offers(&self) -> &Offers {
        &self.0.offers
    }

    /// The logs of all agents.
    pub(crate) fn logs(&self) -> &Archive {
        &self.0.logs
    }

    /// The timelines of the sessions that somebody looks at.
    pub(crate) fn timelines(&self) -> &TimelineCache {
        &self.0.timelines
    }

    /// The summaries of all sessions.
    pub(crate) fn summaries(&self) -> &SessionSummaries {
        &self.0.summaries
    }

    /// The transcripts of logs that somebody looks at.
    pub(crate) fn transcripts(&self) -> &Transcripts {
        &self.0.transcripts
    }

    /// The board as it changes.
    pub(crate) fn board_watch(&self) -> &BoardWatch {
        &self.0.board_watch
    }

    /// What time it is.
    pub(crate) fn now(&self) -> Timestamp {
        (self.setup().machine.now)()
    }

    /// A time zone by its name, or the server's.
    pub(crate) fn zone(&self, name: Option<&str>) -> Result<TimeZone, Problem> {
        logs::zone(name, &self.setup().zone)
    }

    /// How long it has been there.
    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.0.started.elapsed()
    }

    /// Asks the log, where that may take its time.
    ///
    /// # Errors
    /// If the log says so.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn SessionLog) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let log = self.engine().log().clone();
        let answer = tokio::task::spawn_blocking(move || question(&*log)).await;
        let lost = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the log did not answer");
        Ok(answer.map_err(lost)??)
    }

    /// Tells streams that the server is about to end.
    #[must_use]
    pub fn drain(&self) -> &Drain {
        &self.0.setup.drain
    }

    /// A reader of a session, in one dialect.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn read(&self, session: &str, dialect: &'static Dialect, begin: Begin) -> Result<Reader, Problem> {
        Ok(self.0.feeds.open(self.engine(), Id::from(session), dialect, begin).await?)
    }

    /// What the log knows of a session.
    ///
    /// # Errors
    /// If there is none.
    pub async fn stored(&self, id: &str) -> Result<SessionRecord, Problem> {
        let wanted = id.to_owned();
        self.ask(move |log| log.get_session(&wanted)).await?.ok_or_else(|| Problem::no_session(id))
    }

    /// A session as clients see it.
    ///
    /// # Errors
    /// If there is none.
    pub async fn view(&self, id: &str) -> Result<SessionView, Problem> {
        let stored = self.stored(id).await?;
        self.show(stored).await
    }

    /// Where a session is.
    ///
    /// # Errors
    /// If there is none, or if it does not begin or end as it should.
    pub async fn place(&self, id: &str) -> Result<Place, Problem> {
        for _ in 0..LOOKS {
            let stored = self.stored(id).await?;
            if let Some(session) = self.engine().session(id).filter(|session| !session.is_over()) {
                return Ok(Place::Here(session));
            }
            if stored.state.is_final() {
                return Ok(Place::Ended(Box::new(stored)));
            }
            match stored.owner.filter(|owner| Some(*owner) != self.setup().owner) {
                Some(owner) => {
                    let socket = self.socket(owner);
                    if is_open(&socket).await || !self.take_over(id).await? {
                        return Ok(Place::Elsewhere(socket));
                    }
                }
                None => tokio::time::sleep(BETWEEN).await,
            }
        }
        let detail = format!("session {id} is neither running nor ended: its end could not be written down");
        Err(Problem::conflict("unsettled", detail).with_hint("restart the server once the log can be written"))
    }

    /// The socket of a process that shares the log.
    pub(crate) fn socket(&self, owner: u64) -> PathBuf {
        self.setup().data.join("owners").join(format!("{owner}.sock"))
    }

    /// Ends what dead processes left behind. Says whether the session is no longer another's.
    async fn take_over(&self, id: &str) -> Result<bool, Problem> {
        let engine = self.engine().clone();
        let recovered = tokio::task::spawn_blocking(move || engine.recover_sessions()).await;
        let lost = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the log did not answer");
        recovered.map_err(lost)??;
        let stored = self.stored(id).await?;
        Ok(stored.state.is_final() || stored.owner == self.setup().owner)
    }

    /// Opens a directory to work in; one that is not below a root is refused.
    ///
    /// # Errors
    /// If it is not absolute, not there, or not allowed.
    pub async fn folder(&self, wanted: Option<&str>) -> Result<WorkingDirectory, Problem> {
        let wanted = wanted.map_or_else(|| self.setup().cwd.clone(), PathBuf::from);
        if !wanted.is_absolute() {
            return Err(Problem::bad_field("config.workingDirectory", "the folder must be an absolute path"));
        }
        let roots = self.setup().roots.clone();
        let allowed = tokio::task::spawn_blocking(move || allowed(&wanted, &roots)).await;
        allowed.unwrap_or_else(|_| Err(Problem::bad_field("config.workingDirectory", "it cannot be looked at")))
    }
}

/// Somebody listens there.
async fn is_open(socket: &Path) -> bool {
    let Ok(reachable) = SocketPath::new(socket) else { return false };
    UnixStream::connect(reachable.as_path()).await.is_ok()
}

fn allowed(wanted: &Path, roots: &[PathBuf]) -> Result<WorkingDirectory, Problem> {
    WorkingDirectory::open_beneath(wanted, roots).map_err(|error| {
        // Whether a directory outside the roots exists is not told either.
        let is_hidden = !roots.is_empty() && LocatedFile::open_beneath(wanted, roots).is_err();
        if is_hidden {
            let detail = format!("{} is not below a folder in which this server lets sessions work", wanted.display());
            return Problem::new(StatusCode::FORBIDDEN, "outside_roots", detail)
                .with_hint("the server was started with --root");
        }
        let detail = format!("cannot work in {}: {error}", wanted.display());
        Problem::new(StatusCode::CONFLICT, "bad_folder", detail)
    })
}
