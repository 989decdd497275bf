//! What a session with an ACP agent is to be like, and what is peculiar about the agent.

use std::collections::BTreeMap;

use switchboard_event::{ApprovalMode, McpServerConfig};

/// What a session with an ACP agent is to be like.
#[derive(Default)]
pub struct Setup {
    /// The folder to work in, absolute.
    pub cwd: String,
    /// The MCP servers to offer, by name.
    pub servers: BTreeMap<String, McpServerConfig>,
    /// How the session begins.
    pub start: Start,
    /// The model to choose, where that is not said when the agent is started.
    pub model: Option<String>,
    /// What the agent may do unasked.
    pub approval: ApprovalMode,
    /// What a person can do who is not logged in.
    pub login: Option<String>,
    /// What is peculiar about the agent.
    pub habits: Habits,
}

/// How a session begins.
#[derive(Default)]
pub enum Start {
    /// A new one.
    #[default]
    New,
    /// Another one goes on.
    Resume(String),
    /// A copy of another one goes on.
    Fork(String),
}

/// What is peculiar about an agent.
#[derive(Default)]
pub struct Habits {
    /// It answers `session/load` before it has told the history: what comes until it is quiet is still history.
    pub late_history: bool,
    /// It does not end when its input does.
    pub lingers: bool,
    /// Values of an MCP server's environment and headers are not taken as they are: `$` begins a variable.
    pub expands: bool,
}
