//! How an agent that speaks ACP is started.

use crate::{
    Abilities, Agent, Launch, Order, Unsupported,
    agent::{no_config, no_login},
};

/// Any agent that speaks ACP, named by its command.
pub const AGENT: Agent = Agent {
    name: "acp",
    title: "any agent that speaks ACP",
    program: None,
    install: None,
    versions: None,
    abilities: Abilities::NONE,
    launch,
    login: no_login,
    config: no_config,
};

fn launch(_: &Order<'_>) -> Result<Launch, Unsupported> {
    Err(Unsupported::new("running an ACP agent is not built yet"))
}
