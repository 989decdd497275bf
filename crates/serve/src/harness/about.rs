//! `initialize`: who serves, and what it can do.

use switchboard_agents::Agent;
use switchboard_dialects::harness::{AgentInfo, Capabilities, HarnessRequestId, InitializeResult, result_response};

use super::connection::Connection;

/// Where no agent was named, threads name theirs.
const OURS: &str = "switchboard";

/// What an agent that says no version has.
const UNKNOWN: &str = "unknown";

impl Connection {
    /// The first request. Never fails: an agent that cannot be started is refused when a thread wants it.
    pub(super) async fn initialize(&self, id: &HarnessRequestId) {
        let about = match self.purpose().agent {
            Some(agent) => InitializeResult { agent_info: self.info(agent).await, capabilities: capabilities(agent) },
            None => InitializeResult { agent_info: own_info(), capabilities: any_capabilities() },
        };
        self.say(result_response(id, about)).await;
    }

    async fn info(&self, agent: &'static Agent) -> AgentInfo {
        let version = if agent.program.is_none() {
            env!("CARGO_PKG_VERSION").to_owned()
        } else {
            self.service().agents().version(agent.name).await.unwrap_or_else(|| UNKNOWN.to_owned())
        };
        AgentInfo { name: agent.name.to_owned(), version, provider: agent.provider.to_owned() }
    }
}

fn own_info() -> AgentInfo {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    AgentInfo { name: OURS.to_owned(), version, provider: OURS.to_owned() }
}

fn capabilities(agent: &Agent) -> Capabilities {
    let abilities = agent.abilities;
    Capabilities {
        streaming: abilities.streaming,
        config_options: abilities.set_mode,
        reasoning: abilities.reasoning,
        plans: abilities.plans,
        review: false,
    }
}

/// With any agent, all of it is possible.
fn any_capabilities() -> Capabilities {
    Capabilities { streaming: true, config_options: true, reasoning: true, plans: true, review: false }
}
