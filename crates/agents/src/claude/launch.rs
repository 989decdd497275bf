//! How Claude Code is started.

use crate::{
    Abilities, Agent, Launch, Order, Unsupported, Versions,
    agent::{no_config, no_login},
};

/// Claude Code, as it can be run.
pub const AGENT: Agent = Agent {
    name: "claude",
    title: "Claude Code",
    program: Some("claude"),
    install: Some("npm install -g @anthropic-ai/claude-code"),
    versions: Some(Versions { args: &["--version"], oldest: "2.1.0", tested: "2.1.197" }),
    abilities: Abilities::NONE,
    launch,
    login: no_login,
    config: no_config,
};

fn launch(_: &Order<'_>) -> Result<Launch, Unsupported> {
    Err(Unsupported::new("running Claude Code is not built yet"))
}
