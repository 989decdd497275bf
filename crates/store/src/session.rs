//! What is known about a session beside its events.

use std::fmt;

use serde_json::value::RawValue;
use switchboard_event::{Id, SessionConfig, SessionEnded, Timestamp};

use crate::{Run, StoreError};

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The agent works.
    Running,
    /// The agent waits for an answer to a request.
    Waiting,
    /// The agent waits for a prompt.
    Idle,
    /// It ended well.
    Done,
    /// It ended badly.
    Failed,
    /// Somebody ended it.
    Cancelled,
    /// Something that only a later version knows.
    Other,
}

impl State {
    /// The states of a session that has not ended.
    pub const OPEN: [Self; 3] = [Self::Running, Self::Waiting, Self::Idle];

    /// The states of a session that has ended.
    pub const FINAL: [Self; 3] = [Self::Done, Self::Failed, Self::Cancelled];

    /// The session has ended. A follow-up opens it again.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// The name that people and machines see.
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

    /// The state of that name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let all = [Self::Running, Self::Waiting, Self::Idle, Self::Done, Self::Failed, Self::Cancelled];
        all.into_iter().find(|state| state.name() == name).unwrap_or(Self::Other)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A session to be.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Its id: any text that no other session has.
    pub id: Id,
    /// The agent.
    pub agent: Id,
    /// When.
    pub created: Timestamp,
    /// How it is run.
    pub config: SessionConfig,
    /// The first prompt.
    pub prompt: String,
    /// The folder that it works in.
    pub cwd: String,
    /// What the work belongs to.
    pub project: Option<String>,
}

/// A session as the log knows it.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its number in this log. Later sessions have larger ones; none is given twice.
    pub number: u64,
    /// Its id.
    pub id: Id,
    /// The agent.
    pub agent: Id,
    /// The agent's own id of the session, once it is known.
    pub agent_session: Option<Id>,
    /// What it is doing.
    pub state: State,
    /// The number of the process that runs it, or ran it last.
    pub owner: Option<u64>,
    /// When it was created.
    pub created: Timestamp,
    /// When the last event happened.
    pub updated: Timestamp,
    /// When it ended, if it has.
    pub ended: Option<Timestamp>,
    /// The `seq` of the last event, which is also their number.
    pub head: u64,
    /// How many runs it had.
    pub runs: u32,
    /// How many turns it had.
    pub turns: u32,
    /// What the work belongs to.
    pub project: Option<String>,
    /// The folder that it works in.
    pub cwd: String,
    /// What to call it.
    pub title: Option<String>,
    /// The first prompt.
    pub prompt: String,
    /// How it is run, as JSON.
    pub config: Box<RawValue>,
    /// What the next run must know of the last one. Only the engine understands it.
    pub carry: Option<Box<RawValue>>,
    /// How it ended, as JSON.
    pub end: Option<Box<RawValue>>,
    /// It is put away: lists need not show it.
    pub archived: bool,
}

impl Session {
    /// How it is run.
    ///
    /// # Errors
    /// If the settings are not those of this version.
    pub fn config(&self) -> Result<SessionConfig, StoreError> {
        self.read("config", &self.config)
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// If a later version wrote it in a way that this one does not know.
    pub fn end(&self) -> Result<Option<SessionEnded>, StoreError> {
        self.end.as_deref().map(|end| self.read("end", end)).transpose()
    }

    fn read<T: serde::de::DeserializeOwned>(&self, what: &'static str, json: &RawValue) -> Result<T, StoreError> {
        let session = || self.id.clone();
        serde_json::from_str(json.get()).map_err(|error| StoreError::Unreadable { session: session(), what, error })
    }
}

/// What changes about a session, with a batch of events or without any. What is `None` stays.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// What it is doing now. One that is not final also forgets how the session ended.
    pub state: Option<State>,
    /// How it ended; comes with a final state.
    pub end: Option<End>,
    /// The agent's own id, now that it is known.
    pub agent_session: Option<Id>,
    /// What to call it.
    pub title: Option<String>,
    /// How it is run from now on.
    pub config: Option<SessionConfig>,
    /// What the next run must know.
    pub carry: Option<Box<RawValue>>,
    /// A run that started, is known better, or ended. It replaces what was known of the run of its number.
    pub run: Option<Run>,
}

/// How and when a session ended.
#[derive(Clone, Debug)]
pub struct End {
    /// When.
    pub at: Timestamp,
    /// How.
    pub how: SessionEnded,
}

/// Which sessions to list. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this agent.
    pub agent: Option<String>,
    /// Of this project.
    pub project: Option<String>,
    /// That work in this folder.
    pub cwd: Option<String>,
    /// In one of these states; in any, if there are none.
    pub states: Vec<State>,
    /// With this text in the title or the prompt, whatever the case of its letters.
    pub text: Option<String>,
    /// Whose id, or the agent's own id, begins with this.
    pub prefix: Option<String>,
    /// Created at this time or later.
    pub since: Option<Timestamp>,
    /// Created before this time.
    pub until: Option<Timestamp>,
    /// Put away, or not.
    pub archived: Option<bool>,
    /// With a smaller number than this: the last one of the page before.
    pub before: Option<u64>,
    /// So many at most.
    pub limit: Option<usize>,
}
