//! A session, as the logs know it.

use std::path::PathBuf;

use switchboard_agents::{Facts, Kind};
use switchboard_event::{Event, Id, Timestamp};

/// One session of an agent.
#[derive(Clone, Debug)]
pub struct Session {
    /// The agent's own id of it.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// The machine, if it is another one.
    pub machine: Option<String>,
    /// What is known about it.
    pub facts: Facts,
    /// The files that it lies in, if they are still there.
    pub files: Vec<PathBuf>,
    /// The agent has deleted its log; what was said is still here.
    pub gone: bool,
    /// The agent has put it away.
    pub archived: bool,
    /// How many bytes its logs have. Nothing can be said of one session in a database.
    pub bytes: Option<u64>,
    /// Switchboard ran it.
    pub own: Option<Own>,
    /// The subagents that worked for it, by the ids of their sessions.
    pub subagents: Vec<String>,
}

/// What Switchboard knows about a session that it ran itself.
#[derive(Clone, Debug)]
pub struct Own {
    /// Its id there.
    pub id: Id,
    /// What it is doing.
    pub state: switchboard_store::State,
}

/// What was said and done in a session.
#[derive(Debug)]
pub enum Transcript {
    /// All of it, as events; those of subagents are in their place.
    Events(Vec<Event>),
    /// The log is gone, and this is what was kept of it.
    Kept(Vec<Kept>),
}

/// A passage that was kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// What it is.
    pub kind: Kind,
    /// When it was said.
    pub at: Option<Timestamp>,
    /// The tool.
    pub tool: Option<String>,
    /// What was said.
    pub text: String,
}
