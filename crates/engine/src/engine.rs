//! The engine: starts sessions and keeps them. What it is asked for is checked here, before anything starts.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;

use switchboard_agents::{Agent, Input, Options, Prompt, Start, Translator, agent};
use switchboard_event::{ErrorCode, Fault, Id, Notice, SessionConfig, Usage};
use switchboard_store::{Log, NewSession, Process, Run, StoreError};
use tokio::sync::{mpsc, watch};

use crate::{
    Machine, StartError, StartRequest,
    confinement::SandboxDefaults,
    hub::Head,
    mask::Mask,
    owner,
    past::Past,
    paths::{WorkingDirectory, Workspace},
    prepare::{Prepared, check_abilities},
    recover,
    rooms::{Reserved, Rooms},
    session::{Actor, Journal, Link, Parts, Private, Session},
    supervise::{self, Running, Spec},
};

/// Variables of ours that no agent gets.
const OURS: [&str; 2] = ["SWITCHBOARD_TOKEN", "SWITCHBOARD_DATA"];

/// What an agent needs of the environment, whatever else it gets.
const NEEDED: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR"];

/// How often we try to write the end of a session down when the disk was full.
const UNWRITTEN: Duration = Duration::from_secs(5);

/// Starts sessions.
#[derive(Clone)]
pub struct Engine {
    log: Arc<dyn Log>,
    machine: Arc<Machine>,
    rooms: Arc<Rooms>,
    secrets: Arc<Mutex<Vec<String>>>,
    sandbox: Arc<Mutex<SandboxDefaults>>,
}

impl Engine {
    /// An engine that writes to a log.
    #[must_use]
    pub fn new(log: Arc<dyn Log>, machine: Machine) -> Self {
        let (secrets, sandbox) = (Arc::default(), Arc::default());
        Self { log, machine: Arc::new(machine), rooms: Arc::default(), secrets, sandbox }
    }

    /// The same with another log. Sessions of one are not known to the other.
    pub(crate) fn beside(&self, log: Arc<dyn Log>) -> Self {
        Self { log, rooms: Arc::default(), ..self.clone() }
    }

    /// The log that it writes to.
    #[must_use]
    pub fn log(&self) -> &Arc<dyn Log> {
        &self.log
    }

