//! All logs of this machine, and the index over them.

mod health;
mod ledger;
mod replies;
mod search;
mod sessions;
mod transcript;

use std::{borrow::Cow, path::PathBuf, sync::Arc, thread};

use parking_lot::Mutex;
use switchboard_agents::ScanDepth;
use switchboard_store::{SessionLog, StoreError};

use super::index::{IndexVersion, LogIndex};
use super::scan::{OwnLogSource, ScanOptions};
use super::usage::TokenPrices;
use super::{AgentHome, LogReadError, LogsError, ScanProgress, ScanReport, scan};
use crate::index::{DatabaseSessionLists, LogUnits};

pub use health::IndexHealth;
pub use replies::ReplyDeduplicator;

/// In each round, at least one of the concurrent writers makes progress.
const MAX_REFRESH_ROUNDS: usize = 1000;

/// Configuration of a library.
pub struct LibraryConfig {
    pub data: PathBuf,
    /// The agents' directories.
    pub homes: Vec<AgentHome>,
    /// Restricts queries to these directories, excluding other machines and Switchboard's own sessions without an agent
    /// log.
    pub alone: bool,
    /// Also store copies of raw records.
    pub keep: bool,
    /// Switchboard's own log.
    pub own: Option<OwnLog>,
}

/// All logs of this machine, and the index over them. Several processes can have it open, and each adds what it finds.
pub struct LogLibrary {
    setup: Arc<LibraryConfig>,
    index: Mutex<LogIndex>,
    /// Paths that could not be scanned at the last refresh.
    blocked: Mutex<Vec<LogReadError>>,
    /// All units in the index, with the index version they were read at.
    units: Mutex<Option<(IndexVersion, Arc<LogUnits>)>>,
}

impl LogLibrary {
    /// Opens the index, creating it if necessary.
    ///
    /// # Errors
    /// If it can be neither opened nor created.
    pub fn open(setup: LibraryConfig) -> Result<Self, LogsError> {
        let index = LogIndex::open(&setup.data)?;
        Ok(Self::with_index(Arc::new(setup), index))
    }

    fn with_index(setup: Arc<LibraryConfig>, index: LogIndex) -> Self {
        Self { setup, index: Mutex::new(index), blocked: Mutex::default(), units: Mutex::default() }
    }

    /// Brings the index up to date: reads new records with several threads, and reports progress.
    ///
    /// # Errors
    /// If the index cannot be written. Unreadable logs are not an error; `troubles` lists them.
    pub fn refresh_index(
        &self,
        depth: ScanDepth,
        progress: &(dyn Fn(ScanProgress) + Sync),
    ) -> Result<ScanReport, LogsError> {
        let mut index = self.index.lock();
        if self.setup.keep {
            // Logs that were read without copies are read again.
            index.mark_stale_without_copies().map_err(|error| index.wrap_error(error))?;
        }
        let mut report = ScanReport::default();
        for _ in 0..MAX_REFRESH_ROUNDS {
            let (now, lost) = self.refresh_once(&mut index, depth, progress)?;
            let (read, bytes, gone) = (report.read + now.read, report.bytes + now.bytes, report.gone + now.gone);
            report = ScanReport { read, bytes, gone, ..now };
            // Another process has read some of these logs at the same time, possibly at another depth.
            if lost == 0 {
                break;
            }
        }
        Ok(report)
    }

    /// Scans all logs once. Also returns how many logs were lost to faster writers.
    fn refresh_once(
        &self,
        index: &mut LogIndex,
        depth: ScanDepth,
        progress: &(dyn Fn(ScanProgress) + Sync),
    ) -> Result<(ScanReport, usize), LogsError> {
        let failed = |error| LogsError::Index { path: self.setup.data.clone(), error };
        let mut lists = DatabaseSessionLists::read(&index.connection).map_err(failed)?;
        let (seen, blocked) = scan::discover_logs(&self.setup.homes, &mut lists);
        lists.write(&index.connection).map_err(failed)?;
        let files = seen.len() as u64;
        let known = self.all_units(index)?;
        let own = self.own_log_source()?;
        let (more, deleted) =
            own.as_ref().map_or(Ok(Default::default()), |own| own.discover_sessions(&seen, &known))?;
        index.delete_units(&deleted).map_err(failed)?;
        let plan =
            scan::plan_scan(index, [seen, more].into_iter().flatten().collect(), &known, depth).map_err(failed)?;
        let work = scan::run_scan(index, plan.tasks, &ScanOptions { depth, keep: self.setup.keep, own }, progress)?;
        let blocked: Vec<_> = blocked.into_iter().map(health::unreadable_path_error).collect();
        let (troubles, unknown) = health::count_read_errors(&index.connection).map_err(failed)?;
        let report = ScanReport {
            files,
            read: work.read,
            bytes: work.bytes,
            gone: plan.gone,
            troubles: blocked.len() as u64 + troubles,
            unknown,
        };
        *self.blocked.lock() = blocked;
        Ok((report, work.lost))
    }

