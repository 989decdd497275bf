//! How OpenCode is started.

use crate::{
    Abilities, Agent, Launch, Order, Unsupported, Versions,
    agent::{no_config, no_login},
};

/// OpenCode, as it can be run.
pub const AGENT: Agent = Agent {
    name: "opencode",
    title: "OpenCode",
    program: Some("opencode"),
    install: Some("npm install -g opencode-ai"),
    versions: Some(Versions { args: &["--version"], oldest: "1.18.0", tested: "1.18.33" }),
    abilities: Abilities::NONE,
    launch,
    login: no_login,
    config: no_config,
};

fn launch(_: &Order<'_>) -> Result<Launch, Unsupported> {
    Err(Unsupported::new("running OpenCode is not built yet"))
}
