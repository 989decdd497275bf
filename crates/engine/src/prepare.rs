//! Prepares a session before it starts: the agent's program, its files, its sandbox. Nothing runs yet.

use std::{
    fs, iter,
    path::{Path, PathBuf},
    sync::Arc,
};

use switchboard_agents::{
    Agent, AgentEndpoint, AgentLaunch, AgentPrompt, HostAccess, LaunchRequest, RecordSource, ResumeRequest, StdinMode,
    UnsupportedOperation, find_source,
};
use switchboard_event::{Id, Level, Notice, SandboxMode, SessionConfig, Timestamp, Topic};

use crate::{
    HostEnvironment, StartError, StartRequest,
    agent_programs::{AgentProgram, check_version},
    confinement::{SandboxDefaults, SandboxRequest},
    mask::{SecretMask, secrets_of},
    network::{NetworkPlan, NetworkSettings, ProjectGrants, parse_domain},
    paths::{WorkingDirectory, copy_file_beneath},
    protected_files::KnownFiles,
    request::ResumeTarget,
    session::{PrivateDirectory, SessionSandbox, sandbox_notice},
    supervise::{Confinement, ProcessSpec, SandboxReport},
};

/// A checked request, and the resources that the session gets.
pub struct SessionSetup {
    pub agent: &'static Agent,
    pub request: StartRequest,
    pub target: Option<ResumeTarget>,
    pub cwd: WorkingDirectory,
    pub private: PrivateDirectory,
    pub host: Arc<HostEnvironment>,
}

impl SessionSetup {
    fn is_confined(&self) -> bool {
        matches!(self.request.config.sandbox_mode, Some(SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite))
    }

    /// Returns whether the session reaches allowed hosts only.
    fn has_limited_network(&self) -> bool {
        let runs_a_program = self.agent.program.is_some() || !self.request.command.is_empty();
        runs_a_program && self.is_confined() && self.request.config.network_access != Some(true)
    }

    /// Returns the agent's own ID of the session to continue.
    pub fn agent_session(&self) -> Option<&Id> {
        self.target.as_ref().and_then(|target| target.agent_session.as_ref())
    }
}

/// Everything that is needed to start a session.
pub struct PreparedSession {
    pub launch: AgentLaunch,
    pub source: &'static RecordSource,
    /// The process to start, unless the agent is built in.
    pub spec: Option<ProcessSpec>,
    remarks: Vec<String>,
    pub mask: SecretMask,
    /// The directories that a confined session may write.
    workspace: Vec<PathBuf>,
    /// The protected files that exist when a confined session starts.
    known_files: KnownFiles,
    /// The sandbox around the session, once it runs.
    pub sandbox: Option<SandboxReport>,
    /// The network limits of a confined session; `None` if it has full access.
    pub network: Option<NetworkPlan>,
    /// The permanently allowed hosts of the project.
    pub network_grants: Option<ProjectGrants>,
}

impl PreparedSession {
    pub fn new(setup: &SessionSetup, secrets: Vec<String>, defaults: &SandboxDefaults) -> Result<Self, StartError> {
        let SessionSetup { agent, request, cwd, private, host, .. } = setup;
        let (empty_prompt, secret) = (AgentPrompt::default(), (host.new_secret)());
        let network = if setup.has_limited_network() { Some(plan_network(setup, defaults)?) } else { None };
        let proxy_env = network.as_ref().map(|(plan, _)| plan.proxy_env()).unwrap_or_default();
        let launch = (agent.launch)(&LaunchRequest {
            config: &request.config,
            cwd: cwd.path(),
            resume: setup.agent_session().map(|session| ResumeRequest { session, fork: request.fork }),
            one_shot: request.one_shot,
            prompt: request.prompt.as_ref().unwrap_or(&empty_prompt),
            command: &request.command,
            private: private.path(),
            confined: setup.is_confined(),
            root: host.is_root,
            secret: &secret,
            proxy_env: &proxy_env,
            host: &**host,
        })?;
        let source = find_source(launch.source)
            .ok_or_else(|| StartError::BadRequest(format!("no reader for source `{}`", launch.source)))?;
        let mut prepared = Self {
            remarks: request.remarks.iter().chain(&launch.weaker).cloned().collect(),
            launch,
            source,
            spec: None,
            workspace: Vec::new(),
            known_files: KnownFiles::default(),
            sandbox: None,
            network: None,
            network_grants: None,
            mask: SecretMask::new(secrets.into_iter().chain([secret]).chain(secrets_of(request))),
        };
        if !prepared.launch.program.is_empty() {
            let (plan, grants) = network.unzip();
            (prepared.network, prepared.network_grants) = (plan, grants.flatten());
            prepared.prepare_process(setup, defaults)?;
        }
        Ok(prepared)
    }

