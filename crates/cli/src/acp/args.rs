//! What can be typed after `acp`, and what it means.

use std::path::PathBuf;

use clap::{Args, builder::TypedValueParser as _};
use switchboard_agents::{AGENTS, find_agent};
use switchboard_event::{ApprovalMode, SandboxMode, SessionConfig};
use switchboard_serve::acp::Front;

use crate::{
    failure::{Failure, names},
    offered,
    run::{approval, sandbox, variable, words},
    timeouts::Timeouts,
};

/// Be an agent for editors: the Agent Client Protocol on standard input and output
///
/// An editor that speaks the protocol starts this command and gets the agent, with its models, modes and settings, its
/// plans and changes, and asks its user what the agent asks. Sessions are kept like all others: an editor can load
/// them, and `switchboard sessions` shows them.
///
/// Nothing but the protocol is written to standard output. When standard input ends, so do the agents.
#[derive(Args)]
#[command(after_long_help = snippets())]
pub struct Acp {
    /// The agent
    #[arg(long, value_name = "AGENT", value_parser = offered::AGENT, hide_possible_values = true)]
    pub agent: String,
    /// The model of new sessions; the editor can choose another
    #[arg(long, short, value_name = "MODEL")]
    pub model: Option<String>,
    /// The agent's own mode of new sessions; the editor can choose another
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// What needs an approval: ask (everything that acts), ask-dangerous, auto-edit, auto-all
    #[arg(long, short, value_name = "MODE", value_parser = offered::APPROVAL.try_map(|text| approval(&text)), hide_possible_values = true)]
    pub approval: Option<ApprovalMode>,
    /// Where the agent may write: none (no sandbox), read-only, workspace-write, full-access
    #[arg(long, short, value_name = "MODE", value_parser = offered::SANDBOX.try_map(|text| sandbox(&text)), hide_possible_values = true)]
    pub sandbox: Option<SandboxMode>,
    /// The program of an agent that is named by its command, with its arguments
    #[arg(long, value_name = "COMMAND")]
    pub command: Option<String>,
    /// A variable for the agent
    #[arg(long, short, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// What the work belongs to, for lists
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// How long sessions wait for people
    #[command(flatten)]
    pub timeouts: Timeouts,
    /// Where sessions are kept [default: the platform's data folder]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

impl Acp {
    /// What was typed, as the server takes it.
    pub fn front(&self) -> Result<Front, Failure> {
        let unknown = || Failure::UnknownName {
            what: "agent",
            given: self.agent.clone(),
            known: names(AGENTS.iter().map(|agent| (agent.name, agent.title))),
        };
        Ok(Front {
            agent: find_agent(&self.agent).ok_or_else(unknown)?,
            config: SessionConfig {
                project_id: self.project.clone(),
                model: self.model.clone(),
                mode: self.mode.clone(),
                approval_mode: self.approval,
                sandbox_mode: self.sandbox,
                ..SessionConfig::default()
            },
            command: self.command.as_deref().map(words).transpose()?.unwrap_or_default(),
            env: self.env.iter().map(|entry| variable(entry)).collect::<Result<_, _>>()?,
        })
    }
}

/// How editors are told of it. The agent is the first of the table: this file knows none.
fn snippets() -> String {
    let (name, title) = AGENTS.first().map_or(("AGENT", "Agent"), |agent| (agent.name, agent.title));
    format!(
        "Zed, in settings.json:\n  \
         {{\"agent_servers\": {{\"{title} (Switchboard)\": {{\n    \
         \"type\": \"custom\", \"command\": \"switchboard\", \"args\": [\"acp\", \"--agent\", \"{name}\"]}}}}}}\n\n\
         JetBrains, in ~/.jetbrains/acp.json (the command as an absolute path):\n  \
         {{\"agent_servers\": {{\"{title} (Switchboard)\": {{\n    \
         \"command\": \"/usr/local/bin/switchboard\", \"args\": [\"acp\", \"--agent\", \"{name}\"], \"env\": {{}}}}}}}}"
    )
}
