//! Launch of a session on another server, given by its address and the agent there. No local process is involved.

use switchboard_event::SessionConfig;

use super::driver::{BoardDriver, BoardSessionRequest, BoardSessionStart};
use crate::{
    Abilities, Agent, AgentLaunch, HostAccess, LaunchRequest, Login, StdinMode, UnsupportedOperation, WhileRunning,
    agent::no_config, launch::no_endpoints,
};

/// The agent definition for sessions on another server.
pub const AGENT: Agent = Agent {
    name: "board",
    title: "a session on another server (board)",
    provider: "switchboard",
    program: None,
    install: None,
    versions: None,
    abilities: Abilities {
        streaming: true,
        reasoning: true,
        plans: true,
        approvals: true,
        changed_input: true,
        questions: true,
        interrupt: true,
        while_running: WhileRunning::Wait,
        resume: true,
        fork: true,
        set_model: true,
        set_mode: true,
        ..Abilities::NONE
    },
    launch,
    login,
    config: no_config,
    endpoints: no_endpoints,
    protected_paths: &[],
};

/// The variable with the token for the server.
const TOKEN: &str = "SWITCHBOARD_BOARD_TOKEN";

fn login(host: &dyn HostAccess) -> Login {
    match host.env_var(TOKEN).filter(|token| !token.is_empty()) {
        Some(_) => Login::Yes(TOKEN.to_owned()),
        None => Login::Unknown,
    }
}

fn launch(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    let (link, agent, folder) = match order.command {
        [link, agent] => (link, agent, None),
        [link, agent, folder] => (link, agent, Some(folder.clone())),
        _ => {
            return Err(UnsupportedOperation::new("which server to go to, and which agent to use there, is not said")
                .with_hint(
                    "--command \"http://127.0.0.1:8080 AGENT [FOLDER]\", where the folder is one of the server's",
                ));
        }
    };
    let (url, linked) = match link.split_once("?token=") {
        Some((url, token)) => (url.to_owned(), Some(token.to_owned())),
        None => (link.clone(), None),
    };
    let token = order.host.env_var(TOKEN).filter(|token| !token.is_empty()).or(linked);
    let wanted = BoardSessionRequest {
        url,
        authorization: token.map(|token| format!("Bearer {}", token.trim())),
        agent: agent.clone(),
        project: project(order),
        config: settings(order.config, folder),
        start: match order.resume {
            None => BoardSessionStart::New,
            Some(resume) if resume.fork => BoardSessionStart::CopyOf(resume.session.to_owned()),
            Some(resume) => BoardSessionStart::Known(resume.session.to_owned()),
        },
    };
    let weaker = weaker(&wanted.config);
    let driver = Some(Box::new(BoardDriver::new(wanted)) as Box<dyn crate::AgentDriver>);
    Ok(AgentLaunch {
        source: "board",
        input: StdinMode::Closed,
        driver,
        weaker,
        counts_turns: true,
        ..AgentLaunch::default()
    })
}

/// The protocol requires a project. The name of the directory is the default.
fn project(order: &LaunchRequest<'_>) -> String {
    let folder = || order.cwd.file_name().map(|name| name.to_string_lossy().into_owned());
    order.config.project_id.clone().or_else(folder).unwrap_or_else(|| "switchboard".to_owned())
}

/// Returns the settings for the other server, which has neither the local directory nor the local MCP servers.
fn settings(config: &SessionConfig, folder: Option<String>) -> SessionConfig {
    SessionConfig {
        working_directory: folder,
        model: config.model.clone(),
        approval_mode: config.approval_mode,
        sandbox_mode: config.sandbox_mode,
        allowed_tools: config.allowed_tools.clone(),
        blocked_tools: config.blocked_tools.clone(),
        max_turns: config.max_turns,
        ..SessionConfig::default()
    }
}

fn weaker(config: &SessionConfig) -> Vec<String> {
    let told = *config != SessionConfig::default();
    let remark = "the settings are told to the other server, and keeping them is up to it".to_owned();
    told.then_some(remark).into_iter().collect()
}
