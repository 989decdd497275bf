//! The folder where sessions are kept, and the engine that works on it.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use switchboard_engine::{Engine, SessionTimeouts, supervise::adopt_orphans, this_process};
use switchboard_event::ApprovalMode;
use switchboard_logs::candidate_homes;
use switchboard_serve::{Drain, Private, Service, Setup, guard::Token, private};
use switchboard_store::{LogHealth, SessionLog as _, SqliteStore, StoreOptions};

use crate::{failure::Failure, host};

/// The log, open to run sessions.
pub struct Data {
    /// What runs them.
    pub engine: Engine,
    /// Where all of it lies.
    pub folder: PathBuf,
    /// Our number among the processes that run sessions; none if the log cannot be written.
    pub owner: Option<u64>,
    owners: PathBuf,
}

/// What sessions may take.
#[derive(Default)]
pub struct Bounds {
    /// The folders in which they may work; none means anywhere.
    pub roots: Vec<PathBuf>,
    /// How many run at once.
    pub most_sessions: Option<usize>,
    /// How long they wait.
    pub limits: SessionTimeouts,
}

/// Opens the log to run sessions, and ends what a crash left open.
pub fn open(folder: Option<PathBuf>, durable: bool) -> Result<Data, Failure> {
    let folder = host::absolute(&host::data_folder(folder)?);
    let options = StoreOptions { owner: Some(this_process()), durable, ..StoreOptions::default() };
    let store = SqliteStore::open(&folder, &options)?;
    let (owner, owners) = (store.owner_number(), store.owners_directory());
    let engine = Engine::new(Arc::new(store), host::machine_with(folder.join("tmp"))?);
    if owner.is_some() {
        // Made now, so that it can be hidden from sessions before a server needs it.
        drop(Token::of_folder(&folder));
    }
    if owner.is_some()
        && let Err(error) = engine.recover_sessions()
    {
        // What is there can be read all the same.
        warn(&format!("sessions that a crash left open could not be ended: {error}"));
    }
    match engine.log().check_health() {
        LogHealth::DiskFull => warn("no space left on device: sessions can be read and deleted, and not started"),
        LogHealth::Sound | LogHealth::ReadOnly | LogHealth::Missing(_) => {}
    }
    engine.protect_from_sessions(folder.clone());
    engine.store_network_grants_in(folder.join("network.json"));
    // Other servers of the user are most often in the usual place.
    for path in [folder.clone(), host::data_folder(None)?].iter().flat_map(|folder| secrets_of(folder)) {
        engine.hide_from_sessions(path);
    }
    engine.hide_from_sessions(owners.clone());
    Ok(Data { engine, folder, owner, owners })
}

/// What only programs outside of sessions may see of a data directory.
fn secrets_of(folder: &Path) -> [PathBuf; 2] {
    [folder.join("token"), folder.join("owners")]
}

/// The same, where only the engine is wanted.
pub fn engine(folder: Option<PathBuf>) -> Result<Engine, Failure> {
    Ok(open(folder, false)?.engine)
}

/// Opens the log to look at sessions, or to delete some. What a crash left open is ended first, so that nothing is said
/// to run that does not.
pub fn log(folder: Option<PathBuf>) -> Result<Arc<SqliteStore>, Failure> {
    let folder = host::data_folder(folder)?;
    let store = SqliteStore::open(&folder, &StoreOptions::default())?;
    if !store.is_read_only() && !store.list_abandoned()?.is_empty() {
        drop(engine(Some(folder))?);
    }
    Ok(Arc::new(store))
}

fn warn(text: &str) {
    drop(writeln!(std::io::stderr(), "warning: {text}"));
}

impl Data {
    /// A directory that confined sessions do not see.
    pub fn private_directory(&self) -> &Path {
        &self.owners
    }

    /// Makes this process the parent of all that a session may leave behind when its supervisor is killed. It must not
    /// start other programs from then on.
    pub fn adopt_orphans(&self) -> Result<(), Failure> {
        adopt_orphans().map_err(|error| Failure::Machine(format!("cannot adopt orphaned processes: {error}")))
    }

    /// What can be asked of a server, with a folder for sessions that name none.
    pub fn service(&self, cwd: PathBuf, bounds: Bounds) -> Result<Service, Failure> {
        let Bounds { roots, most_sessions, limits } = bounds;
        Ok(Service::new(Setup { roots, most_sessions, limits, ..self.setup(cwd)? }))
    }

    /// Lets other processes steer the sessions of this one, but not start new ones: this process ends with its own.
    pub fn door(&self) -> Result<Option<Private>, Failure> {
        let service = Service::passing(self.setup(host::absolute(".".as_ref()))?);
        Ok(self.private(&service))
    }

    fn setup(&self, cwd: PathBuf) -> Result<Setup, Failure> {
        Ok(Setup {
            engine: self.engine.clone(),
            machine: host::machine_with(self.folder.join("tmp"))?,
            data: self.folder.clone(),
            owner: self.owner,
            cwd,
            roots: Vec::new(),
            limits: SessionTimeouts::default(),
            most_sessions: None,
            approval: ApprovalMode::Ask,
            drain: Drain::new(),
            homes: candidate_homes(&host::machine()?, &[], None),
            zone: host::zone(),
        })
    }

    /// Listens for other processes of ours, which steer our sessions. Where that cannot be, they cannot.
    pub fn private(&self, service: &Service) -> Option<Private> {
        let listening = private(&self.owners, self.owner?, service);
        if let Err(error) = &listening {
            drop(writeln!(std::io::stderr(), "warning: other commands cannot steer sessions of this one: {error}"));
        }
        listening.ok()
    }
}
