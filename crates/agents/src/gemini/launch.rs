//! How Gemini CLI is started.

use crate::{
    Abilities, Agent, Launch, Order, Unsupported, Versions,
    agent::{no_config, no_login},
};

/// Gemini CLI, as it can be run.
pub const AGENT: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    program: Some("gemini"),
    install: Some("npm install -g @google/gemini-cli"),
    versions: Some(Versions { args: &["--version"], oldest: "0.56.0", tested: "0.61.0" }),
    abilities: Abilities::NONE,
    launch,
    login: no_login,
    config: no_config,
};

fn launch(_: &Order<'_>) -> Result<Launch, Unsupported> {
    Err(Unsupported::new("running Gemini CLI is not built yet"))
}
