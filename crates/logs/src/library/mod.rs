//! All logs of this machine, and the index over them.

mod ask;
mod counted;
mod health;
mod ledger;
mod matching;
mod ours;
mod search;
mod sessions;
mod snippet;
mod terms;
mod totals;
mod transcript;
mod troubles;
mod written;

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use switchboard_agents::ScanDepth;

pub use counted::ReplyDeduplicator;
pub use health::IndexHealth;
pub use ours::OwnLog;

use crate::{
    AgentHome, LogReadError, LogsError, ScanProgress, ScanReport,
    index::{IndexVersion, LogIndex, lists::DatabaseSessionLists, units::LogUnits},
    scan::{self, OwnLogSource, ScanOptions},
    usage::TokenPrices,
};

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
        let blocked: Vec<_> = blocked.into_iter().map(troubles::unreadable_path_error).collect();
        let (troubles, unknown) = troubles::count_read_errors(&index.connection).map_err(failed)?;
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
