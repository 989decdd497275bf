//! How an agent that speaks ACP is started: one that is named by its command, or a row of the table.

use std::path::PathBuf;

use switchboard_event::{ApprovalMode, SessionConfig};

use super::driver::{Client, Habits, Setup, Start};
use crate::{Abilities, Agent, Host, Launch, Login, Order, StateDirectory, Unsupported, Versions, agent::no_config};

/// Any agent that speaks ACP, named by its command.
pub const AGENT: Agent = forking(&row("acp", "any agent that speaks ACP", "acp", None, None, None, by_command));

/// What such an agent can do. What only some of them can, the agent says itself when it is there.
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

/// An agent that only speaks ACP, as the table has it.
pub const fn row(
    name: &'static str,
    title: &'static str,
    provider: &'static str,
    program: Option<&'static str>,
    install: Option<&'static str>,
    versions: Option<Versions>,
    launch: fn(&Order<'_>) -> Result<Launch, Unsupported>,
) -> Agent {
    let (login, config) = (unknown_login, no_config);
    let (abilities, protected_paths) = (ABILITIES, &[]);
    Agent { name, title, provider, program, install, versions, abilities, launch, login, config, protected_paths }
}

/// The same for one with settings of its own.
pub const fn with_protected_paths(agent: &Agent, protected_paths: &'static [&'static str]) -> Agent {
    Agent { protected_paths, ..*agent }
}

/// The same for one that can continue a copy of a session.
pub const fn forking(agent: &Agent) -> Agent {
    Agent { abilities: Abilities { fork: true, ..agent.abilities }, ..*agent }
}

/// Each has a login of its own, and only it knows whether it was done.
fn unknown_login(_: &dyn Host) -> Login {
    Login::Unknown
}

/// What is peculiar about an agent of the table.
#[derive(Clone, Copy, Default)]
pub struct Row {
    /// Its program.
    pub program: &'static str,
    /// What makes it speak ACP.
    pub args: &'static [&'static str],
    /// Names of the directories where it keeps its state, besides its program's.
    pub state: &'static [&'static str],
    /// The directory of which a sandbox keeps only some changes, if its content is known.
    pub known_state: Option<fn(&dyn Host) -> StateDirectory>,
    /// It does not end when its input does.
    pub lingers: bool,
}

/// Starts an agent of the table.
pub fn start(order: &Order<'_>, row: Row) -> Result<Launch, Unsupported> {
    let habits = Habits { lingers: row.lingers, ..Habits::default() };
    let setup = Setup { habits, ..setup(order)? };
    let args = row.args.iter().map(|arg| (*arg).to_owned()).collect();
    let names: Vec<&str> = row.state.iter().copied().chain([row.program]).collect();
    let state: Vec<_> = row.known_state.iter().map(|known| known(order.host)).collect();
    let mut writable = state_folders(order.host, &names);
    writable.retain(|path| !state.iter().any(|known| known.path == *path));
    Ok(Launch { writable, state, ..launch(order, row.program.to_owned(), args, setup) })
}

fn by_command(order: &Order<'_>) -> Result<Launch, Unsupported> {
    let [program, args @ ..] = order.command else {
        return Err(Unsupported::new("which ACP agent to start is not said")
            .with_hint("name its command, such as --command \"my-agent --acp\""));
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let writable = state_folders(order.host, &[name]);
    Ok(Launch { writable, ..launch(order, program.clone(), args.to_vec(), setup(order)?) })
}

fn launch(order: &Order<'_>, program: String, args: Vec<String>, setup: Setup) -> Launch {
    let driver = Some(Box::new(Client::new(setup)) as Box<dyn crate::Driver>);
    Launch { program, args, source: "acp", driver, weaker: weaker(order.config), ..Launch::default() }
}

/// The session that an order wants, of an agent of which nothing is known.
fn setup(order: &Order<'_>) -> Result<Setup, Unsupported> {
    if order.one_shot {
        return Err(Unsupported::new("an ACP agent has no form for one prompt and one answer"));
    }
    refuse_what_cannot_be_told(order.config)?;
    Ok(Setup {
        cwd: order.cwd.to_string_lossy().into_owned(),
        servers: order.config.mcp_servers.clone(),
        start: match order.resume {
            None => Start::New,
            Some(resume) if resume.fork => Start::Fork(resume.session.to_owned()),
            Some(resume) => Start::Resume(resume.session.to_owned()),
        },
        model: order.config.model.clone(),
        approval: order.config.approval_mode.unwrap_or_default(),
        ..Setup::default()
    })
}

/// What the protocol has no word for, and nobody else could see to.
fn refuse_what_cannot_be_told(config: &SessionConfig) -> Result<(), Unsupported> {
    if config.blocked_tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
        return Err(Unsupported::new("an ACP agent cannot be kept from tools that it does not ask about")
            .with_hint("block them in the agent's own settings"));
    }
    let limited = |(name, server): (&String, &switchboard_event::McpServerConfig)| {
        (server.include_tools.is_some() || !server.exclude_tools.is_empty()).then(|| name.clone())
    };
    match config.mcp_servers.iter().find_map(limited) {
        Some(name) => Err(Unsupported::new(format!("ACP has no word for which tools of the MCP server {name} to use"))
            .with_hint("leave out includeTools and excludeTools")),
        None => Ok(()),
    }
}

fn weaker(config: &SessionConfig) -> Vec<String> {
    let mode = config.approval_mode.unwrap_or_default();
    let asks = (mode != ApprovalMode::AutoAll)
        .then(|| "what it asks about is the agent's own choice: what it does not ask about runs unasked".to_owned());
    asks.into_iter().collect()
}

/// Where programs keep their state, by the names that they use for that.
fn state_folders(host: &dyn Host, names: &[&str]) -> Vec<PathBuf> {
    let base = |var: &str, usual: &str| host.env(var).map_or_else(|| host.home().join(usual), PathBuf::from);
    let bases = [
        base("XDG_CONFIG_HOME", ".config"),
        base("XDG_DATA_HOME", ".local/share"),
        base("XDG_STATE_HOME", ".local/state"),
        base("XDG_CACHE_HOME", ".cache"),
    ];
    let of = |name: &&str| {
        let own = host.home().join(format!(".{name}"));
        bases.iter().map(|base| base.join(name)).chain([own]).collect::<Vec<_>>()
    };
    names.iter().flat_map(of).collect()
}
