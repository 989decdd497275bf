//! The engine: starts sessions and keeps track of them. Requests are checked here before anything starts.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::join_all;
use parking_lot::Mutex;
use switchboard_agents::{AgentPrompt, RecordTranslator, SessionContext, StdinMode, TranslatorOptions, find_agent};
use switchboard_event::{ErrorCode, Fault, Id, Notice, SessionConfig, Usage};
use switchboard_store::{AgentRun, NewSession, ProcessIdentity, SessionLog, StoreError};
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};
use tracing::{Instrument as _, error, info, info_span, warn};

use crate::{
    HostEnvironment, HostRule, StartError, StartRequest,
    confinement::SandboxDefaults,
    follow::LiveTail,
    host::{boot_id, node_name},
    mask::SecretMask,
    paths::{WorkingDirectory, Workspace},
    prepare::{PreparedSession, SessionSetup, check_abilities},
    recover::{end_session, recover_sessions},
    request::ResumeTarget,
    session::{ActorParts, AgentLink, EventWriter, NetworkApprovals, PrivateDirectory, SessionActor, SessionHandle},
    session_registry::{SessionRegistry, SessionReservation},
    supervise::{ProcessSpec, RunningAgent, start_agent},
};

/// Switchboard's own variables, which no agent gets.
const OWN_VARIABLES: [&str; 3] = ["SWITCHBOARD_TOKEN", "SWITCHBOARD_DATA", "SWITCHBOARD_CLUSTER"];

/// Variables that every agent gets, whatever the request passes on.
const COMMON_VARIABLES: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR"];

/// The interval between attempts to write the end of a session after the disk was full.
const WRITE_RETRY_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Engine {
    log: Arc<dyn SessionLog>,
    host: Arc<HostEnvironment>,
    registry: Arc<SessionRegistry>,
    secrets: Arc<Mutex<Vec<String>>>,
    sandbox: Arc<Mutex<SandboxDefaults>>,
}

impl Engine {
    pub fn new(log: Arc<dyn SessionLog>, host: HostEnvironment) -> Self {
        let (secrets, sandbox) = (Arc::default(), Arc::default());
        Self { log, host: Arc::new(host), registry: Arc::default(), secrets, sandbox }
    }

    /// Returns the same engine with another log. Neither knows the sessions of the other.
    pub(crate) fn with_log(&self, log: Arc<dyn SessionLog>) -> Self {
        Self { log, registry: Arc::default(), ..self.clone() }
    }

    pub fn log(&self) -> &Arc<dyn SessionLog> {
        &self.log
    }

    pub fn host(&self) -> &HostEnvironment {
        &self.host
    }

    pub(crate) fn registry(&self) -> &Arc<SessionRegistry> {
        &self.registry
    }

    /// Masks a secret of Switchboard in the records of sessions started from now on, should an agent learn it.
    pub fn mask_secret(&self, secret: String) {
        self.secrets.lock().push(secret);
    }

    /// Hides a file or directory from confined sessions started from now on.
    pub fn hide_from_sessions(&self, path: PathBuf) {
        self.sandbox.lock().hidden.push(path);
    }

    /// Keeps confined sessions started from now on from writing to a directory, even inside a workspace.
    pub fn protect_from_sessions(&self, directory: PathBuf) {
        self.sandbox.lock().protected.push(directory);
    }

    /// Lets confined sessions start even if the kernel cannot enforce all of a sandbox. Each reports the missing
    /// features.
    pub fn accept_weaker_sandbox(&self) {
        self.sandbox.lock().best_effort = true;
    }

    /// Lets confined sessions started from now on reach more hosts.
    pub fn allow_domains(&self, rules: impl IntoIterator<Item = HostRule>) {
        self.sandbox.lock().allowed_domains.extend(rules);
    }

    /// Keeps confined sessions started from now on from an address on which this process listens.
    pub fn shield_listener(&self, address: SocketAddr) {
        self.sandbox.lock().own_listeners.push(address);
    }

    /// Stores permanently allowed hosts in a file.
    pub fn store_network_grants_in(&self, file: PathBuf) {
        self.sandbox.lock().network_grants = Some(file);
    }

    pub fn session(&self, id: &str) -> Option<SessionHandle> {
        self.registry.get(id)
    }

    pub fn sessions(&self) -> Vec<SessionHandle> {
        self.registry.list()
    }