    fn prepare_process(&mut self, setup: &SessionSetup, defaults: &SandboxDefaults) -> Result<(), StartError> {
        let SessionSetup { agent, cwd, private, host, .. } = setup;
        let program = AgentProgram::find(agent, &self.launch.program, host)?;
        self.remarks.extend(check_version(agent, program.version.as_deref())?);
        for (path, text) in &self.launch.files {
            private.write_file(path, text).map_err(|cause| StartError::Files { path: path.clone(), cause })?;
        }
        for (from, to) in &self.launch.copies {
            let state = self.launch.state.iter().map(|state| state.path.clone());
            let own: Vec<_> =
                self.launch.writable.iter().cloned().chain(state).chain([private.path().to_owned()]).collect();
            copy_file_beneath(&own, from, to).map_err(|cause| StartError::Files { path: to.clone(), cause })?;
        }
        let mut env = host.env.clone();
        env.retain(|name, _| !is_server_token(name));
        if setup.is_confined() {
            env.insert("TMPDIR".to_owned(), private.path().to_string_lossy().into_owned());
        }
        env.extend(self.launch.env.iter().cloned());
        self.launch.unset.iter().for_each(|name| drop(env.remove(*name)));
        self.remarks.extend(ineffective_network_settings(setup));
        let confinement = if setup.is_confined() { Some(self.confine(setup, defaults)?) } else { None };
        let args = self.launch.args.iter().map(Into::into);
        self.spec = Some(ProcessSpec {
            argv: iter::once(program.path.into_os_string()).chain(args).collect(),
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: cwd.path().to_owned(),
            cwd_identity: Some(cwd.identity()),
            has_stdin: self.launch.input != StdinMode::Closed,
            confinement,
            session: String::new(),
        });
        Ok(())
    }

    fn confine(&mut self, setup: &SessionSetup, defaults: &SandboxDefaults) -> Result<Confinement, StartError> {
        let network = self.network.as_ref().map(NetworkPlan::isolated_network);
        let request = SandboxRequest { setup, launch: &self.launch, network, defaults };
        self.workspace = request.workspace();
        let confinement = request.confinement(&mut self.remarks)?;
        self.known_files = KnownFiles::remember(&confinement.protected);
        Ok(confinement)
    }

    /// Records the sandbox in force, with a remark about each feature that it lacks.
    pub fn record_sandbox(&mut self, report: &SandboxReport) {
        self.sandbox = Some(report.clone());
        for (feature, reason) in &report.missing {
            self.remarks.push(format!("the sandbox is weaker than requested: {feature} is not available: {reason}"));
        }
    }

    pub fn take_notices(&mut self, mode: SandboxMode) -> Vec<Notice> {
        let sandbox = self.sandbox.as_ref().map(|report| sandbox_notice(mode, report));
        let remarks = std::mem::take(&mut self.remarks).into_iter();
        let remarks = remarks.map(|text| Notice::new(Topic::Warning).with_level(Level::Warning).with_text(text));
        sandbox.into_iter().chain(remarks).collect()
    }

    /// Takes the state from which a confined session reports about its sandbox.
    pub fn take_session_sandbox(&mut self, started: Timestamp) -> Option<SessionSandbox> {
        let workspace = std::mem::take(&mut self.workspace);
        let known_files = std::mem::take(&mut self.known_files);
        self.sandbox.is_some().then_some(SessionSandbox { workspace, started, known_files, refused_writes: 0 })
    }
}

