//! `switchboard serve`: sessions over HTTP, from the first connection to a shutdown that takes at most ten seconds.

mod args;
mod startup_message;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

pub use args::ServeArgs;
use startup_message::{ServerAccess, open_browser, print_installed_agents, print_startup_message};
use switchboard_engine::parse_domain;
use switchboard_serve::{
    Drain,
    guard::{AccessToken, Guard, GuardConfig},
    listen::{CertificateFiles, ConnectionLimits, HttpServer, ListenAddress, ListenError, Listener, ServerTls},
};
use switchboard_store::{Retention, SessionLog};
use tokio::{task::spawn_blocking, time::sleep};

use crate::{
    cluster,
    data::{self, PrivateAccess, ServiceLimits, SessionHost},
    failure::Failure,
    host,
    signals::{StopSignals, listen_to_hangup},
    terminal::print_note,
    token,
};

/// From the signal to the exit.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(9);

/// Sessions get this much of it; the rest is for connections.
const SESSION_STOP_TIMEOUT: Duration = Duration::from_secs(7);

/// For operations that cannot be interrupted.
const FINAL_TIMEOUT: Duration = Duration::from_millis(500);

/// The first check is delayed so that it does not slow down the start of the server.
const FIRST_EXPIRY_DELAY: Duration = Duration::from_secs(10);

const EXPIRY_INTERVAL: Duration = Duration::from_secs(3600);

pub fn run(args: &ServeArgs) -> Result<ExitCode, Failure> {
    let plan = ServePlan::new(args)?;
    host::raise_open_file_limit();
    let runtime = host::build_server_runtime()?;
    let ended = runtime.block_on(async {
        let mut signals = match plan.tls {
            // Hangups read the certificate again.
            Some(_) => StopSignals::listen_except_hangup()?,
            None => StopSignals::listen_unless_ignored()?,
        };
        let running = tokio::select! {
            running = start_server(plan) => running?,
            // A cluster that is not there is waited for.
            _ = signals.next() => return Ok(ExitCode::from(130)),
        };
        signals.next().await;
        Ok(shut_down(running, &mut signals).await)
    });
    runtime.shutdown_timeout(FINAL_TIMEOUT);
    ended
}

/// A server to start, with checked arguments.
struct ServePlan<'a> {
    args: &'a ServeArgs,
    folder: PathBuf,
    cwd: PathBuf,
    roots: Vec<PathBuf>,
    token: Option<AccessToken>,
    tls: Option<ServerTls>,
}

struct RunningServer {
    pub server: HttpServer,
    /// The socket for other Switchboard processes.
    pub private: Option<PrivateAccess>,
    pub data: SessionHost,
    pub drain: Drain,
}

impl<'a> ServePlan<'a> {
    pub fn new(args: &'a ServeArgs) -> Result<Self, Failure> {
        if args.no_auth
            && let Some(open) = args.listen.iter().find(|address| !address.is_local())
        {
            let cause = format!(
                "anyone who can reach {open} could run commands as you\nhint: omit the option, or listen on 127.0.0.1"
            );
            return Err(Failure::BadValue { option: "--no-auth", cause });
        }
        let folder = host::data_directory(args.data.clone())?;
        let token =
            if args.no_auth { None } else { Some(token::resolve_server_token(&folder, args.token_file.as_deref())?) };
        let cwd = directory_option("--cwd", args.cwd.as_deref().unwrap_or(Path::new(".")))?;
        let roots = args.root.iter().map(|root| directory_option("--root", root)).collect::<Result<_, _>>()?;
        Ok(Self { args, folder, cwd, roots, token, tls: load_tls(args)? })
    }

    fn rules(&self) -> GuardConfig {
        GuardConfig {
            token: self.token.clone(),
            hosts: self.args.allow_host.clone(),
            origins: self.args.allow_origin.clone(),
            rate: self.args.rate(),
            unidentified_callers: self.args.unseen(),
            has_tls: self.tls.is_some(),
            ..GuardConfig::default()
        }
    }

    fn listeners(&self) -> Result<Vec<Listener>, ListenError> {
        let bound: Result<Vec<_>, _> = self.args.listen.iter().map(Listener::bind).collect();
        Ok(bound?.into_iter().flatten().collect())
    }
}

/// Reads the certificate, if there is one.
fn load_tls(args: &ServeArgs) -> Result<Option<ServerTls>, Failure> {
    let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) else { return Ok(None) };
    if !args.listen.iter().any(|address| matches!(address, ListenAddress::Tcp(_))) {
        let cause = "only Unix sockets are listened on, and they are not encrypted";
        return Err(Failure::bad_value("--tls-cert", cause));
    }
    let files = CertificateFiles { certificate: host::absolute_path(certificate), key: host::absolute_path(key) };
    Ok(Some(ServerTls::load(files)?))
}

/// Reads the certificate again at every hangup, for as long as the server runs.
fn reload_at_hangup(tls: ServerTls) -> Result<(), Failure> {
    let mut hangup = listen_to_hangup()?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let reloaded = tls.clone();
            match spawn_blocking(move || reloaded.reload()).await {
                Ok(Ok(())) => print_note("the TLS certificate was read again"),
                Ok(Err(error)) => {
                    print_note(&format!("error: {error}\nthe previous TLS certificate stays in use"));
                }
                // The runtime is shutting down.
                Err(_) => return,
            }
        }
    });
    Ok(())
}

