//! All logs of this machine, and the index over them.

mod health;
mod ledger;
mod matching;
mod search;
mod sessions;
mod snippet;
mod terms;
mod transcript;
mod troubles;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_agents::Depth;
use switchboard_store::Log;

pub use health::Health;

use crate::{
    Home, LogsError, Progress, Report, Trouble,
    index::{
        Index,
        units::{self, Unit},
    },
    scan,
};

/// What a library is made of.
pub struct Setup {
    /// Where the index lies.
    pub data: PathBuf,
    /// The agents' folders.
    pub homes: Vec<Home>,
    /// Copies of the raw records are kept too.
    pub keep: bool,
    /// Switchboard's own sessions.
    pub own: Option<Arc<dyn Log>>,
}

/// All logs of this machine, and the index over them. Several processes can have it open; whoever finds something new
/// adds it.
pub struct Library {
    setup: Setup,
    index: Mutex<Index>,
    /// What could not even be looked through at the last refresh.
    blocked: Mutex<Vec<Trouble>>,
    /// Only logs in these folders are meant, though the index may know others.
    only: Option<Vec<Home>>,
}

impl Library {
    /// Opens the index, and makes it if there is none.
    ///
    /// # Errors
    /// If it can neither be opened nor made.
    pub fn open(setup: Setup) -> Result<Self, LogsError> {
        let index = Mutex::new(Index::open(&setup.data)?);
        Ok(Self { setup, index, blocked: Mutex::default(), only: None })
    }

    /// Brings the index up to date: reads what is new, from several threads, and tells how far it is.
    ///
    /// # Errors
    /// If the index cannot be written. What cannot be read of the logs is no error; `troubles` tells of it.
    pub fn refresh(&self, depth: Depth, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, LogsError> {
        let mut index = self.index();
        let (seen, blocked) = scan::walk(&self.setup.homes);
        let files = seen.len() as u64;
        let failed = |error| LogsError::Index { path: self.setup.data.clone(), error };
        let known = units::all(&index.connection).map_err(failed)?;
        let plan = scan::plan(&mut index, seen, known, depth).map_err(failed)?;
        let work = scan::run(&mut index, plan.tasks, depth, self.setup.keep, progress)?;
        let blocked: Vec<_> = blocked.into_iter().map(troubles::blocked).collect();
        let report = Report {
            files,
            read: work.read,
            bytes: work.bytes,
            gone: plan.gone,
            troubles: blocked.len() as u64 + troubles::count(&index.connection).map_err(failed)?,
        };
        *self.blocked.lock().unwrap_or_else(PoisonError::into_inner) = blocked;
        Ok(report)
    }

    /// Answers with what lies in these folders alone, or lay there. The index may know more.
    #[must_use]
    pub fn only(self, homes: Vec<Home>) -> Self {
        Self { only: Some(homes), ..self }
    }

    /// The homes that it looks in.
    #[must_use]
    pub fn homes(&self) -> &[Home] {
        &self.setup.homes
    }

    /// The logs that are meant.
    fn known(&self, index: &Index) -> Result<Vec<Unit>, LogsError> {
        let mut units = units::all(&index.connection).map_err(|error| index.error(error))?;
        if let Some(homes) = &self.only {
            let is_in = |unit: &Unit, home: &Home| {
                home.logs.agent == unit.agent && home.machine == unit.machine && unit.path.starts_with(&home.folder)
            };
            units.retain(|unit| homes.iter().any(|home| is_in(unit, home)));
        }
        Ok(units)
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
