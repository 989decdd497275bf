//! What a session needs before it can start: the agent's program, its files, its sandbox. Nothing runs yet.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use switchboard_agents::{Agent, Input, Launch, Order, Prompt, Resume, Unsupported, source};
use switchboard_event::{Id, Level, Notice, SandboxMode, Timestamp, Topic};

use crate::{
    Machine, StartError, StartRequest,
    confinement::{SandboxDefaults, SandboxOrder},
    find,
    mask::{Mask, secrets_of},
    past::Past,
    paths::{WorkingDirectory, copy_file_beneath},
    protected_files::KnownFiles,
    session::{
        Private,
        sandbox_notices::{self, SessionSandbox},
    },
    supervise::{self, Confinement, Spec},
};

/// All that is needed to start, and nothing started yet.
pub struct Prepared {
    pub launch: Launch,
    pub source: &'static switchboard_agents::Source,
    /// The process to start, unless the agent is built in.
    pub spec: Option<Spec>,
    pub resumed: Option<Id>,
    pub remarks: Vec<String>,
    /// What nobody shall read who reads the session.
    pub mask: Mask,
    /// The directories that a confined session may write.
    pub workspace: Vec<PathBuf>,
    /// The protected files that are there when a confined session starts.
    pub known: KnownFiles,
    /// The sandbox around the session, once it runs.
    pub sandbox: Option<supervise::SandboxReport>,
}

impl Prepared {
    /// Checks and makes everything.
    #[expect(clippy::too_many_arguments, reason = "each is a part of what is asked for, and used once")]
    pub fn new(
        agent: &'static Agent,
        request: &StartRequest,
        past: Option<&Past>,
        cwd: &WorkingDirectory,
        private: &Private,
        machine: &Arc<Machine>,
        secrets: Vec<String>,
        defaults: &SandboxDefaults,
    ) -> Result<Self, StartError> {
        let confined = matches!(request.config.sandbox_mode, Some(SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite));
        let (empty, secret) = (Prompt::default(), (machine.secret)());
        let launch = (agent.launch)(&Order {
            config: &request.config,
            cwd: cwd.path(),
            resume: native(past).map(|session| Resume { session, fork: request.fork }),
            one_shot: request.one_shot,
            prompt: request.prompt.as_ref().unwrap_or(&empty),
            command: &request.command,
            private: private.path(),
            confined,
            root: machine.root,
            secret: &secret,
            host: &**machine,
        })?;
        let source = source(launch.source)
            .ok_or_else(|| StartError::BadRequest(format!("nothing reads `{}`", launch.source)))?;
        let mut prepared = Self {
            remarks: request.remarks.iter().chain(&launch.weaker).cloned().collect(),
            resumed: native(past).cloned(),
            launch,
            source,
            spec: None,
            workspace: Vec::new(),
            known: KnownFiles::default(),
            sandbox: None,
            mask: Mask::new(secrets.into_iter().chain([secret]).chain(secrets_of(request))),
        };
        if !prepared.launch.program.is_empty() {
            prepared.process(agent, request, cwd, private, machine, defaults, confined)?;
        }
        Ok(prepared)
    }

    #[expect(clippy::too_many_arguments, reason = "each is a part of what is asked for, and used once")]
    fn process(
        &mut self,
        agent: &Agent,
        request: &StartRequest,
        cwd: &WorkingDirectory,
        private: &Private,
        machine: &Machine,
        defaults: &SandboxDefaults,
        confined: bool,
    ) -> Result<(), StartError> {
        let found = find::program(agent, &self.launch.program, machine)?;
        self.remarks.extend(find::check_version(agent, found.version.as_deref())?);
        for (path, text) in &self.launch.files {
            private.write(path, text).map_err(|cause| StartError::Files { path: path.clone(), cause })?;
        }
        for (from, to) in &self.launch.copies {
            let state = self.launch.state.iter().map(|state| state.path.clone());
            let own: Vec<_> =
                self.launch.writable.iter().cloned().chain(state).chain([private.path().to_owned()]).collect();
            copy_file_beneath(&own, from, to).map_err(|cause| StartError::Files { path: to.clone(), cause })?;
        }
        let mut env = machine.env.clone();
        env.retain(|name, _| !is_token(name));
        if confined {
            env.insert("TMPDIR".to_owned(), private.path().to_string_lossy().into_owned());
        }
        let free = request.config.network_access.unwrap_or(!confined);
        if !free {
            // The agent itself must reach its model.
            self.remarks.push("the sandbox does not limit the network".to_owned());
        }
        env.extend(self.launch.env.iter().cloned());
        self.launch.unset.iter().for_each(|name| drop(env.remove(*name)));
        let confine =
            if confined { Some(self.confinement(request, cwd.path(), private, machine, defaults)?) } else { None };
        let argv = std::iter::once(found.path.into_os_string()).chain(self.launch.args.iter().map(Into::into));
        self.spec = Some(Spec {
            argv: argv.collect(),
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: cwd.path().to_owned(),
            cwd_identity: Some(cwd.identity()),
            stdin: if self.launch.input == Input::Closed { supervise::Input::Closed } else { supervise::Input::Open },
            confine,
            session: String::new(),
        });
        Ok(())
    }