    /// Ends all sessions that run in this process. Those that do not end by themselves within two thirds of the time
    /// are killed.
    pub async fn stop_all_sessions(&self, within: Duration) {
        let sessions = self.sessions();
        let (grace, rest) = (within * 2 / 3, within / 3);
        let cancelled = sessions.iter().map(async |session| drop(session.cancel().await));
        let ended = async {
            join_all(cancelled).await;
            join_all(sessions.iter().map(SessionHandle::wait_for_outcome)).await;
        };
        if timeout(grace, ended).await.is_err() {
            warn!(sessions = self.sessions().len(), "sessions did not end in time and are killed");
            let killed = async {
                join_all(sessions.iter().map(async |session| drop(session.kill().await))).await;
                join_all(sessions.iter().map(SessionHandle::wait_for_outcome)).await;
            };
            // Supervisors kill the remaining agents when this process ends.
            timeout(rest, killed).await.ok();
        }
    }

    /// Stops all sessions that run in this process although the log cannot be reached. Their ends are written once it
    /// can be.
    pub fn stop_isolated_sessions(&self) {
        self.sessions().iter().for_each(SessionHandle::stop_isolated);
    }

    /// Ends the sessions that a crash of another process left open. Returns their number.
    pub fn recover_sessions(&self) -> Result<usize, StartError> {
        Ok(recover_sessions(&*self.log, &self.host)?)
    }

    /// Starts a session, or continues one.
    pub async fn start_session(&self, request: StartRequest) -> Result<SessionHandle, StartError> {
        let agent = request.agent.clone();
        let started = self.try_start_session(request).await;
        if let Err(error) = &started {
            warn!(agent, %error, "session not started");
        }
        started
    }

    async fn try_start_session(&self, mut request: StartRequest) -> Result<SessionHandle, StartError> {
        let _reservation = match request.resume.clone().filter(|_| !request.fork) {
            Some(id) => Some(self.reserve(&id).await?),
            None => None,
        };
        let target = ResumeTarget::find(&*self.log, &mut request)?;
        let agent = find_agent(&request.agent).ok_or_else(|| StartError::UnknownAgent(request.agent.clone()))?;
        check_abilities(agent, &request, target.as_ref())?;
        let cwd = open_working_directory(&mut request)?;
        check_writable_roots(&request.config)?;
        request.config.agent_type = Some(agent.name.to_owned());
        request.config.working_directory = Some(cwd.path().to_string_lossy().into_owned());
        let host = Arc::new(self.host.with_env(self.agent_environment(&request)));
        let private = PrivateDirectory::new(&host.temp, &(host.new_secret)())
            .map_err(|cause| StartError::Files { path: host.temp.clone(), cause })?;
        let (secrets, defaults) = (self.secrets.lock().clone(), self.sandbox.lock().clone());
        let setup = SessionSetup { agent, request, target, cwd, private, host };
        let prepared = PreparedSession::new(&setup, secrets, &defaults)?;
        self.launch(setup, prepared).await
    }

    /// Reserves a session to continue it, and waits for the end of its last run.
    async fn reserve(&self, id: &Id) -> Result<SessionReservation, StartError> {
        if let Some(last_run) = self.session(id).filter(SessionHandle::is_over) {
            last_run.wait_for_outcome().await;
            // Its own task may not have removed it yet.
            self.registry.remove(&last_run);
        }
        self.registry.reserve(id).ok_or_else(|| StartError::AlreadyRunning(id.clone()))
    }

    /// Returns the environment of the agent: that of Switchboard without its own secrets, or only the requested
    /// variables.
    fn agent_environment(&self, request: &StartRequest) -> BTreeMap<String, String> {
        let is_passed = |name: &str| match &request.env_only {
            _ if OWN_VARIABLES.contains(&name) => false,
            Some(only) => COMMON_VARIABLES.contains(&name) || only.iter().any(|entry| entry == name),
            None => true,
        };
        let mut env = self.host.env.clone();
        env.retain(|name, _| is_passed(name));
        env.extend(request.env.clone());
        env
    }

