//! The data directory: whether it can be trusted, the session log in it, and the engine that runs sessions on it.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use switchboard_cluster::{ClusterLog, NodeDescription, RequestServer};
use switchboard_engine::{Engine, SessionTimeouts, supervise::adopt_orphans, this_process};
use switchboard_event::ApprovalMode;
use switchboard_logs::candidate_homes;
use switchboard_serve::{
    Drain, NodeUpkeep, PrivateServer, Service, ServiceConfig, guard::AccessToken, serve_private_socket,
};
use switchboard_store::{LogHealth, SessionLog as _, SqliteStore, StoreOptions};

use crate::{
    cluster::{ClusterArgs, ClusterSetup},
    failure::Failure,
    host,
    view::sanitize::sanitize_line,
};

/// How long agents may run by default while the log of a cluster cannot be reached.
const ISOLATION_TIMEOUT: Duration = Duration::from_secs(60);

/// An engine with a writable session log.
pub struct SessionHost {
    pub engine: Engine,
    pub folder: PathBuf,
    /// The number of this process among those that run sessions; `None` if the log is read-only.
    pub owner: Option<u64>,
    /// The log, if other nodes share it.
    pub cluster: Option<Arc<ClusterLog>>,
    /// How long agents may run while the log of a cluster cannot be reached.
    pub isolation_timeout: Duration,
    owners: PathBuf,
}

/// What lets other processes control the sessions of this one.
pub struct PrivateAccess {
    socket: Option<PrivateServer>,
    nodes: Option<(RequestServer, NodeUpkeep)>,
}

impl PrivateAccess {
    /// Connected clients may finish for a while and are then disconnected.
    pub async fn close(self, within: Duration) {
        if let Some(socket) = self.socket {
            socket.close(within).await;
        }
        drop(self.nodes);
    }
}

#[derive(Default)]
pub struct ServiceLimits {
    /// The directories in which sessions may work; any, if there are none.
    pub roots: Vec<PathBuf>,
    pub most_sessions: Option<usize>,
    pub timeouts: SessionTimeouts,
}

/// Opens the log to run sessions, and ends sessions that a crash left open. The log is that of the cluster, if one is
/// given, otherwise that of the data directory.
pub fn open_session_host(
    folder: Option<PathBuf>,
    durable: bool,
    cluster: Option<ClusterSetup>,
) -> Result<SessionHost, Failure> {
    let folder = host::absolute_path(&host::data_directory(folder)?);
    match cluster {
        Some(setup) => open_cluster_host(folder, durable, &setup),
        None => open_local_host(folder, durable),
    }
}

/// Like [`open_session_host`], for a process that is not a server.
pub fn join_session_host(folder: Option<PathBuf>, cluster: &ClusterArgs) -> Result<SessionHost, Failure> {
    let data_directory = host::absolute_path(&host::data_directory(folder.clone())?);
    open_session_host(folder, false, cluster.setup(&data_directory, NodeDescription::default())?)
}

fn open_local_host(folder: PathBuf, durable: bool) -> Result<SessionHost, Failure> {
    let options = StoreOptions { owner: Some(this_process()), durable, ..StoreOptions::default() };
    let store = SqliteStore::open(&folder, &options)?;
    let (owner, owners) = (store.owner_number(), store.owners_directory());
    let engine = Engine::new(Arc::new(store), host::host_environment_with_temp(folder.join("tmp"))?);
    prepare_host(SessionHost { engine, folder, owner, cluster: None, isolation_timeout: ISOLATION_TIMEOUT, owners })
}

fn open_cluster_host(folder: PathBuf, durable: bool, setup: &ClusterSetup) -> Result<SessionHost, Failure> {
    let log = Arc::new(ClusterLog::open(setup.options.clone())?);
    if durable {
        print_warning("--durable: whether the NATS servers have `sync_interval: always` could not be checked");
    }
    let engine = Engine::new(log.clone(), host::host_environment_with_temp(folder.join("tmp"))?);
    setup.protect(&engine);
    let (owner, owners) = (Some(log.owner_number()), folder.join("cluster"));
    prepare_host(SessionHost {
        engine,
        folder,
        owner,
        cluster: Some(log),
        isolation_timeout: ISOLATION_TIMEOUT,
        owners,
    })
}

/// Prepares the data directory and the engine for sessions.
fn prepare_host(opened: SessionHost) -> Result<SessionHost, Failure> {
    let SessionHost { engine, folder, owner, owners, .. } = &opened;
    let data_directory = host::data_directory(None)?;
    if owner.is_some() {
        // Created now, so that it can be hidden from sessions before a server needs it.
        drop(AccessToken::load_or_create(folder));
    }
    if owner.is_some()
        && let Err(error) = engine.recover_sessions()
    {
        // Stored sessions can be read nevertheless.
        print_warning(&format!("sessions that a crash left open could not be ended: {error}"));
    }
    match engine.log().check_health() {
        LogHealth::DiskFull => {
            print_warning("no space left on device: sessions can be read and deleted, and not started")
        }
        LogHealth::Sound | LogHealth::ReadOnly | LogHealth::Unreachable | LogHealth::Missing(_) => {}
    }
    engine.protect_from_sessions(folder.clone());
    engine.store_network_grants_in(folder.join("network.json"));
    // Other servers of the user usually have the default directory.
    for path in [folder.clone(), data_directory].iter().flat_map(|folder| secret_paths(folder)) {
        engine.hide_from_sessions(path);
    }
    engine.hide_from_sessions(owners.clone());
    Ok(opened)
}

/// Returns the files of a data directory that are hidden from sessions.
fn secret_paths(folder: &Path) -> [PathBuf; 2] {
    [folder.join("token"), folder.join("owners")]
}

