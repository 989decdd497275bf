//! The data of a session besides its events.

use std::fmt;

use serde_json::value::RawValue;
use switchboard_event::{Id, SessionConfig, SessionEnded, Timestamp};

use crate::{AgentRun, StoreError};

/// The phase of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionPhase {
    /// The agent works.
    Running,
    /// The agent waits for an answer to a request.
    Waiting,
    /// The agent waits for a prompt.
    Idle,
    /// The session completed.
    Done,
    /// The session failed.
    Failed,
    /// The session was cancelled.
    Cancelled,
    /// A phase that only a later version knows.
    Other,
}

impl SessionPhase {
    /// The phases of a session that has not ended.
    pub const OPEN: [Self; 3] = [Self::Running, Self::Waiting, Self::Idle];

    /// The phases of a session that has ended.
    pub const FINAL: [Self; 3] = [Self::Done, Self::Failed, Self::Cancelled];

    /// Returns whether the session has ended. A follow-up reopens it.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// Returns the public name, which is also stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Other => "other",
        }
    }

    /// Returns the phase with a name.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        let all = [Self::Running, Self::Waiting, Self::Idle, Self::Done, Self::Failed, Self::Cancelled];
        all.into_iter().find(|state| state.name() == name).unwrap_or(Self::Other)
    }
}

impl fmt::Display for SessionPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A session to create.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// The ID: any text that is unique in the log.
    pub id: Id,
    /// The agent.
    pub agent: Id,
    /// The creation time.
    pub created: Timestamp,
    /// The settings.
    pub config: SessionConfig,
    /// The first prompt.
    pub prompt: String,
    /// The working directory.
    pub cwd: String,
    /// The project for grouping sessions.
    pub project: Option<String>,
}

/// A session as stored in the log.
#[derive(Clone, Debug)]
pub struct SessionRecord {
    /// The number of the session in this log. Numbers grow and are never reused.
    pub number: u64,
    /// The session ID.
    pub id: Id,
    /// The agent.
    pub agent: Id,
    /// The agent's own ID of the session, once it is known.
    pub agent_session: Option<Id>,
    /// The current phase.
    pub state: SessionPhase,
    /// The number of the owner that runs it or ran it last.
    pub owner: Option<u64>,
    /// The name of the node whose agent runs it or ran it last. Only a log of several nodes has names.
    pub node: Option<String>,
    /// The creation time.
    pub created: Timestamp,
    /// The time of the last event.
    pub updated: Timestamp,
    /// The time of the end, if the session has ended.
    pub ended: Option<Timestamp>,
    /// The `seq` of the last event, which is also the number of events.
    pub head: u64,
    /// The number of runs.
    pub runs: u32,
    /// The number of turns.
    pub turns: u32,
    /// The project for grouping sessions.
    pub project: Option<String>,
    /// The working directory.
    pub cwd: String,
    /// The title.
    pub title: Option<String>,
    /// The first prompt.
    pub prompt: String,
    /// The settings as JSON.
    pub config: Box<RawValue>,
    /// The state that the engine carries over to the next run. Opaque to the store.
    pub carry: Option<Box<RawValue>>,
    /// The end of the session as JSON.
    pub end: Option<Box<RawValue>>,
    /// Whether the session is archived and hidden from lists.
    pub archived: bool,
}

impl SessionRecord {
    /// Parses the settings.
    ///
    /// # Errors
    /// Fails if the settings are not valid in this version.
    pub fn parse_config(&self) -> Result<SessionConfig, StoreError> {
        self.parse_json_field("config", &self.config)
    }

    /// Parses the end of the session, if it has ended.
    ///
    /// # Errors
    /// Fails if a later version wrote it in an unknown format.
    pub fn parse_end(&self) -> Result<Option<SessionEnded>, StoreError> {
        self.end.as_deref().map(|end| self.parse_json_field("end", end)).transpose()
    }

    fn parse_json_field<T: serde::de::DeserializeOwned>(
        &self,
        what: &'static str,
        json: &RawValue,
    ) -> Result<T, StoreError> {
        let session = || self.id.clone();
        serde_json::from_str(json.get()).map_err(|error| StoreError::Unreadable { session: session(), what, error })
    }
}

/// Changes of a session, with or without events. Fields that are `None` stay unchanged.
#[derive(Clone, Debug, Default)]
pub struct SessionPatch {
    /// The new phase. A phase that is not final also clears the end of the session.
    pub state: Option<SessionPhase>,
    /// The end of the session; requires a final phase.
    pub end: Option<SessionEnd>,
    /// The agent's own ID of the session.
    pub agent_session: Option<Id>,
    /// The title.
    pub title: Option<String>,
    /// The new settings.
    pub config: Option<SessionConfig>,
    /// The state that the engine carries over to the next run.
    pub carry: Option<Box<RawValue>>,
    /// A new, updated or ended run. It replaces the stored run with the same number.
    pub run: Option<AgentRun>,
}

/// The end of a session.
#[derive(Clone, Debug)]
pub struct SessionEnd {
    /// The time of the end.
    pub at: Timestamp,
    /// The reason and details.
    pub how: SessionEnded,
}

/// The sessions to list. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// Sessions of this agent.
    pub agent: Option<String>,
    /// Sessions of this project.
    pub project: Option<String>,
    /// Sessions that work in this directory.
    pub cwd: Option<String>,
    /// Sessions of this node. A log without nodes has none.
    pub node: Option<String>,
    /// Sessions in one of these phases; in any phase if empty.
    pub states: Vec<SessionPhase>,
    /// Sessions with this text in the title or the prompt, ignoring case.
    pub text: Option<String>,
    /// Sessions whose ID, or the agent's own ID, starts with this.
    pub prefix: Option<String>,
    /// Sessions created at this time or later.
    pub since: Option<Timestamp>,
    /// Sessions created before this time.
    pub until: Option<Timestamp>,
    /// Only archived sessions, or only others.
    pub archived: Option<bool>,
    /// Sessions with a smaller number than this, the last one of the previous page.
    pub before: Option<u64>,
    /// The maximum number of results.
    pub limit: Option<usize>,
}