    async fn launch(&self, setup: SessionSetup, mut prepared: PreparedSession) -> Result<SessionHandle, StartError> {
        let continued = setup.target.as_ref().filter(|target| !setup.request.fork && target.is_in_log);
        let id = continued.map_or_else(|| (setup.host.new_id)(), |target| target.id.clone());
        let run_number = continued.map_or(1, |target| target.runs + 1);
        let (mut link, link_events) = AgentLink::new();
        let span = info_span!("session", session = %id, run = run_number, agent = setup.agent.name, node = node_name());
        let running = match prepared.spec.take() {
            Some(spec) => {
                let spec = ProcessSpec { session: id.to_string(), ..spec };
                Some(start_agent(&setup.host.program, spec).instrument(span.clone()).await?)
            }
            None => None,
        };
        self.claim_in_log(&id, &setup, continued, &prepared.mask).await?;
        let start_seq = continued.map_or(0, |target| target.last_seq);
        let tail = LiveTail::new(id.clone(), start_seq, self.registry.budget.clone());
        let mut event_writer = EventWriter::new(id.clone(), self.log.clone(), tail.clone());
        let run = running.as_ref().map(|running| self.run_record(run_number, running));
        let network = running.map(|running| attach_agent(running, &mut prepared, &mut link)).unwrap_or_default();
        event_writer.patch().run.clone_from(&run);
        event_writer.patch().config = continued.map(|_| setup.request.config.clone());
        let usage = setup.target.as_ref().filter(|_| !setup.request.fork).and_then(|target| target.usage.clone());
        let translator = self.translator(&id, &setup, continued, usage.clone(), &prepared);
        let SessionSetup { agent, request, cwd, private, host, .. } = setup;
        let notices = prepared.take_notices(request.config.sandbox_mode.unwrap_or_default());
        let sandbox = prepared.take_session_sandbox((host.now)());
        let sandbox_report = prepared.sandbox.map(Arc::new);
        let (session, channels) =
            SessionHandle::new(id, agent, start_seq, tail, self.log.clone(), sandbox_report, event_writer.in_flight());
        let actor = SessionActor::new(ActorParts {
            agent,
            config: request.config,
            workspace: edit_workspace(&cwd, &host),
            host,
            translator,
            driver: prepared.launch.driver.take(),
            link,
            link_events,
            channels,
            event_writer,
            private: Some(private),
            run,
            audience: request.audience,
            stay: request.stay,
            timeouts: request.timeouts,
            usage: usage.unwrap_or_default(),
            agent_counts_turns: prepared.launch.counts_turns,
            mask: prepared.mask,
            sandbox,
            network,
        });
        self.registry.insert(session.clone());
        tokio::spawn(run_session(self.clone(), session.clone(), actor, request.prompt, notices).instrument(span));
        Ok(session)
    }

    /// Returns the record of a run's processes, by which they are found again if this process is killed.
    fn run_record(&self, run: u32, running: &RunningAgent) -> AgentRun {
        AgentRun {
            run,
            boot: boot_id(),
            supervisor: None,
            agent: Some(ProcessIdentity { pid: running.agent.pid, start: running.agent.start_time }),
            started: (self.host.now)(),
            ended: None,
        }
    }

    /// Creates or claims the session in the log, before any event is written.
    async fn claim_in_log(
        &self,
        id: &Id,
        setup: &SessionSetup,
        continued: Option<&ResumeTarget>,
        mask: &SecretMask,
    ) -> Result<(), StartError> {
        if let Some(head) = continued.map(|target| target.last_seq) {
            let id = id.clone();
            return Ok(self.write_log(move |log| log.claim_session(&id, Some(head)).map(drop)).await?);
        }
        let config = setup.request.config.clone();
        let prompt = setup.request.prompt.as_ref().map(|prompt| prompt.text.as_str()).unwrap_or_default();
        let new = NewSession {
            id: id.clone(),
            agent: Id::from(setup.agent.name),
            created: (self.host.now)(),
            prompt: String::from_utf8_lossy(&mask.mask_bytes(prompt.as_bytes())).into_owned(),
            cwd: setup.cwd.path().to_string_lossy().into_owned(),
            project: config.project_id.clone(),
            config,
        };
        Ok(self.write_log(move |log| log.create_session(new)).await?)
    }

    /// Writes to the log. If that means waiting for other machines, it happens on a thread that may block.
    async fn write_log(
        &self,
        write: impl FnOnce(&dyn SessionLog) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        if !self.log.is_remote() {
            return write(&*self.log);
        }
        let log = self.log.clone();
        spawn_blocking(move || write(&*log)).await.unwrap_or(Err(StoreError::Closed))
    }