pub fn open_engine(folder: Option<PathBuf>) -> Result<Engine, Failure> {
    Ok(open_session_host(folder, false, None)?.engine)
}

/// Opens the log to read or delete sessions. Sessions that a crash left open are ended first, so that none is reported
/// as running.
pub fn open_log(folder: Option<PathBuf>) -> Result<Arc<SqliteStore>, Failure> {
    let folder = host::data_directory(folder)?;
    let store = SqliteStore::open(&folder, &StoreOptions::default())?;
    if !store.is_read_only() && !store.list_abandoned()?.is_empty() {
        drop(open_engine(Some(folder))?);
    }
    Ok(Arc::new(store))
}

fn print_warning(text: &str) {
    drop(writeln!(std::io::stderr(), "warning: {text}"));
}

impl SessionHost {
    /// Returns a directory that is hidden from confined sessions.
    pub fn private_directory(&self) -> &Path {
        &self.owners
    }

    /// Makes this process the parent of everything that a session leaves behind when its supervisor is killed. It must
    /// not start other programs from then on.
    pub fn adopt_orphans(&self) -> Result<(), Failure> {
        adopt_orphans().map_err(|error| Failure::Machine(format!("cannot adopt orphaned processes: {error}")))
    }

    /// Returns the operations of a server. `cwd` is the directory of sessions that name none.
    pub fn create_service(&self, cwd: PathBuf, bounds: ServiceLimits) -> Result<Service, Failure> {
        let ServiceLimits { roots, most_sessions, timeouts } = bounds;
        let config = self.service_setup(cwd)?;
        Ok(Service::new(ServiceConfig { roots, max_sessions: most_sessions, timeouts, ..config }))
    }

    /// Lets other processes control the sessions of this one, but not start new ones: this process ends with its own
    /// session.
    pub fn open_private_socket(&self) -> Result<Option<PrivateAccess>, Failure> {
        let service = Service::for_current_sessions(self.service_setup(host::absolute_path(".".as_ref()))?);
        Ok(self.listen_privately(&service))
    }

    fn service_setup(&self, cwd: PathBuf) -> Result<ServiceConfig, Failure> {
        Ok(ServiceConfig {
            engine: self.engine.clone(),
            host: host::host_environment_with_temp(self.folder.join("tmp"))?,
            data: self.folder.clone(),
            owner: self.owner,
            cluster: self.cluster.clone(),
            cwd,
            roots: Vec::new(),
            timeouts: SessionTimeouts::default(),
            max_sessions: None,
            approval_mode: ApprovalMode::Ask,
            drain: Drain::new(),
            homes: candidate_homes(&host::host_environment()?, &[], None),
            time_zone: host::time_zone(),
        })
    }

    /// Listens for other Switchboard processes. If that fails, they cannot control the sessions of this one.
    pub fn listen_privately(&self, service: &Service) -> Option<PrivateAccess> {
        if self.cluster.is_some() {
            let nodes = service.serve_nodes().zip(service.maintain_node(self.isolation_timeout));
            return Some(PrivateAccess { socket: None, nodes });
        }
        let listening = serve_private_socket(&self.owners, self.owner?, service);
        if let Err(error) = &listening {
            drop(writeln!(std::io::stderr(), "warning: other commands cannot steer sessions of this one: {error}"));
        }
        Some(PrivateAccess { socket: listening.ok(), nodes: None })
    }
}

/// Whether a data directory can be trusted: other users who can write to it could replace the log and the token.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DirectoryCheck {
    /// The reason not to use it.
    refusal: Option<String>,
    warnings: Vec<String>,
}

impl DirectoryCheck {
    /// Checks a directory, which need not exist, and its ancestors. One that belongs to another user is refused, unless
    /// this user is root (in containers, directories of the host often belong to others).
    pub fn new(directory: &Path) -> Self {
        let us = rustix::process::geteuid();
        let mut check = Self::default();
        if let Ok(found) = fs::metadata(directory) {
            if found.uid() != us.as_raw() && !us.is_root() {
                check.refusal = Some("belongs to another user".to_owned());
            }
            if found.mode() & 0o022 != 0 {
                check.warnings.push("can be written by other users; run `chmod go-w` on it".to_owned());
            }
        }
        let real = fs::canonicalize(directory).unwrap_or_else(|_| host::absolute_path(directory));
        let is_open = |path: &&Path| fs::metadata(path).is_ok_and(|found| found.mode() & 0o1002 == 0o0002);
        if let Some(open) = real.ancestors().skip(1).find(is_open) {
            let open = sanitize_line(&open.to_string_lossy());
            let text = format!("can be replaced by other users: {open} is writable for all; run `chmod o-w` on it");
            check.warnings.push(text);
        }
        check
    }

    /// Joins the refusal and the warnings in one line.
    pub fn summary(&self) -> Option<String> {
        let all: Vec<_> = self.refusal.iter().chain(&self.warnings).map(String::as_str).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// Warns, once, about a data directory that others can write to, and refuses one that belongs to another user.
pub fn check_data_directory(directory: &Path) -> Result<(), Failure> {
    static IS_WARNED: AtomicBool = AtomicBool::new(false);
    let (check, path) = (DirectoryCheck::new(directory), sanitize_line(&directory.to_string_lossy()));
    if let Some(refusal) = check.refusal {
        return Err(Failure::Refused(format!(
            "the data directory {path} {refusal}\nhint: name another one with --data"
        )));
    }
    if !check.warnings.is_empty() && !IS_WARNED.swap(true, Ordering::Relaxed) {
        for warning in check.warnings {
            drop(writeln!(std::io::stderr(), "warning: the data directory {path} {warning}"));
        }
    }
    Ok(())
}