    /// The machine that it runs on.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Something of ours that no session shall tell, should its agent get to know it: what is kept of sessions that
    /// are started from now on has a mask in its place.
    pub fn keep_secret(&self, secret: String) {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).push(secret);
    }

    /// Hides a file or directory from confined sessions that are started from now on.
    pub fn hide_from_sessions(&self, path: PathBuf) {
        self.sandbox.lock().unwrap_or_else(PoisonError::into_inner).hidden.push(path);
    }

    /// Keeps confined sessions that are started from now on from writing to a directory, also if it lies in a workspace.
    pub fn protect_from_sessions(&self, directory: PathBuf) {
        self.sandbox.lock().unwrap_or_else(PoisonError::into_inner).protected.push(directory);
    }

    /// Lets confined sessions start even if the kernel cannot enforce all of a sandbox. Each says what is missing.
    pub fn accept_weaker_sandbox(&self) {
        self.sandbox.lock().unwrap_or_else(PoisonError::into_inner).best_effort = true;
    }

    /// A session that runs in this process.
    #[must_use]
    pub fn session(&self, id: &str) -> Option<Session> {
        self.rooms.get(id)
    }

    /// All sessions that run in this process.
    #[must_use]
    pub fn sessions(&self) -> Vec<Session> {
        self.rooms.all()
    }

    pub(crate) fn rooms(&self) -> &Arc<Rooms> {
        &self.rooms
    }

    /// Ends all sessions that run in this process, within some time: those that do not end by themselves in most of
    /// it are killed.
    pub async fn stop_all(&self, within: Duration) {
        let sessions = self.sessions();
        let (patience, rest) = (within * 2 / 3, within / 3);
        let cancelled = sessions.iter().map(async |session| drop(session.cancel().await));
        let ended = async {
            join_all(cancelled).await;
            join_all(sessions.iter().map(Session::outcome)).await;
        };
        if tokio::time::timeout(patience, ended).await.is_err() {
            let killed = async {
                join_all(sessions.iter().map(async |session| drop(session.kill().await))).await;
                join_all(sessions.iter().map(Session::outcome)).await;
            };
            // What is left is killed by its supervisor when we end.
            tokio::time::timeout(rest, killed).await.ok();
        }
    }

    /// Ends the sessions that a crash of another process left open. Says how many.
    ///
    /// # Errors
    /// If the log cannot be read or written.
    pub fn recover(&self) -> Result<usize, StartError> {
        Ok(recover::recover(&*self.log, &self.machine)?)
    }

    /// The log could not be written, so the end of a session is not in it: it is added as soon as it can be.
    async fn close_later(&self, id: &Id, cause: &str) {
        let message = format!("stopped, because the log could not be written: {cause}");
        let fault = Fault::new(ErrorCode::Aborted, message).with_info("unwritten");
        loop {
            tokio::time::sleep(UNWRITTEN).await;
            let (engine, id, fault) = (self.clone(), id.clone(), fault.clone());
            let closed = tokio::task::spawn_blocking(move || match engine.log.session(&id)? {
                Some(session) if !session.state.is_final() && engine.session(&id).is_none() => {
                    recover::end(&*engine.log, &engine.machine, &session, fault)
                }
                _ => Ok(()),
            });
            if matches!(closed.await, Ok(Ok(()) | Err(StoreError::Closed)) | Err(_)) {
                return;
            }
        }
    }

    /// Starts a session, or continues one.
    ///
    /// # Errors
    /// If it cannot be started: the error says why, and what can be done.
    pub async fn start(&self, mut request: StartRequest) -> Result<Session, StartError> {
        let _reserved = match request.resume.clone().filter(|_| !request.fork) {
            Some(id) => Some(self.reserve(&id).await?),
            None => None,
        };
        let past = Past::of(&*self.log, &mut request)?;
        let agent = agent(&request.agent).ok_or_else(|| StartError::UnknownAgent(request.agent.clone()))?;
        check_abilities(agent, &request, past.as_ref())?;
        let cwd = working_directory(&mut request)?;
        roots(&request.config)?;
        request.config.agent_type = Some(agent.name.to_owned());
        request.config.working_directory = Some(cwd.path().to_string_lossy().into_owned());
        let machine = Arc::new(self.machine.with_env(self.environment(&request)));
        let private = self.private()?;
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let defaults = self.sandbox.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let prepared = Prepared::new(agent, &request, past.as_ref(), &cwd, &private, &machine, secrets, &defaults)?;
        self.launch(agent, request, past, cwd, private, prepared, machine).await
    }

    /// Reserves a session to continue it. What is left of its last run is waited for.
    async fn reserve(&self, id: &Id) -> Result<Reserved, StartError> {
        if let Some(last) = self.session(id).filter(Session::is_over) {
            last.outcome().await;
            // Also if whoever runs it has not come to say so.
            self.rooms.leave(&last);
        }
        self.rooms.reserve(id).ok_or_else(|| StartError::Running(id.clone()))
    }

    /// The environment that the agent gets: all of ours but our secrets, or only what was asked for.
    fn environment(&self, request: &StartRequest) -> BTreeMap<String, String> {
        let passed = |name: &str| match &request.env_only {
            _ if OURS.contains(&name) => false,
            Some(only) => NEEDED.contains(&name) || only.iter().any(|entry| entry == name),
            None => true,
        };
        let mut env = self.machine.env.clone();
        env.retain(|name, _| passed(name));
        env.extend(request.env.clone());
        env
    }

    fn private(&self) -> Result<Private, StartError> {
        Private::new(&self.machine.temp, &(self.machine.secret)())
            .map_err(|cause| StartError::Files { path: self.machine.temp.clone(), cause })
    }

    #[expect(clippy::too_many_arguments, reason = "each is a part of what was prepared, and used once")]
    async fn launch(
        &self,
        agent: &'static Agent,
        request: StartRequest,
        past: Option<Past>,
        cwd: WorkingDirectory,
        private: Private,
        mut prepared: Prepared,
        machine: Arc<Machine>,
    ) -> Result<Session, StartError> {
        let used = past.as_ref().filter(|_| !request.fork).and_then(|past| past.used.clone());
        let continued = past.filter(|past| !request.fork && past.is_ours);
        let id = continued.as_ref().map_or_else(|| (machine.fresh_id)(), |past| past.id.clone());
        let (mut link, arrivals) = Link::new();
        let running = match prepared.spec.take() {
            Some(spec) => Some(supervise::start(&machine.program, Spec { session: id.to_string(), ..spec }).await?),
            None => None,
        };
        self.enter(&id, agent, &request, cwd.path(), continued.as_ref(), &prepared.mask)?;
        let seen = continued.as_ref().map_or(0, |past| past.head);
        let head = Head::new(id.clone(), seen, self.rooms.room.clone());
        let mut journal = Journal::new(id.clone(), self.log.clone(), head.clone());
        let number = continued.as_ref().map_or(1, |past| past.runs + 1);
        let run = running.map(|running| self.attach(running, number, &mut prepared, &mut link));
        journal.change().run.clone_from(&run);
        journal.change().config = continued.as_ref().map(|_| request.config.clone());
        let (orders, ordered) = mpsc::channel(16);
        let (outcome, ended) = watch::channel(None);
        let (ready, is_ready) = watch::channel(false);
        let translator = self.translator(agent, &request, continued.as_ref(), used.clone(), &id, &prepared);
        let notices = prepared.notices(request.config.sandbox_mode.unwrap_or_default());
        let sandbox = prepared.session_sandbox((machine.now)());
        let actor = Actor::new(Parts {
            agent,
            config: request.config,
            workspace: workspace(&cwd, &machine),
            machine,
            translator,
            driver: prepared.launch.driver.take(),
            link,
            arrivals,
            orders: ordered,
            outcome,
            ready,
            journal,
            private: Some(private),
            run,
            audience: request.audience,
            stay: request.stay,
            limits: request.limits,
            used: used.unwrap_or_default(),
            counts_turns: prepared.launch.counts_turns,
            mask: prepared.mask,
            sandbox,
        });
        let (log, sandbox) = (self.log.clone(), prepared.sandbox.map(Arc::new));
        let session = Session { id, agent, seen, head, log, orders, outcome: ended, ready: is_ready, sandbox };
        self.rooms.enter(session.clone());
        tokio::spawn(perform(self.clone(), session.clone(), actor, request.prompt, notices));
        Ok(session)
    }

    /// Links a process to its session, and gives it its input.
    fn attach(&self, running: Running, number: u32, prepared: &mut Prepared, link: &mut Link) -> Run {
        running.sandbox.iter().for_each(|report| prepared.note_sandbox(report));
        let run = self.record_of(number, &running);
        link.attach(running);
        if let Input::Text(text) = &prepared.launch.input {
            link.send_text(text);
            link.close_input();
        }
        run
    }

    /// The processes of a run, so that they are found again should we be killed.
    fn record_of(&self, run: u32, running: &Running) -> Run {
        let process = |of: supervise::Process| Process { pid: of.pid, start: of.start_time };
        Run {
            run,
            boot: owner::boot(),
            supervisor: None,
            agent: Some(process(running.agent)),
            started: (self.machine.now)(),
            ended: None,
        }
    }

    /// Makes the session known, before anything of it is told.
    fn enter(
        &self,
        id: &Id,
        agent: &Agent,
        request: &StartRequest,
        cwd: &Path,
        past: Option<&Past>,
        mask: &Mask,
    ) -> Result<(), StartError> {
        if let Some(past) = past {
            self.log.claim(id, Some(past.head))?;
            return Ok(());
        }
        let prompt = request.prompt.as_ref().map(|prompt| prompt.text.as_str()).unwrap_or_default();
        self.log.create(NewSession {
            id: id.clone(),
            agent: Id::from(agent.name),
            created: (self.machine.now)(),
            config: request.config.clone(),
            prompt: String::from_utf8_lossy(&mask.cover(prompt.as_bytes())).into_owned(),
            cwd: cwd.to_string_lossy().into_owned(),
            project: request.config.project_id.clone(),
        })?;
        Ok(())
    }

    fn translator(
        &self,
        agent: &'static Agent,
        request: &StartRequest,
        past: Option<&Past>,
        used: Option<Usage>,
        id: &Id,
        prepared: &Prepared,
    ) -> Translator {
        let start = Start {
            config: request.config.masked(),
            prompt: request.prompt.as_ref().map(|prompt| prompt.text.clone()),
            resumed: prepared.resumed.clone(),
            usage_base: used,
        };
        let options = Options {
            session: Some(id.clone()),
            hold: true,
            agent: Some(agent.name),
            made_up: id.clone(),
            arrival: (self.machine.now)(),
            run: past.map_or(1, |past| past.runs + 1),
            events_before: past.map_or(0, |past| past.head),
            turns_before: past.map_or(0, |past| past.turns),
            start,
        };
        Translator::new(prepared.source, options)
    }
}

