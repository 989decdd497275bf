//! Launch of ACP agents: one given by its command, or one from the table.

use std::path::PathBuf;

use switchboard_event::{ApprovalMode, SessionConfig};

use super::driver::{AcpAgentQuirks, AcpDriver, AcpSessionSetup, AcpSessionStart};
use crate::{
    Abilities, Agent, AgentEndpoint, AgentLaunch, HostAccess, LaunchRequest, Login, StateDirectory,
    UnsupportedOperation, Versions, agent::no_config, launch::no_endpoints,
};

/// Any ACP agent, given by its command.
pub const AGENT: Agent = forking(&agent_entry("acp", "any agent that speaks ACP", "acp", None, None, None, by_command));

/// The abilities of ACP agents. The agent itself announces optional ones.
const ABILITIES: Abilities = Abilities {
    streaming: true,
    reasoning: true,
    plans: true,
    approvals: true,
    questions: true,
    interrupt: true,
    resume: true,
    set_model: true,
    set_mode: true,
    images: true,
    mcp: true,
    ..Abilities::NONE
};

/// Defines an agent that only supports ACP.
pub const fn agent_entry(
    name: &'static str,
    title: &'static str,
    provider: &'static str,
    program: Option<&'static str>,
    install: Option<&'static str>,
    versions: Option<Versions>,
    launch: fn(&LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation>,
) -> Agent {
    Agent {
        name,
        title,
        provider,
        program,
        install,
        versions,
        abilities: ABILITIES,
        launch,
        login: unknown_login,
        config: no_config,
        endpoints: no_endpoints,
        protected_paths: &[],
    }
}

/// Adds the known servers of an agent.
pub const fn with_endpoints(agent: &Agent, endpoints: fn(&dyn HostAccess) -> Vec<AgentEndpoint>) -> Agent {
    Agent { endpoints, ..*agent }
}

/// Adds the protected settings files of an agent.
pub const fn with_protected_paths(agent: &Agent, protected_paths: &'static [&'static str]) -> Agent {
    Agent { protected_paths, ..*agent }
}

/// Adds the ability to continue a copy of a session.
pub const fn forking(agent: &Agent) -> Agent {
    Agent { abilities: Abilities { fork: true, ..agent.abilities }, ..*agent }
}

/// Each agent has its own login, whose state only the agent knows.
fn unknown_login(_: &dyn HostAccess) -> Login {
    Login::Unknown
}

/// Properties of an agent in the table.
#[derive(Clone, Copy, Default)]
pub struct AcpAgentEntry {
    pub program: &'static str,
    /// The arguments that enable ACP.
    pub args: &'static [&'static str],
    /// Names of its state directories, in addition to its program's name.
    pub state: &'static [&'static str],
    /// The state directory of which a sandbox keeps only some changes, if its content is known.
    pub known_state: Option<fn(&dyn HostAccess) -> StateDirectory>,
    /// It keeps running after its input is closed.
    pub lingers: bool,
}

pub fn start(order: &LaunchRequest<'_>, row: AcpAgentEntry) -> Result<AgentLaunch, UnsupportedOperation> {
    let habits = AcpAgentQuirks { lingers: row.lingers, ..AcpAgentQuirks::default() };
    let setup = AcpSessionSetup { habits, ..setup(order)? };
    let args = row.args.iter().map(|arg| (*arg).to_owned()).collect();
    let names: Vec<&str> = row.state.iter().copied().chain([row.program]).collect();
    let state: Vec<_> = row.known_state.iter().map(|known| known(order.host)).collect();
    let mut writable = state_folders(order.host, &names);
    writable.retain(|path| !state.iter().any(|known| known.path == *path));
    Ok(AgentLaunch { writable, state, ..launch(order, row.program.to_owned(), args, setup) })
}

fn by_command(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    let [program, args @ ..] = order.command else {
        return Err(UnsupportedOperation::new("which ACP agent to start is not said")
            .with_hint("name its command, such as --command \"my-agent --acp\""));
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let writable = state_folders(order.host, &[name]);
    Ok(AgentLaunch { writable, ..launch(order, program.clone(), args.to_vec(), setup(order)?) })
}

fn launch(order: &LaunchRequest<'_>, program: String, args: Vec<String>, setup: AcpSessionSetup) -> AgentLaunch {
    let driver = Some(Box::new(AcpDriver::new(setup)) as Box<dyn crate::AgentDriver>);
    AgentLaunch { program, args, source: "acp", driver, weaker: weaker(order.config), ..AgentLaunch::default() }
}

/// Returns the session setup for an agent without known quirks.
fn setup(order: &LaunchRequest<'_>) -> Result<AcpSessionSetup, UnsupportedOperation> {
    if order.one_shot {
        return Err(UnsupportedOperation::new("an ACP agent has no form for one prompt and one answer"));
    }
    refuse_what_cannot_be_told(order.config)?;
    Ok(AcpSessionSetup {
        cwd: order.cwd.to_string_lossy().into_owned(),
        servers: order.config.mcp_servers.clone(),
        start: match order.resume {
            None => AcpSessionStart::New,
            Some(resume) if resume.fork => AcpSessionStart::Fork(resume.session.to_owned()),
            Some(resume) => AcpSessionStart::Resume(resume.session.to_owned()),
        },
        model: order.config.model.clone(),
        approval: order.config.approval_mode.unwrap_or_default(),
        ..AcpSessionSetup::default()
    })
}

/// Rejects settings that the protocol cannot express and nothing else can enforce.
fn refuse_what_cannot_be_told(config: &SessionConfig) -> Result<(), UnsupportedOperation> {
    if config.blocked_tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
        return Err(UnsupportedOperation::new("an ACP agent cannot be kept from tools that it does not ask about")
            .with_hint("block them in the agent's own settings"));
    }
    let limited = |(name, server): (&String, &switchboard_event::McpServerConfig)| {
        (server.include_tools.is_some() || !server.exclude_tools.is_empty()).then(|| name.clone())
    };
    match config.mcp_servers.iter().find_map(limited) {
        Some(name) => {
            Err(UnsupportedOperation::new(format!("ACP has no word for which tools of the MCP server {name} to use"))
                .with_hint("leave out includeTools and excludeTools"))
        }
        None => Ok(()),
    }
}

fn weaker(config: &SessionConfig) -> Vec<String> {
    let mode = config.approval_mode.unwrap_or_default();
    let asks = (mode != ApprovalMode::AutoAll)
        .then(|| "what it asks about is the agent's own choice: what it does not ask about runs unasked".to_owned());
    asks.into_iter().collect()
}

/// Returns the usual state directories of programs with these names.
fn state_folders(host: &dyn HostAccess, names: &[&str]) -> Vec<PathBuf> {
    let base = |var: &str, usual: &str| host.env_var(var).map_or_else(|| host.home_dir().join(usual), PathBuf::from);
    let bases = [
        base("XDG_CONFIG_HOME", ".config"),
        base("XDG_DATA_HOME", ".local/share"),
        base("XDG_STATE_HOME", ".local/state"),
        base("XDG_CACHE_HOME", ".cache"),
    ];
    let of = |name: &&str| {
        let own = host.home_dir().join(format!(".{name}"));
        bases.iter().map(|base| base.join(name)).chain([own]).collect::<Vec<_>>()
    };
    names.iter().flat_map(of).collect()
}
