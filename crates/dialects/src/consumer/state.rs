//! The session state: sent in full to new consumers and changed by `session_update`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_event::{Context, McpServer, Mode, Model, Named, PlanEntry, Selector, SessionStatus};

use super::{
    unified::{VerbatimFields, VerbatimJson},
    wire::{Permission, Team, Tokens},
};

/// What a session is like now. It grows with what is open and what the agent offers, never with what has passed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct State {
    /// The session.
    pub session_id: String,
    /// The agent.
    pub agent: String,
    /// The agent's own id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The agent's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Which run of the session this is, from 1.
    pub run: u32,
    /// The agent's process runs. A prompt takes up a session whose agent does not.
    pub connected: bool,
    /// The current model; empty while it is not known.
    pub model: String,
    /// Who serves the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The folder that it works in.
    pub cwd: String,
    /// A title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is doing; nothing before the agent said something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
    /// It is making its context smaller.
    pub is_compacting: bool,
    /// The current mode, in the agent's words; empty while it is not known.
    #[serde(rename = "permissionMode")]
    pub permission_mode: String,
    /// The modes that can be set.
    pub modes: Vec<Mode>,
    /// The models that can be set.
    pub models: Vec<Model>,
    /// The agent's own selectors.
    pub options: Vec<Selector>,
    /// The tools that the agent has.
    pub tools: Vec<String>,
    /// The slash commands that the agent knows.
    pub commands: Vec<Named>,
    /// Their names.
    pub slash_commands: Vec<String>,
    /// The agent's MCP servers.
    pub mcp_servers: Vec<McpServer>,
    /// The subagents that it knows.
    pub agents: Vec<String>,
    /// How full the context is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// The same in percent; 0 while it is not known.
    pub context_used_percent: f64,
    /// How many turns have ended.
    pub num_turns: u64,
    /// What all turns used, each counted once.
    pub usage: Tokens,
    /// What all turns cost, as far as the agent says.
    pub total_cost_usd: f64,
    /// How long the last turn took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_duration_ms: Option<u64>,
    /// The plan as it was last told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlanEntry>,
    /// The team of agents, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<Team>,
    /// What the agent asks and nobody has answered, oldest first.
    pub pending_permissions: Vec<Permission>,
}

impl State {
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