/// Runs a session to its end, also to the end of what could not be written down.
async fn perform(engine: Engine, session: Session, mut actor: Actor, prompt: Option<Prompt>, notices: Vec<Notice>) {
    notices.iter().for_each(|notice| actor.say(notice));
    actor.run(prompt).await;
    engine.rooms.leave(&session);
    if let Some(cause) = session.outcome().await.unwritten {
        engine.close_later(session.id(), &cause).await;
    }
}

/// The directory to work in: the one that the caller has opened, or that the settings name.
fn working_directory(request: &mut StartRequest) -> Result<WorkingDirectory, StartError> {
    if let Some(opened) = request.working_directory.take() {
        return Ok(opened);
    }
    let folder = PathBuf::from(request.config.working_directory.as_deref().unwrap_or("."));
    WorkingDirectory::open(&folder).map_err(|cause| StartError::BadFolder { folder, cause: cause.to_string() })
}

/// What the agent may edit without asking. `~` is the home directory of the agent, which the request can change.
fn workspace(cwd: &WorkingDirectory, machine: &Machine) -> Workspace {
    let homes = machine.env.get("HOME").map(PathBuf::from).into_iter().chain([machine.home.clone()]);
    Workspace::new(cwd.path().to_owned(), homes)
}

/// Folders that may be written beside the workspace must be there: a sandbox cannot allow what is not.
fn roots(config: &SessionConfig) -> Result<(), StartError> {
    let bad = config.writable_roots.iter().flatten().map(PathBuf::from);
    match bad.into_iter().find(|root| !root.is_absolute() || !root.is_dir()) {
        None => Ok(()),
        Some(folder) => {
            Err(StartError::BadFolder { folder, cause: "it is not an absolute path of a folder".to_owned() })
        }
    }
}