    /// Returns the directories that are scanned.
    #[must_use]
    pub fn agent_homes(&self) -> &[AgentHome] {
        &self.setup.homes
    }

    /// Returns Switchboard's own log, unless it is excluded.
    fn own_log_source(&self) -> Result<Option<OwnLogSource>, LogsError> {
        let Some(ours) = self.setup.own.as_ref().filter(|_| !self.setup.alone) else { return Ok(None) };
        Ok(Some(OwnLogSource { log: ours.open_log()?, path: self.setup.data.clone() }))
    }

    /// Returns the built-in prices, overridden by those of the data directory.
    ///
    /// # Errors
    /// If the price file in the data directory is invalid.
    pub fn load_prices(&self) -> Result<Cow<'static, TokenPrices>, LogsError> {
        Ok(TokenPrices::load_for_data_directory(&self.setup.data)?)
    }
}

/// An answer, with the index version it is based on.
struct EarlyAnswer<T> {
    library: LogLibrary,
    moment: IndexVersion,
    answer: T,
}

impl LogLibrary {
    /// Brings the index up to date and queries it. Usually nothing is new, so the query runs concurrently with the
    /// scan, and again only if something was written meanwhile.
    ///
    /// # Errors
    /// If the index cannot be written, or the query fails.
    pub fn refresh_and_query<T: Send, E: From<LogsError>>(
        &self,
        depth: ScanDepth,
        progress: &(dyn Fn(ScanProgress) + Sync),
        question: impl Fn(&Self) -> Result<T, E> + Sync,
    ) -> Result<(ScanReport, T), E> {
        thread::scope(|scope| {
            let others = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
            let early = others.then(|| scope.spawn(|| self.answer_early(&question)));
            let report = self.refresh_index(depth, progress)?;
            // If anything was read, the early answer is outdated.
            let early = early.filter(|_| report.read == 0).and_then(|early| early.join().ok().flatten());
            match early.filter(EarlyAnswer::is_current) {
                Some(early) => Ok((report, early.answer)),
                None => Ok((report, question(self)?)),
            }
        })
    }

    /// Answers from the current index. Errors are ignored: they recur in the second attempt, or something changed
    /// meanwhile.
    fn answer_early<T, E>(&self, question: impl Fn(&Self) -> Result<T, E>) -> Option<EarlyAnswer<T>> {
        let path = self.setup.data.join(LogIndex::FILE_NAME);
        let library = Self::with_index(Arc::clone(&self.setup), LogIndex::open_existing(&path).ok()?);
        let moment = library.index.lock().current_version().ok()?;
        let answer = question(&library).ok()?;
        Some(EarlyAnswer { library, moment, answer })
    }
}

impl<T> EarlyAnswer<T> {
    /// Returns whether the index is unchanged since.
    fn is_current(&self) -> bool {
        self.library.index.lock().current_version().is_ok_and(|now| now == self.moment)
    }
}

type OpenOwnLog = dyn Fn() -> Result<Arc<dyn SessionLog>, StoreError> + Send + Sync;

pub struct OwnLog {
    open: Box<OpenOwnLog>,
    log: Mutex<Option<Arc<dyn SessionLog>>>,
}

impl OwnLog {
    /// Creates a handle that opens the log with `open`.
    pub fn new(open: impl Fn() -> Result<Arc<dyn SessionLog>, StoreError> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), log: Mutex::default() }
    }

    /// Returns the log, opening it if necessary.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open_log(&self) -> Result<Arc<dyn SessionLog>, StoreError> {
        let mut log = self.log.lock();
        match &*log {
            Some(log) => Ok(log.clone()),
            None => Ok(log.insert((self.open)()?).clone()),
        }
    }
}

impl From<Arc<dyn SessionLog>> for OwnLog {
    fn from(log: Arc<dyn SessionLog>) -> Self {
        Self::new(move || Ok(log.clone()))
    }
}
