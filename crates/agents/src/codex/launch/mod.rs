//! How Codex is started: what it is, what the session's settings mean to it, and which words say so.

mod config_file;
mod exec;
mod keys;
mod mcp;
mod rules;
mod server;
mod tools;
mod trust;

pub use config_file::home;

use crate::{Abilities, Agent, Host, Launch, Order, StateDirectory, Unsupported, Versions, WhileRunning};

/// Codex, as it can be run.
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
    login: keys::login,
    config: config_file::found,
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

fn launch(order: &Order<'_>) -> Result<Launch, Unsupported> {
    if let Some(resume) = order.resume {
        // `codex exec resume` with a name that it does not know silently begins a new thread (0.166).
        is_thread(resume.session)?;
    }
    let mut launch = if order.one_shot { exec::launch(order)? } else { server::launch(order)? };
    launch.program = "codex".to_owned();
    launch.state = vec![state(order.host)];
    if order.confined {
        // Its databases only repeat what the rollouts have. A copy of one that another process writes may be torn.
        launch.env.push(("CODEX_SQLITE_HOME".to_owned(), order.private.display().to_string()));
    }
    Ok(launch)
}

/// Shell snapshots and the programs in `tmp` run later, so only threads, their locks and the login are kept.
pub fn state(host: &dyn Host) -> StateDirectory {
    StateDirectory {
        path: home(host),
        kept_directories: &["sessions", "archived_sessions", "thread-writer-locks"],
        kept_files: &["auth.json"],
    }
}

fn is_thread(id: &str) -> Result<(), Unsupported> {
    let parts: Vec<_> = id.split('-').map(str::len).collect();
    let hex = id.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    if hex && parts == [8, 4, 4, 4, 12] {
        return Ok(());
    }
    Err(Unsupported::new(format!("`{id}` is not the id of a Codex thread")).with_hint("a thread's id is a UUID"))
}

#[cfg(test)]
mod tests;
