//! Sessions as recorded in logs.

use std::path::PathBuf;

use switchboard_agents::{PassageKind, SessionFacts};
use switchboard_event::{Event, Id, Timestamp};

/// A session of an agent.
#[derive(Clone, Debug)]
pub struct LogSession {
    /// The agent's ID.
    pub id: String,
    pub agent: String,
    /// The machine, unless it is this one.
    pub machine: Option<String>,
    pub facts: SessionFacts,
    /// The existing log files.
    pub files: Vec<PathBuf>,
    /// The agent deleted the log; the indexed text is kept.
    pub gone: bool,
    /// Archived by the agent.
    pub archived: bool,
    /// Total size of the logs. Unknown for a session in a database.
    pub bytes: Option<u64>,
    /// Set if Switchboard ran the session.
    pub own: Option<OwnSession>,
    /// Session IDs of the subagents.
    pub subagents: Vec<String>,
}

/// Details of a session that Switchboard ran.
#[derive(Clone, Debug)]
pub struct OwnSession {
    /// Switchboard's ID.
    pub id: Id,
    /// The state in Switchboard's log.
    pub state: switchboard_store::SessionPhase,
}

/// The content of a session.
#[derive(Debug)]
pub enum Transcript {
    /// The complete events, with those of subagents in order.
    Events(Vec<Event>),
    /// The log was deleted; these passages were kept.
    Kept(Vec<KeptPassage>),
}

/// A kept passage.
#[derive(Clone, Debug)]
pub struct KeptPassage {
    pub kind: PassageKind,
    pub at: Option<Timestamp>,
    pub tool: Option<String>,
    pub text: String,
}
