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

use std::{
    borrow::Cow,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_agents::Depth;

pub use counted::Counted;
pub use health::Health;
pub use ours::Ours;

use crate::{
    Home, LogsError, Progress, Report, Trouble,
    index::{Index, Moment, lists::Lists, units::Units},
    scan::{self, Own, Way},
    usage::Prices,
};

/// Each time, at least one of those who write at once gets further.
const MOST_ROUNDS: usize = 1000;

/// What a library is made of.
pub struct Setup {
    /// Where the index lies.
    pub data: PathBuf,
    /// The agents' folders.
    pub homes: Vec<Home>,
    /// Only what lies in these folders is meant, and not all else that the index has: other machines, Switchboard's own
    /// sessions without a log.
    pub alone: bool,
    /// Copies of the raw records are kept too.
    pub keep: bool,
    /// Switchboard's own sessions.
    pub own: Option<Ours>,
}

/// All logs of this machine, and the index over them. Several processes can have it open; whoever finds something new
/// adds it.
pub struct Library {
    setup: Arc<Setup>,
    index: Mutex<Index>,
    /// What could not even be looked through at the last refresh.
    blocked: Mutex<Vec<Trouble>>,
    /// All logs that the index knows, as they were at a moment of the index.
    units: Mutex<Option<(Moment, Arc<Units>)>>,
}

impl Library {
    /// Opens the index, and makes it if there is none.
    ///
    /// # Errors
    /// If it can neither be opened nor made.
    pub fn open(setup: Setup) -> Result<Self, LogsError> {
        let index = Index::open(&setup.data)?;
        Ok(Self::of(Arc::new(setup), index))
    }

    fn of(setup: Arc<Setup>, index: Index) -> Self {
        Self { setup, index: Mutex::new(index), blocked: Mutex::default(), units: Mutex::default() }
    }

    /// Brings the index up to date: reads what is new, from several threads, and tells how far it is.
    ///
    /// # Errors
    /// If the index cannot be written. What cannot be read of the logs is no error; `troubles` tells of it.
    pub fn refresh(&self, depth: Depth, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, LogsError> {
        let mut index = self.index();
        if self.setup.keep {
            // What was read before without a copy is read again.
            index.read_again_without_copies().map_err(|error| index.error(error))?;
        }
        let mut report = Report::default();
        for _ in 0..MOST_ROUNDS {
            let (now, lost) = self.round(&mut index, depth, progress)?;
            let (read, bytes, gone) = (report.read + now.read, report.bytes + now.bytes, report.gone + now.gone);
            report = Report { read, bytes, gone, ..now };
            // Somebody else has read some of these logs at the same time, perhaps for something else.
            if lost == 0 {
                break;
            }
        }
        Ok(report)
    }

    /// One look at all logs. How many were lost to others who wrote first comes with what was read.
    fn round(
        &self,
        index: &mut Index,
        depth: Depth,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(Report, usize), LogsError> {
        let failed = |error| LogsError::Index { path: self.setup.data.clone(), error };
        let mut lists = Lists::read(&index.connection).map_err(failed)?;
        let (seen, blocked) = scan::walk(&self.setup.homes, &mut lists);
        lists.write(&index.connection).map_err(failed)?;
        let files = seen.len() as u64;
        let known = self.all_units(index)?;
        let own = self.own()?;
        let (more, deleted) = own.as_ref().map_or(Ok(Default::default()), |own| own.seen(&seen, &known))?;
        index.delete(&deleted).map_err(failed)?;
        let plan = scan::plan(index, [seen, more].into_iter().flatten().collect(), &known, depth).map_err(failed)?;
        let work = scan::run(index, plan.tasks, &Way { depth, keep: self.setup.keep, own }, progress)?;
        let blocked: Vec<_> = blocked.into_iter().map(troubles::blocked).collect();
        let (troubles, unknown) = troubles::count(&index.connection).map_err(failed)?;
        let report = Report {
            files,
            read: work.read,
            bytes: work.bytes,
            gone: plan.gone,
            troubles: blocked.len() as u64 + troubles,
            unknown,
        };
        *self.blocked.lock().unwrap_or_else(PoisonError::into_inner) = blocked;
        Ok((report, work.lost))
    }

    /// The homes that it looks in.
    #[must_use]
    pub fn homes(&self) -> &[Home] {
        &self.setup.homes
    }

    /// Switchboard's own log, where its sessions are meant.
    fn own(&self) -> Result<Option<Own>, LogsError> {
        let Some(ours) = self.setup.own.as_ref().filter(|_| !self.setup.alone) else { return Ok(None) };
        Ok(Some(Own { log: ours.log()?, path: self.setup.data.clone() }))
    }

    /// What tokens cost: the prices that come with the program, with those of the data folder over them.
    ///
    /// # Errors
    /// If the data folder has prices that make no sense.
    pub fn prices(&self) -> Result<Cow<'static, Prices>, LogsError> {
        Ok(Prices::kept_in(&self.setup.data)?)
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
