//! What a session needs before it can start: the agent's program, its files, its sandbox. Nothing runs yet.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use switchboard_agents::{Agent, Input, Launch, Order, Prompt, Resume, Unsupported, source};
use switchboard_event::{Id, SandboxMode};

use crate::{
    Machine, StartError, StartRequest, find,
    mask::{Mask, secrets_of},
    past::Past,
    session::Private,
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
}

impl Prepared {
    /// Checks and makes everything.
    pub fn new(
        agent: &'static Agent,
        request: &StartRequest,
        past: Option<&Past>,
        cwd: &Path,
        private: &Private,
        machine: &Arc<Machine>,
        secrets: Vec<String>,
    ) -> Result<Self, StartError> {
        let confined = matches!(request.config.sandbox_mode, Some(SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite));
        let (empty, secret) = (Prompt::default(), (machine.secret)());
        let launch = (agent.launch)(&Order {
            config: &request.config,
            cwd,
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
            remarks: launch.weaker.clone(),
            resumed: native(past).cloned(),
            launch,
            source,
            spec: None,
            mask: Mask::new(secrets.into_iter().chain([secret]).chain(secrets_of(request))),
        };
        if !prepared.launch.program.is_empty() {
            prepared.process(agent, request, cwd, private, machine, confined)?;
        }
        Ok(prepared)
    }

    fn process(
        &mut self,
        agent: &Agent,
        request: &StartRequest,
        cwd: &Path,
        private: &Private,
        machine: &Machine,
        confined: bool,
    ) -> Result<(), StartError> {
        let found = find::program(agent, &self.launch.program, machine)?;
        self.remarks.extend(find::check_version(agent, found.version.as_deref())?);
        for (path, text) in &self.launch.files {
            private.write(path, text).map_err(|cause| StartError::Files { path: path.clone(), cause })?;
        }
        for (from, to) in &self.launch.copies {
            std::fs::copy(from, to).map_err(|cause| StartError::Files { path: from.clone(), cause })?;
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
        let argv = std::iter::once(found.path.into_os_string()).chain(self.launch.args.iter().map(Into::into));
        self.spec = Some(Spec {
            argv: argv.collect(),
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: cwd.to_owned(),
            cwd_identity: None,
            stdin: if self.launch.input == Input::Closed { supervise::Input::Closed } else { supervise::Input::Open },
            confine: confined.then(|| self.confinement(request, cwd, private)),
            session: String::new(),
        });
        Ok(())
    }

    fn confinement(&self, request: &StartRequest, cwd: &Path, private: &Private) -> Confinement {
        let mut writable: Vec<_> = self.launch.writable.iter().filter(|path| made(path)).cloned().collect();
        writable.push(private.path().to_owned());
        if request.config.sandbox_mode == Some(SandboxMode::WorkspaceWrite) {
            writable.push(cwd.to_owned());
            writable.extend(request.config.writable_roots.iter().flatten().map(PathBuf::from));
        }
        Confinement { writable, best_effort: request.sandbox_best_effort, ..Confinement::default() }
    }

    /// Adds a remark about each feature that the sandbox lacks.
    pub fn note_sandbox(&mut self, report: &supervise::SandboxReport) {
        for (feature, reason) in &report.missing {
            self.remarks.push(format!("the sandbox is weaker than asked for: {feature} is not available: {reason}"));
        }
    }
}

/// A token for a server that only built-in agents speak to: no process gets it.
fn is_token(name: &str) -> bool {
    name.starts_with("SWITCHBOARD_") && name.ends_with("_TOKEN")
}

/// An agent's own folder: one that is not there yet is made, since the agent could not do it from inside.
fn made(path: &Path) -> bool {
    path.exists() || std::fs::create_dir_all(path).is_ok()
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