    fn confinement(
        &mut self,
        request: &StartRequest,
        cwd: &Path,
        private: &Private,
        machine: &Machine,
        defaults: &SandboxDefaults,
    ) -> Result<Confinement, StartError> {
        let order = SandboxOrder {
            config: &request.config,
            launch: &self.launch,
            cwd,
            private: private.path(),
            home: &machine.home,
            best_effort: request.sandbox_best_effort || defaults.best_effort,
            defaults,
        };
        let workspace = order.workspace();
        let mut remarks = Vec::new();
        let confinement = order.confinement(&mut remarks)?;
        self.remarks.extend(remarks);
        self.workspace = workspace;
        self.known = KnownFiles::remember(&confinement.protected);
        Ok(confinement)
    }

    /// What the session says before anything else.
    pub fn notices(&mut self, mode: SandboxMode) -> Vec<Notice> {
        let confined = self.sandbox.as_ref().map(|report| sandbox_notices::confined(mode, report));
        let remarks = std::mem::take(&mut self.remarks).into_iter();
        let remarks = remarks.map(|text| Notice::new(Topic::Warning).with_level(Level::Warning).with_text(text));
        confined.into_iter().chain(remarks).collect()
    }

    /// The sandbox of a confined session, for what is reported about it.
    pub fn session_sandbox(&mut self, started: Timestamp) -> Option<SessionSandbox> {
        let workspace = std::mem::take(&mut self.workspace);
        let known = std::mem::take(&mut self.known);
        self.sandbox.is_some().then_some(SessionSandbox { workspace, started, known, refusals: 0 })
    }

    /// Adds a remark about each feature that the sandbox lacks.
    pub fn note_sandbox(&mut self, report: &supervise::SandboxReport) {
        self.sandbox = Some(report.clone());
        for (feature, reason) in &report.missing {
            self.remarks.push(format!("the sandbox is weaker than asked for: {feature} is not available: {reason}"));
        }
    }
}

/// A token for a server that only built-in agents speak to: no process gets it.
fn is_token(name: &str) -> bool {
    name.starts_with("SWITCHBOARD_") && name.ends_with("_TOKEN")
}

/// The agent's own id of what is continued. A session that had no turn yet begins anew.
fn native(past: Option<&Past>) -> Option<&Id> {
    past.and_then(|past| past.agent_session.as_ref())
}

/// What the agent cannot do is refused before anything is made.
pub fn check_abilities(agent: &Agent, request: &StartRequest, past: Option<&Past>) -> Result<(), StartError> {
    let (abilities, continues) = (agent.abilities, native(past).is_some());
    let images = request.prompt.as_ref().is_some_and(|prompt| !prompt.images.is_empty());
    let schema = request.prompt.as_ref().is_some_and(|prompt| prompt.output_schema.is_some());
    let missing = [
        (continues && !abilities.resume, "continue a session"),
        (continues && request.fork && !abilities.fork, "continue a copy of a session"),
        (request.one_shot && !abilities.one_shot, "run one prompt only"),
        (images && !abilities.images, "look at images"),
        (schema && !abilities.output_schema, "answer by a schema"),
        (!request.config.mcp_servers.is_empty() && !abilities.mcp, "use MCP servers of the session"),
    ];
    match missing.iter().find(|(missing, _)| *missing) {
        Some((_, what)) => Err(Unsupported::new(format!("{} cannot {what}", agent.title)).into()),
        None => Ok(()),
    }
}
