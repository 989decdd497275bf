//! The folder where sessions are kept: who works there, and how others reach them.

use std::{path::PathBuf, sync::Arc};

use switchboard_engine::{Engine, Limits, this_process};
use switchboard_event::ApprovalMode;
use switchboard_serve::{Drain, Private, Service, Setup, private};
use switchboard_store::{Log as _, Options, Store};

use crate::{failure::Failure, host};

/// A process that runs sessions in a data folder.
pub struct Workplace {
    /// What runs them.
    pub engine: Engine,
    folder: PathBuf,
    owners: PathBuf,
    /// Our number among those who share the folder.
    number: Option<u64>,
}

impl Workplace {
    /// Opens the log to run sessions, and ends what a crash left open.
    pub fn open(folder: Option<PathBuf>) -> Result<Self, Failure> {
        let folder = host::data_folder(folder)?;
        let options = Options { owner: Some(this_process()), ..Options::default() };
        let store = Store::open(&folder, &options)?;
        let (owners, number) = (store.owners_folder(), store.owner());
        let engine = Engine::new(Arc::new(store), host::machine_with(folder.join("tmp"))?);
        engine.recover()?;
        Ok(Self { engine, folder, owners, number })
    }

    /// Lets others steer the sessions that run here, as long as it is kept. Nobody begins others: we end with them.
    pub fn door(&self) -> Result<Private, Failure> {
        let (machine, drain) = (self.engine.machine().clone(), Drain::new());
        let service = Service::passing(Setup {
            engine: self.engine.clone(),
            machine,
            data: self.folder.clone(),
            owner: self.number,
            cwd: host::absolute(".".as_ref()),
            roots: Vec::new(),
            limits: Limits::default(),
            approval: ApprovalMode::Ask,
            drain: drain.clone(),
        });
        let number = self.number.unwrap_or_default();
        private(&self.owners, number, service.router(), drain)
            .map_err(|cause| Failure::Machine(format!("no other terminal can reach this session: {cause}")))
    }
}

/// Opens the log to look at sessions, or to delete some. What a crash left open is ended first, so that nothing is said
/// to run that does not.
pub fn log(folder: Option<PathBuf>) -> Result<Arc<Store>, Failure> {
    let folder = host::data_folder(folder)?;
    let store = Store::open(&folder, &Options::default())?;
    if !store.is_read_only() && !store.abandoned()?.is_empty() {
        drop(Workplace::open(Some(folder))?);
    }
    Ok(Arc::new(store))
}
