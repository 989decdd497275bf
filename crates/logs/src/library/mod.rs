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
    borrow::Cow,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_agents::Depth;
use switchboard_store::Log;

pub use health::Health;

use crate::{
    Home, LogsError, Progress, Report, Trouble,
    index::{Index, units},
    scan,
    usage::Prices,
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
    /// Nothing else is shown.
    only: Option<Vec<PathBuf>>,
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

    /// Shows only what lies below these folders, if there are any, or in the homes that were found there. What else the
    /// index knows is as if it were not there.
    #[must_use]
    pub fn only(mut self, named: &[PathBuf]) -> Self {
        let folders = named.iter().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        let homes = self.setup.homes.iter().map(|home| home.folder.clone());
        self.only = (!named.is_empty()).then(|| folders.chain(homes).collect());
        self
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

    /// The homes that it looks in.
    #[must_use]
    pub fn homes(&self) -> &[Home] {
        &self.setup.homes
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
