//! How Codex is started.

use crate::{
    Abilities, Agent, Launch, Order, Unsupported, Versions,
    agent::{no_config, no_login},
};

/// Codex, as it can be run.
pub const AGENT: Agent = Agent {
    name: "codex",
    title: "Codex",
    program: Some("codex"),
    install: Some("npm install -g @openai/codex"),
    versions: Some(Versions { args: &["--version"], oldest: "0.150.0", tested: "0.166.0" }),
    abilities: Abilities::NONE,
    launch,
    login: no_login,
    config: no_config,
};

fn launch(_: &Order<'_>) -> Result<Launch, Unsupported> {
    Err(Unsupported::new("running Codex is not built yet"))
}
