//! Sessions as recorded in logs.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use switchboard_agents::{PassageKind, SessionFacts};
use switchboard_event::{Event, Id, Timestamp};

use crate::SearchHit;
use crate::export::visible_line;

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

/// A session without its transcript.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LogSession")]
pub struct SessionView<'a> {
    /// The agent's own id of it.
    pub id: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The machine, if it is another one.
    pub machine: Option<&'a str>,
    /// The folder that it began in.
    pub project: Option<&'a str>,
    /// The branch that was worked on last.
    pub branch: Option<&'a str>,
    /// The last model.
    pub model: Option<&'a str>,
    /// What it is called.
    pub title: Option<&'a str>,
    /// The first thing that a person said.
    pub prompt: Option<&'a str>,
    /// The version of the agent's program.
    pub version: Option<&'a str>,
    /// When the first record happened.
    pub began: Option<Timestamp>,
    /// When the last record happened.
    pub updated: Option<Timestamp>,
    /// How many prompts a person gave.
    pub turns: u32,
    /// The subagents that worked for it.
    pub subagents: &'a [String],
    /// The files that it lies in.
    pub files: Vec<String>,
    /// How many bytes they have, if they are its alone: a database is of many sessions.
    pub bytes: Option<u64>,
    /// The agent has deleted its log; what was said is still here.
    pub gone: bool,
    /// The agent has put it away.
    pub archived: bool,
    /// Switchboard ran it.
    pub switchboard: Option<OwnView<'a>>,
}

/// What Switchboard knows about a session that it ran itself.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LogOwner")]
pub struct OwnView<'a> {
    /// Its id there.
    pub id: &'a str,
    /// What it is doing.
    pub state: &'static str,
}

impl<'a> From<&'a LogSession> for SessionView<'a> {
    fn from(session: &'a LogSession) -> Self {
        let facts = &session.facts;
        Self {
            id: &session.id,
            agent: &session.agent,
            machine: session.machine.as_deref(),
            project: facts.cwd.as_deref(),
            branch: facts.branch.as_deref(),
            model: facts.model.as_deref(),
            title: facts.title.as_deref(),
            prompt: facts.prompt.as_deref(),
            version: facts.version.as_deref(),
            began: facts.began,
            updated: facts.updated,
            turns: facts.prompts,
            subagents: &session.subagents,
            files: session.files.iter().map(|file| file.to_string_lossy().into_owned()).collect(),
            bytes: session.bytes,
            gone: session.gone,
            archived: session.archived,
            switchboard: session.own.as_ref().map(|own| OwnView { id: &own.id, state: own.state.name() }),
        }
    }
}

/// A passage that was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LogHit")]
pub struct HitView<'a> {
    /// The session.
    pub session: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// When it was said.
    pub at: Option<Timestamp>,
    /// What it is, as `agtrace.event.v1` calls it.
    pub event_type: &'static str,
    /// A piece of the text around what was found.
    pub snippet: &'a str,
    /// The file.
    pub path: String,
    /// Where in the file the record begins, in bytes; in a database, the number of the record.
    pub offset: u64,
    /// The turn, from 1; 0 before the first prompt.
    pub turn: u32,
    /// The subagent that it was said by, if it was one; then the turn is the subagent's own.
    pub subagent: Option<&'a str>,
    /// The tool.
    pub tool: Option<&'a str>,
    /// The folder that was worked in.
    pub project: Option<&'a str>,
    /// The machine, if it is another one.
    pub machine: Option<&'a str>,
    /// Where in the snippet it is: pairs of where it begins and ends, in bytes of UTF-8.
    pub marks: Vec<[usize; 2]>,
    /// How good it is: larger is better.
    pub score: f64,
}

impl<'a> From<&'a SearchHit> for HitView<'a> {
    fn from(hit: &'a SearchHit) -> Self {
        Self {
            session: &hit.session,
            agent: &hit.agent,
            at: hit.at,
            event_type: hit.kind.wire_name(),
            snippet: &hit.snippet,
            path: hit.path.to_string_lossy().into_owned(),
            offset: hit.offset,
            turn: hit.turn,
            subagent: hit.subagent.as_deref(),
            tool: hit.tool.as_deref(),
            project: hit.project.as_deref(),
            machine: hit.machine.as_deref(),
            marks: hit.marks.iter().map(|mark| [mark.start, mark.end]).collect(),
            score: hit.score,
        }
    }
}
