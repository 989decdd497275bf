//! The index of logs: opened when it is first asked for, brought up to date in the background for as long as somebody
//! asks, and asked beside that.

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

/// How often it is brought up to date while somebody asks, and how long after the last question.
const BETWEEN: Duration = Duration::from_secs(2);
const IDLE: Duration = Duration::from_secs(60);

/// No answer is older.
const FRESH: Duration = Duration::from_secs(5);

/// A question waits so long for the index: what takes longer is worth asking again.
const PATIENCE: Duration = Duration::from_secs(20);

/// So many questions are answered at once; others wait.
const AT_ONCE: usize = 4;

/// The index of logs. Cloning it is cheap.
#[derive(Clone)]
pub struct Archive(Arc<Inner>);

struct Inner {
    homes: Vec<AgentHome>,
    data: PathBuf,
    own: Arc<dyn SessionLog>,
    /// What is asked. It has a connection of its own, so that it does not wait for what is being written.
    asked: Mutex<Option<Arc<LogLibrary>>>,
    keeper: Mutex<Keeper>,
    state: watch::Sender<State>,
    places: Semaphore,
}

/// Whether somebody keeps it up to date.
struct Keeper {
    runs: bool,
    /// When it was asked last.
    asked: Instant,
}

/// How the index is.
#[derive(Clone)]
enum State {
    /// It is being made: so far it is.
    Making(ScanProgress),
    /// It was up to date at this moment.
    Ready(Instant),
    /// It cannot be had.
    Failed(Problem),
}

impl Archive {
    /// An index that nobody has asked for.
    pub fn new(homes: Vec<AgentHome>, data: PathBuf, own: Arc<dyn SessionLog>) -> Self {
        Self(Arc::new(Inner {
            homes,
            data,
            own,
            asked: Mutex::default(),
            keeper: Mutex::new(Keeper { runs: false, asked: Instant::now() }),
            state: watch::Sender::new(State::Making(ScanProgress::default())),
            places: Semaphore::new(AT_ONCE),
        }))
    }

    /// Asks the index, when it is up to date.
    ///
    /// # Errors
    /// If it takes long to become so, if it cannot be had, or if it says so.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&LogLibrary) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.keep();
        self.ready().await?;
        let lost = || Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the logs did not answer");
        let _place = self.0.places.acquire().await.map_err(|_| lost())?;
        let inner = self.0.clone();
        let answer = spawn_blocking(move || question(&*inner.library()?)).await;
        answer.map_err(|_| lost())?
    }

    /// Waits until it is up to date.
    async fn ready(&self) -> Result<(), Problem> {
        let asked = Instant::now();
        let mut state = self.0.state.subscribe();
        let is_settled = |state: &State| match state {
            State::Making(_) => false,
            State::Ready(at) => *at + FRESH >= asked,
            State::Failed(_) => true,
        };
        let settled = timeout(PATIENCE, state.wait_for(is_settled)).await;
        let state = match settled {
            Ok(Ok(state)) => state.clone(),
            _ => self.0.state.borrow().clone(),
        };
        match state {
            State::Ready(at) if at + FRESH >= asked => Ok(()),
            State::Failed(problem) => Err(problem),
            State::Making(progress) => Err(making(&progress)),
            State::Ready(_) => Err(making(&ScanProgress::default())),
        }
    }

    /// Sees to it that somebody keeps it up to date.
    fn keep(&self) {
        let mut keeper = self.0.keeper.lock();
        keeper.asked = Instant::now();
        if !std::mem::replace(&mut keeper.runs, true) {
            self.0.state.send_if_modified(|state| {
                let failed = matches!(state, State::Failed(_));
                if failed {
                    *state = State::Making(ScanProgress::default());
                }
                failed
            });
            tokio::spawn(self.clone().keep_on());
        }
    }

    async fn keep_on(self) {
        let mut library: Option<LogLibrary> = None;
        loop {
            let (inner, known) = (self.0.clone(), library.take());
            let kept = spawn_blocking(move || inner.refresh(known)).await;
            let problem = match kept {
                Ok(Ok(kept)) => {
                    library = Some(kept);
                    None
                }
                Ok(Err(error)) => Some(error.into()),
                Err(_) => Some(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the logs cannot be read")),
            };
            let failed = problem.is_some();
            self.0.state.send_replace(problem.map_or_else(|| State::Ready(Instant::now()), State::Failed));
            if !failed {
                sleep(BETWEEN).await;
            }
            let mut keeper = self.0.keeper.lock();
            if failed || keeper.asked.elapsed() > IDLE {
                keeper.runs = false;
                return;
            }
        }
    }
}

impl Inner {
    fn open(&self) -> Result<LogLibrary, LogsError> {
        let (data, homes, own) = (self.data.clone(), self.homes.clone(), Some(self.own.clone().into()));
        LogLibrary::open(LibraryConfig { data, homes, alone: false, keep: false, own })
    }

    /// What is asked.
    fn library(&self) -> Result<Arc<LogLibrary>, LogsError> {
        let mut asked = self.asked.lock();
        if let Some(library) = &*asked {
            return Ok(library.clone());
        }
        Ok(asked.insert(Arc::new(self.open()?)).clone())
    }

    /// Brings it up to date.
    fn refresh(&self, library: Option<LogLibrary>) -> Result<LogLibrary, LogsError> {
        let library = library.map_or_else(|| self.open(), Ok)?;
        library.refresh_index(ScanDepth::All, &|progress| {
            self.state.send_if_modified(|state| match state {
                State::Making(known) => {
                    *known = progress;
                    true
                }
                _ => false,
            });
        })?;
        Ok(library)
    }
}

fn making(progress: &ScanProgress) -> Problem {
    let done = (progress.bytes.saturating_mul(100)).checked_div(progress.of_bytes).unwrap_or(0);
    let detail = format!("the index of logs is being made: {done} % is done");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "indexing", detail).with_hint("ask again in a moment")
}
