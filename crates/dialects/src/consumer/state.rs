//! The session state: sent in full to new consumers and changed by `session_update`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_event::{Context, McpServer, Mode, Model, Named, PlanEntry, Selector, SessionStatus};

use super::{
    unified::{VerbatimFields, VerbatimJson},
    wire::{Permission, Team, Tokens},
};

/// The state of a session. Its size depends on what is open and what the agent offers, not on the history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "State")]
pub struct ConsumerState {
    /// The session.
    pub session_id: String,
    /// The agent.
    pub agent: String,
    /// The agent's own session ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The agent's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The number of the run, from 1.
    pub run: u32,
    /// Whether the agent's process runs. If not, a prompt resumes the session.
    pub connected: bool,
    /// The current model; empty if unknown.
    pub model: String,
    /// The provider of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The working directory.
    pub cwd: String,
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The current activity; absent before the first report of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
    /// Whether the agent compacts its context.
    pub is_compacting: bool,
    /// The agent's current mode; empty if unknown.
    #[serde(rename = "permissionMode")]
    pub permission_mode: String,
    /// The available modes.
    pub modes: Vec<Mode>,
    /// The available models.
    pub models: Vec<Model>,
    /// The agent's own selectors.
    pub options: Vec<Selector>,
    /// The agent's tools.
    pub tools: Vec<String>,
    /// The agent's slash commands.
    pub commands: Vec<Named>,
    /// The names of the slash commands.
    pub slash_commands: Vec<String>,
    /// The agent's MCP servers.
    pub mcp_servers: Vec<McpServer>,
    /// The agent's subagents.
    pub agents: Vec<String>,
    /// The use of the context window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// The use of the context window in percent; 0 if unknown.
    pub context_used_percent: f64,
    /// The number of turns that have ended.
    pub num_turns: u64,
    /// The token usage of all turns, each counted once.
    pub usage: Tokens,
    /// The cost of all turns, as far as the agent reports it.
    pub total_cost_usd: f64,
    /// The duration of the last turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_duration_ms: Option<u64>,
    /// The current plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlanEntry>,
    /// The team of agents, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<Team>,
    /// The open requests of the agent, oldest first.
    pub pending_permissions: Vec<Permission>,
}

impl ConsumerState {
    /// Returns the changed fields of a later state; a removed field is `null`.
    #[must_use]
    pub fn difference_to(&self, later: &Self) -> VerbatimFields {
        let (old, new) = (VerbatimFields::from_value(self), VerbatimFields::from_value(later));
        let mut difference = VerbatimFields::default();
        for (name, value) in new.iter().filter(|(name, value)| old.get(name) != Some(value)) {
            difference.insert(name, value.clone());
        }
        for (name, _) in old.iter().filter(|(name, _)| new.get(name).is_none()) {
            difference.insert(name, VerbatimJson::from_value(&()));
        }
        difference
    }

    /// Returns the state with a difference applied. An invalid difference changes nothing.
    #[must_use]
    pub fn with_difference(&self, difference: &VerbatimFields) -> Self {
        let mut fields = VerbatimFields::from_value(self);
        for (name, value) in difference.iter() {
            match value.read::<()>() {
                Some(()) => fields.remove(name),
                None => fields.insert(name, value.clone()),
            }
        }
        VerbatimJson::from_value(&fields).read().unwrap_or_else(|| self.clone())
    }
}
