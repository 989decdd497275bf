//! Launch of Codex: its description, and the arguments and configuration for a session.

mod config_file;
mod exec;
mod keys;
mod mcp;
mod rules;
mod server;
mod tools;
mod trust;

#[cfg(test)]
mod tests;

pub use config_file::codex_home;

use crate::{
    Abilities, Agent, AgentEndpoint, AgentLaunch, HostAccess, LaunchRequest, StateDirectory, UnsupportedOperation,
    Versions, WhileRunning, launch::public_endpoints,
};

pub const AGENT: Agent = Agent {
    name: "codex",
    title: "Codex",
    provider: "openai",
    program: Some("codex"),
    install: Some("npm install -g @openai/codex"),
    versions: Some(Versions { args: &["--version"], oldest: "0.150.0", tested: "0.169.0" }),
    abilities: Abilities {
        streaming: true,
        reasoning: true,
        plans: true,
        approvals: true,
        changed_input: false,
        questions: true,
        interrupt: true,
        while_running: WhileRunning::Steer,
        resume: true,
        fork: true,
        set_model: true,
        set_mode: true,
        images: true,
        mcp: true,
        output_schema: true,
        one_shot: true,
        detailed_one_shot: false,
    },
    launch,
    login: keys::check_login,
    config: config_file::find_settings,
    endpoints,
    protected_paths: &[
        ".codex/config.toml",
        ".codex/*.config.toml",
        ".codex/hooks.json",
        ".codex/hooks/**",
        ".codex/rules/**",
        ".codex/prompts/**",
        ".codex/skills/**",
        ".codex/agents/**",
        ".codex/plugins/**",
        ".codex/environments/**",
        "/etc/codex/**",
    ],
};

/// The API, ChatGPT accounts and their login, and the providers of the user's configuration.
pub fn endpoints(host: &dyn HostAccess) -> Vec<AgentEndpoint> {
    let mut endpoints = public_endpoints(&["api.openai.com", "chatgpt.com", "auth.openai.com"]);
    endpoints.extend(AgentEndpoint::from_env(host, &["OPENAI_BASE_URL", "CODEX_OSS_BASE_URL"]));
    let urls = config_file::read_machine_and_user_configs(host).into_iter().flat_map(|file| file.base_urls());
    endpoints.extend(urls.filter_map(|url| AgentEndpoint::from_configured_url(&url)));
    endpoints
}

fn launch(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    if let Some(resume) = order.resume {
        // `codex exec resume` with an unknown name silently starts a new thread (0.166).
        check_thread_id(resume.session)?;
    }
    let mut launch = if order.one_shot { exec::launch_exec(order)? } else { server::launch_app_server(order)? };
    launch.program = "codex".to_owned();
    launch.state = vec![state_directory(order.host)];
    if order.confined {
        // The databases only repeat the rollouts. A copy taken while another process writes may be corrupt.
        launch.env.push(("CODEX_SQLITE_HOME".to_owned(), order.private.display().to_string()));
    }
    Ok(launch)
}

/// Shell snapshots and the programs in `tmp` run later, so only threads, their locks and the login are kept.
pub fn state_directory(host: &dyn HostAccess) -> StateDirectory {
    StateDirectory {
        path: codex_home(host),
        kept_directories: &["sessions", "archived_sessions", "thread-writer-locks"],
        kept_files: &["auth.json"],
    }
}

fn check_thread_id(id: &str) -> Result<(), UnsupportedOperation> {
    let parts: Vec<_> = id.split('-').map(str::len).collect();
    let hex = id.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    if hex && parts == [8, 4, 4, 4, 12] {
        return Ok(());
    }
    Err(UnsupportedOperation::new(format!("`{id}` is not the id of a Codex thread"))
        .with_hint("a thread's id is a UUID"))
}