    fn translator(
        &self,
        id: &Id,
        setup: &SessionSetup,
        continued: Option<&ResumeTarget>,
        usage: Option<Usage>,
        prepared: &PreparedSession,
    ) -> RecordTranslator {
        let start = SessionContext {
            config: setup.request.config.with_masked_secrets(),
            prompt: setup.request.prompt.as_ref().map(|prompt| prompt.text.clone()),
            resumed: setup.agent_session().cloned(),
            usage_base: usage,
        };
        let options = TranslatorOptions {
            session: Some(id.clone()),
            hold: true,
            agent: Some(setup.agent.name),
            made_up: id.clone(),
            arrival: (self.host.now)(),
            run: continued.map_or(1, |target| target.runs + 1),
            events_before: continued.map_or(0, |target| target.last_seq),
            turns_before: continued.map_or(0, |target| target.turns),
            start,
        };
        RecordTranslator::new(prepared.source, options)
    }

    /// Adds the end of a session to the log as soon as the log can be written again.
    async fn write_end_later(&self, id: &Id, cause: &str) {
        let message = format!("stopped, because the log could not be written: {cause}");
        let fault = Fault::new(ErrorCode::Aborted, message).with_info("unwritten");
        loop {
            sleep(WRITE_RETRY_INTERVAL).await;
            let (engine, id, fault) = (self.clone(), id.clone(), fault.clone());
            let written = spawn_blocking(move || match engine.log.get_session(&id)? {
                Some(session) if !session.state.is_final() && engine.session(&id).is_none() => {
                    end_session(&*engine.log, &engine.host, &session, fault)
                }
                _ => Ok(()),
            });
            // Another process that has taken the session over also ends it.
            if matches!(written.await, Ok(Ok(()) | Err(StoreError::Closed | StoreError::NotOwner(_))) | Err(_)) {
                return;
            }
        }
    }
}

/// Links a process to its session, and writes its input.
fn attach_agent(mut running: RunningAgent, prepared: &mut PreparedSession, link: &mut AgentLink) -> NetworkApprovals {
    running.sandbox.iter().for_each(|report| prepared.record_sandbox(report));
    let network = match running.network.take().zip(prepared.network.take()) {
        Some((network, plan)) => {
            NetworkApprovals::new(link.serve_network(network, plan), prepared.network_grants.take())
        }
        None => NetworkApprovals::default(),
    };
    link.attach(running);
    if let StdinMode::Text(text) = &prepared.launch.input {
        link.write(text.as_str());
        link.close_input();
    }
    network
}

/// Runs a session to its end, including an end that could not be written at first.
async fn run_session(
    engine: Engine,
    session: SessionHandle,
    mut actor: SessionActor,
    prompt: Option<AgentPrompt>,
    notices: Vec<Notice>,
) {
    info!(seq = session.start_seq(), "session started");
    notices.iter().for_each(|notice| actor.write_notice(notice));
    actor.run(prompt).await;
    engine.registry.remove(&session);
    if let Some(cause) = session.wait_for_outcome().await.write_error {
        error!(cause, "the log cannot be written: the end of the session is written later");
        engine.write_end_later(session.id(), &cause).await;
    }
}

/// Returns the working directory: the one that the caller has opened, or the one in the settings.
fn open_working_directory(request: &mut StartRequest) -> Result<WorkingDirectory, StartError> {
    if let Some(opened) = request.working_directory.take() {
        return Ok(opened);
    }
    let path = PathBuf::from(request.config.working_directory.as_deref().unwrap_or("."));
    WorkingDirectory::open(&path).map_err(|cause| StartError::BadDirectory { path, cause: cause.to_string() })
}

/// Returns the workspace that the agent may edit without asking. `~` is the agent's home directory, which the request
/// can change.
fn edit_workspace(cwd: &WorkingDirectory, host: &HostEnvironment) -> Workspace {
    let homes = host.env.get("HOME").map(PathBuf::from).into_iter().chain([host.home.clone()]);
    Workspace::new(cwd.path().to_owned(), homes)
}

/// Checks that additional writable directories exist: a sandbox cannot allow writes to a missing one.
fn check_writable_roots(config: &SessionConfig) -> Result<(), StartError> {
    let mut roots = config.writable_roots.iter().flatten().map(PathBuf::from);
    match roots.find(|root| !root.is_absolute() || !root.is_dir()) {
        None => Ok(()),
        Some(path) => Err(StartError::BadDirectory { path, cause: "not an absolute path of a directory".to_owned() }),
    }
}