/// Decides which hosts a confined session may reach. Returns also the hosts that were permanently allowed.
fn plan_network(
    setup: &SessionSetup,
    defaults: &SandboxDefaults,
) -> Result<(NetworkPlan, Option<ProjectGrants>), StartError> {
    let (host, config) = (&*setup.host, &setup.request.config);
    let mut endpoints = (setup.agent.endpoints)(&HostOutsideWorkspace::new(host, config, setup.cwd.path()));
    let servers = config.mcp_servers.values().filter_map(|server| server.url.as_deref());
    endpoints.extend(servers.filter_map(AgentEndpoint::from_configured_url));
    let mut allowed = defaults.allowed_domains.clone();
    for domain in config.allowed_domains.iter().flatten() {
        allowed.extend(parse_domain(domain).map_err(|error| StartError::BadRequest(error.to_string()))?);
    }
    let grants = defaults.network_grants.clone().map(|file| ProjectGrants::new(file, setup.cwd.path()));
    allowed.extend(grants.iter().flat_map(ProjectGrants::rules));
    let plan = NetworkPlan::new(NetworkSettings {
        endpoints,
        allowed,
        published_ports: config.published_ports.as_deref().unwrap_or_default(),
        own_listeners: defaults.own_listeners.clone(),
        env: &|name| host.env_var(name),
    });
    Ok((plan.map_err(StartError::BadRequest)?, grants))
}

/// Returns remarks about settings of the network that have no effect.
fn ineffective_network_settings(setup: &SessionSetup) -> Vec<String> {
    let config = &setup.request.config;
    let mut remarks = Vec::new();
    if config.network_access == Some(false) && !setup.is_confined() {
        let text = "networkAccess: false has no effect without a sandbox (readOnly or workspaceWrite): Switchboard leaves \
                    the network to whatever confines it from outside";
        remarks.push(text.to_owned());
    }
    if setup.has_limited_network() {
        return remarks;
    }
    let why = match setup.is_confined() {
        true => "with networkAccess: true: the session has the whole network of this machine",
        false => "without a sandbox (readOnly or workspaceWrite): the session has the whole network of this machine",
    };
    let settings = [
        ("allowedDomains", config.allowed_domains.as_ref().is_some_and(|domains| !domains.is_empty())),
        ("publishedPorts", config.published_ports.as_ref().is_some_and(|ports| !ports.is_empty())),
    ];
    let ineffective = settings.iter().filter(|(_, is_set)| *is_set);
    remarks.extend(ineffective.map(|(name, _)| format!("{name} has no effect {why}")));
    remarks
}

/// The host without files of the workspace: these must not decide which hosts a session may reach, not even as targets
/// of symbolic links in the user's own directories.
struct HostOutsideWorkspace<'a> {
    host: &'a HostEnvironment,
    roots: Vec<PathBuf>,
}

impl<'a> HostOutsideWorkspace<'a> {
    fn new(host: &'a HostEnvironment, config: &SessionConfig, cwd: &Path) -> Self {
        let writable = config.writable_roots.iter().flatten().map(PathBuf::from);
        let roots = writable.chain([cwd.to_owned()]).filter_map(|root| fs::canonicalize(root).ok());
        // A session that works in the home directory and cannot write keeps the user's own settings.
        let home = fs::canonicalize(&host.home).unwrap_or_default();
        let is_read_only = config.sandbox_mode == Some(SandboxMode::ReadOnly);
        Self { host, roots: roots.filter(|root| !(is_read_only && home.starts_with(root))).collect() }
    }
}