fn directory_option(option: &'static str, folder: &Path) -> Result<PathBuf, Failure> {
    let bad = |cause: String| Failure::BadValue { option, cause: format!("{}: {cause}", folder.display()) };
    let real = std::fs::canonicalize(folder).map_err(|error| bad(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(bad("not a directory".to_owned())) }
}

/// Listens, opens the log and serves. Clients that connect in the meantime wait.
async fn start_server(plan: ServePlan<'_>) -> Result<RunningServer, Failure> {
    let listeners = plan.listeners()?;
    let mut data = open_host(&plan).await?;
    data.isolation_timeout = plan.args.isolation_timeout.unwrap_or(data.isolation_timeout);
    if plan.args.sandbox_best_effort {
        data.engine.accept_weaker_sandbox();
    }
    let domains = plan.args.allow_domain.iter().filter_map(|domain| parse_domain(domain).ok());
    data.engine.allow_domains(domains.flatten());
    listeners.iter().filter_map(Listener::tcp_address).for_each(|address| data.engine.shield_listener(address));
    if let Some(file) = &plan.args.token_file {
        data.engine.hide_from_sessions(file.clone());
    }
    if let Some(key) = &plan.args.tls_key {
        data.engine.hide_from_sessions(host::absolute_path(key));
    }
    if let Some(token) = &plan.token {
        data.engine.mask_secret(token.expose().to_owned());
    }
    let (most_sessions, limits) = (plan.args.max_sessions, plan.args.timeouts.limits());
    let service = data.create_service(
        plan.cwd.clone(),
        ServiceLimits { roots: plan.roots.clone(), most_sessions, timeouts: limits },
    )?;
    let (private, drain) = (data.listen_privately(&service), service.drain().clone());
    let router = Guard::new(plan.rules()).around(service.router());
    let limits = ConnectionLimits { max_connections: plan.args.max_connections, ..ConnectionLimits::default() };
    let mut server = HttpServer::new(limits, drain.clone()).with_tls(plan.tls.clone());
    let addresses = listeners.iter().map(Listener::address).collect();
    let access = ServerAccess { addresses, has_tls: plan.tls.is_some(), token: plan.token.as_ref() };
    if let Some(tls) = &plan.tls {
        reload_at_hangup(tls.clone())?;
    }
    print_startup_message(&access, &data);
    print_installed_agents(&data.engine);
    if plan.args.open {
        open_browser(&access, &data);
    }
    // Started before: the browser must not be taken for a process of a session.
    data.adopt_orphans()?;
    for listener in listeners {
        server.listen(listener, router.clone());
    }
    if let Some(age) = plan.args.keep.filter(|_| data.owner.is_some()) {
        expire_old_sessions(data.engine.log().clone(), age);
    }
    Ok(RunningServer { server, private, data, drain })
}

/// Opens the log. The servers of a cluster may take a while to answer.
async fn open_host(plan: &ServePlan<'_>) -> Result<SessionHost, Failure> {
    let (folder, durable) = (plan.folder.clone(), plan.args.durable);
    let Some(setup) = plan.args.cluster_setup(&host::absolute_path(&folder))? else {
        return data::open_session_host(Some(folder), durable, None);
    };
    let opening = spawn_blocking(move || {
        let name = setup.options.node.name.clone();
        let opened = data::open_session_host(Some(folder.clone()), durable, Some(setup))?;
        cluster::remember_node_name(&folder, &name);
        Ok(opened)
    });
    opening.await.unwrap_or_else(|error| Err(Failure::Machine(error.to_string())))
}

/// Shuts the server down gracefully, or immediately after a second signal.
async fn shut_down(running: RunningServer, signals: &mut StopSignals) -> ExitCode {
    drop(writeln!(
        std::io::stderr(),
        "stopping: agents have {} seconds to end; press Ctrl-C again to stop immediately",
        SHUTDOWN_TIMEOUT.as_secs()
    ));
    tokio::select! {
        () = drain_and_stop(running) => ExitCode::SUCCESS,
        _ = signals.next() => ExitCode::from(130),
    }
}

async fn drain_and_stop(running: RunningServer) {
    let RunningServer { mut server, private, data, drain } = running;
    let began = Instant::now();
    let left = || SHUTDOWN_TIMEOUT.saturating_sub(began.elapsed());
    server.stop().await;
    drain.begin();
    if let Some(cluster) = &data.cluster {
        cluster.update_node(|node| node.is_draining = true);
    }
    data.engine.stop_all_sessions(SESSION_STOP_TIMEOUT).await;
    server.close(left()).await;
    if let Some(private) = private {
        private.close(left()).await;
    }
    // A client may have started another session at the last moment.
    data.engine.stop_all_sessions(left().max(FINAL_TIMEOUT)).await;
    if let Some(cluster) = &data.cluster {
        cluster.leave().await;
    }
}

/// Deletes sessions that ended longer ago than `age`, for as long as the server runs.
fn expire_old_sessions(log: Arc<dyn SessionLog>, age: Duration) {
    tokio::spawn(async move {
        sleep(FIRST_EXPIRY_DELAY).await;
        loop {
            let (log, retention) = (log.clone(), Retention { older_than: Some(age), ..Retention::default() });
            // A failed deletion is tried again the next time.
            drop(spawn_blocking(move || log.expire_sessions(&retention, host::now())).await);
            sleep(EXPIRY_INTERVAL).await;
        }
    });
}
