//! The session logs of all agents, for clients: one index, opened on the first query and refreshed in the background
//! while there are queries. Nothing here blocks the threads that serve connections.

mod adopt;
mod query;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use parking_lot::Mutex;
use switchboard_agents::ScanDepth;
use switchboard_logs::{AgentHome, LibraryConfig, LogLibrary, LogsError, ScanProgress};
use switchboard_store::SessionLog;
use tokio::{
    sync::{Semaphore, watch},
    task::spawn_blocking,
    time::{sleep, timeout},
};

use crate::Problem;

pub use adopt::{AdoptError, adopt, adopt_session};
pub use query::{LogSelection, parse_limit, parse_zone, read_transcript_page};

/// How often the index is refreshed, and for how long after the last query.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum age of the index for a query.
const MAX_INDEX_AGE: Duration = Duration::from_secs(5);

/// How long a query waits for the index before it fails.
const INDEX_TIMEOUT: Duration = Duration::from_secs(20);

const MAX_CONCURRENT_QUERIES: usize = 4;

/// The index of session logs. Cheap to clone.
#[derive(Clone)]
pub struct SharedLogLibrary(Arc<LibraryState>);

struct LibraryState {
    homes: Vec<AgentHome>,
    data: PathBuf,
    own: Arc<dyn SessionLog>,
    /// The library for queries, with its own connection, so that they do not wait for writes.
    query_library: Mutex<Option<Arc<LogLibrary>>>,
    refresher: Mutex<Refresher>,
    state: watch::Sender<IndexState>,
    queries: Semaphore,
}

struct Refresher {
    is_running: bool,
    /// The time of the last query.
    last_query: Instant,
}

#[derive(Clone)]
enum IndexState {
    /// It is being built; the progress so far.
    Building(ScanProgress),
    /// It was up to date at this time.
    Ready(Instant),
    Failed(Problem),
}

impl SharedLogLibrary {
    pub fn new(homes: Vec<AgentHome>, data: PathBuf, own: Arc<dyn SessionLog>) -> Self {
        Self(Arc::new(LibraryState {
            homes,
            data,
            own,
            query_library: Mutex::default(),
            refresher: Mutex::new(Refresher { is_running: false, last_query: Instant::now() }),
            state: watch::Sender::new(IndexState::Building(ScanProgress::default())),
            queries: Semaphore::new(MAX_CONCURRENT_QUERIES),
        }))
    }

    /// Runs a query when the index is up to date. Fails if that takes too long.
    pub async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&LogLibrary) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.start_refresher();
        self.wait_until_current().await?;
        let failed = || Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the log index failed");
        let _permit = self.0.queries.acquire().await.map_err(|_| failed())?;
        let inner = self.0.clone();
        let answer = spawn_blocking(move || query(&*inner.library()?)).await;
        answer.map_err(|_| failed())?
    }

    async fn wait_until_current(&self) -> Result<(), Problem> {
        let called = Instant::now();
        let mut state = self.0.state.subscribe();
        let is_settled = |state: &IndexState| match state {
            IndexState::Building(_) => false,
            IndexState::Ready(at) => *at + MAX_INDEX_AGE >= called,
            IndexState::Failed(_) => true,
        };
        let settled = timeout(INDEX_TIMEOUT, state.wait_for(is_settled)).await;
        let state = match settled {
            Ok(Ok(state)) => state.clone(),
            _ => self.0.state.borrow().clone(),
        };
        match state {
            IndexState::Ready(at) if at + MAX_INDEX_AGE >= called => Ok(()),
            IndexState::Failed(problem) => Err(problem),
            IndexState::Building(progress) => Err(indexing_problem(&progress)),
            IndexState::Ready(_) => Err(indexing_problem(&ScanProgress::default())),
        }
    }

    /// Starts the background refresh unless it is running.
    fn start_refresher(&self) {
        let mut refresher = self.0.refresher.lock();
        refresher.last_query = Instant::now();
        if !std::mem::replace(&mut refresher.is_running, true) {
            self.0.state.send_if_modified(|state| {
                let failed = matches!(state, IndexState::Failed(_));
                if failed {
                    *state = IndexState::Building(ScanProgress::default());
                }
                failed
            });
            tokio::spawn(self.clone().refresh_repeatedly());
        }
    }

    async fn refresh_repeatedly(self) {
        let mut library: Option<LogLibrary> = None;
        loop {
            let (inner, known) = (self.0.clone(), library.take());
            let refreshed = spawn_blocking(move || inner.refresh(known)).await;
            let problem = match refreshed {
                Ok(Ok(refreshed)) => {
                    library = Some(refreshed);
                    None
                }
                Ok(Err(error)) => Some(error.into()),
                Err(_) => Some(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the logs cannot be read")),
            };
            let failed = problem.is_some();
            self.0.state.send_replace(problem.map_or_else(|| IndexState::Ready(Instant::now()), IndexState::Failed));
            if !failed {
                sleep(REFRESH_INTERVAL).await;
            }
            let mut refresher = self.0.refresher.lock();
            if failed || refresher.last_query.elapsed() > IDLE_TIMEOUT {
                refresher.is_running = false;
                return;
            }
        }
    }
}

impl LibraryState {
    fn open_library(&self) -> Result<LogLibrary, LogsError> {
        let (data, homes, own) = (self.data.clone(), self.homes.clone(), Some(self.own.clone().into()));
        LogLibrary::open(LibraryConfig { data, homes, alone: false, keep: false, own })
    }

    fn library(&self) -> Result<Arc<LogLibrary>, LogsError> {
        let mut library = self.query_library.lock();
        if let Some(library) = &*library {
            return Ok(library.clone());
        }
        Ok(library.insert(Arc::new(self.open_library()?)).clone())
    }

    /// Refreshes the index.
    fn refresh(&self, library: Option<LogLibrary>) -> Result<LogLibrary, LogsError> {
        let library = library.map_or_else(|| self.open_library(), Ok)?;
        library.refresh_index(ScanDepth::All, &|progress| {
            self.state.send_if_modified(|state| match state {
                IndexState::Building(known) => {
                    *known = progress;
                    true
                }
                _ => false,
            });
        })?;
        Ok(library)
    }
}

fn indexing_problem(progress: &ScanProgress) -> Problem {
    let done = (progress.bytes.saturating_mul(100)).checked_div(progress.of_bytes).unwrap_or(0);
    let detail = format!("the log index is being built: {done} % done");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "indexing", detail).with_hint("try again in a moment")
}