impl HostAccess for HostOutsideWorkspace<'_> {
    fn env_var(&self, name: &str) -> Option<String> {
        self.host.env_var(name)
    }

    fn home_dir(&self) -> PathBuf {
        self.host.home_dir()
    }

    fn read_file(&self, path: &Path) -> Option<String> {
        // Agents resolve relative paths in the working directory.
        let real = fs::canonicalize(path).ok().filter(|_| path.is_absolute())?;
        let is_outside = !self.roots.iter().any(|root| real.starts_with(root));
        is_outside.then(|| self.host.read_file(&real)).flatten()
    }

    fn list_dir(&self, directory: &Path) -> Vec<PathBuf> {
        self.host.list_dir(directory)
    }
}

/// Returns whether a variable is a token for a server that only built-in agents use. No process gets it.
fn is_server_token(name: &str) -> bool {
    name.starts_with("SWITCHBOARD_") && name.ends_with("_TOKEN")
}

/// Refuses a request that the agent cannot fulfill, before anything is created.
pub fn check_abilities(agent: &Agent, request: &StartRequest, target: Option<&ResumeTarget>) -> Result<(), StartError> {
    let abilities = agent.abilities;
    // A session that had no turn yet begins anew.
    let is_continued = target.is_some_and(|target| target.agent_session.is_some());
    let has_images = request.prompt.as_ref().is_some_and(|prompt| !prompt.images.is_empty());
    let has_schema = request.prompt.as_ref().is_some_and(|prompt| prompt.output_schema.is_some());
    let unsupported = [
        (is_continued && !abilities.resume, "continue a session"),
        (is_continued && request.fork && !abilities.fork, "continue a copy of a session"),
        (request.one_shot && !abilities.one_shot, "run a single prompt"),
        (has_images && !abilities.images, "read images"),
        (has_schema && !abilities.output_schema, "answer by a schema"),
        (!request.config.mcp_servers.is_empty() && !abilities.mcp, "use MCP servers of the session"),
    ];
    match unsupported.iter().find(|(is_unsupported, _)| *is_unsupported) {
        Some((_, what)) => Err(UnsupportedOperation::new(format!("{} cannot {what}", agent.title)).into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path};

    use switchboard_agents::HostAccess as _;
    use switchboard_event::{Id, SandboxMode, SessionConfig, Timestamp};

    use super::HostOutsideWorkspace;
    use crate::{HostEnvironment, test_tree::TestTree};

    fn host(tree: &TestTree) -> HostEnvironment {
        HostEnvironment {
            env: BTreeMap::new(),
            home: tree.join("home"),
            temp: tree.join("tmp"),
            program: "/nowhere".into(),
            is_root: false,
            now: Timestamp::default,
            new_id: || Id::from("id"),
            new_secret: String::new,
        }
    }

    #[test]
    fn files_of_the_workspace_do_not_decide_about_hosts() {
        let tree = TestTree::new(&["home/.agent", "home/dotfiles", "home/other"]);
        tree.write("home/dotfiles/agent.json", "settings");
        tree.link("../dotfiles/agent.json", "home/.agent/settings.json");
        let host = host(&tree);
        let is_allowed = |cwd: &str, mode: SandboxMode, roots: &[&str]| {
            let writable_roots = Some(roots.iter().map(|root| tree.join(root).display().to_string()).collect());
            let config = SessionConfig { sandbox_mode: Some(mode), writable_roots, ..SessionConfig::default() };
            let outside = HostOutsideWorkspace::new(&host, &config, &tree.join(cwd));
            outside.read_file(&tree.join("home/.agent/settings.json")).is_some_and(|text| text == "settings")
        };
        let (write, read) = (SandboxMode::WorkspaceWrite, SandboxMode::ReadOnly);
        assert!(is_allowed("home/other", write, &[]));
        assert!(is_allowed("home", read, &[]));
        assert!(!is_allowed("home", write, &[]));
        assert!(!is_allowed("home/dotfiles", write, &[]));
        assert!(!is_allowed("home/dotfiles", read, &[]));
        assert!(!is_allowed("home/other", write, &["home/dotfiles"]));
        // An agent resolves a relative path in the workspace, whatever the directory of this process is.
        let outside = HostOutsideWorkspace::new(&host, &SessionConfig::default(), &tree.join("home/other"));
        assert_eq!(outside.read_file(Path::new("Cargo.toml")), None);
    }
}
