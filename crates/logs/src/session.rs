//! Sessions as recorded in logs.

use std::{fmt, path::PathBuf};

use switchboard_agents::{PassageKind, SessionFacts};
use switchboard_event::{Event, Id, Timestamp};

use super::export::visible_line;

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

/// Long enough to tell sessions apart.
const MAX_TITLE_CHARS: usize = 60;

/// One line per matching session. The list is complete: the wanted session may be the last one.
#[derive(Debug)]
pub struct SessionCandidates(Vec<String>);

impl SessionCandidates {
    pub(crate) fn from_sessions<'a>(sessions: impl IntoIterator<Item = (&'a str, &'a str, &'a SessionFacts)>) -> Self {
        Self(sessions.into_iter().map(|(id, agent, facts)| session_summary_line(id, agent, facts)).collect())
    }
}

impl LogSession {
    /// Describes the session in one line: its full ID, agent and title.
    #[must_use]
    pub fn summary_line(&self) -> String {
        session_summary_line(&self.id, &self.agent, &self.facts)
    }
}

fn session_summary_line(id: &str, agent: &str, facts: &SessionFacts) -> String {
    let title = facts.title.as_deref().or(facts.prompt.as_deref()).unwrap_or_default();
    let title: String =
        visible_line(title.trim().lines().next().unwrap_or_default()).chars().take(MAX_TITLE_CHARS).collect();
    format!("{id}  {agent}  {title}").trim_end().to_owned()
}

impl fmt::Display for SessionCandidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}
