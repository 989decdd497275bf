//! Configuration of a session with an ACP agent, and the agent's quirks.

use std::collections::BTreeMap;

use switchboard_event::{ApprovalMode, McpServerConfig};

/// Configuration of a session with an ACP agent.
#[derive(Default)]
pub struct Setup {
    /// The absolute working directory.
    pub cwd: String,
    /// The MCP servers to offer, by name.
    pub servers: BTreeMap<String, McpServerConfig>,
    pub start: Start,
    /// The model to select, unless it is selected when the agent starts.
    pub model: Option<String>,
    /// What the agent may do without asking.
    pub approval: ApprovalMode,
    /// Hint for a user who is not logged in.
    pub login: Option<String>,
    pub habits: Habits,
}

/// How a session begins.
#[derive(Default)]
pub enum Start {
    /// A new session.
    #[default]
    New,
    /// Continues another session.
    Resume(String),
    /// Continues a copy of another session.
    Fork(String),
}

/// Peculiarities of an agent.
#[derive(Default)]
pub struct Habits {
    /// It answers `session/load` before it has replayed the history. Everything until a pause is still history.
    pub late_history: bool,
    /// It keeps running after its input is closed.
    pub lingers: bool,
    /// It expands `$` as a variable in the environment and headers of MCP servers.
    pub expands: bool,
}
