//! The summary of a session that every frame carries: after each frame, it says everything that lists show.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{Event, EventBody, Id, Timestamp};
use switchboard_store::{
    AgentRun, EventChunk, NewSession, ProcessIdentity, SessionPatch, SessionPhase, SessionRecord, StoreError,
};

/// The size of a text beyond which it is stored as an object, so that it is not repeated in every frame.
pub const MAX_INLINE_TEXT_BYTES: usize = 32 << 10;

/// The process that runs a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameOwner {
    /// The number of the process, unique in the cluster.
    pub number: u64,
    /// The ID of the data directory.
    pub node: String,
    /// The slot in the data directory; one process has it at a time.
    pub slot: u32,
    /// The ID of the process.
    pub incarnation: String,
    /// The name of the node.
    pub name: String,
}

/// A text that may be stored as an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredText {
    /// The text, cheap to clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Id>,
    /// The name of the object with the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

impl StoredText {
    pub fn new(text: impl Into<Id>) -> Self {
        Self { text: Some(text.into()), object: None }
    }

    pub fn as_str(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns the text as it is stored: without the text itself if it is an object.
    fn without_stored_text(&self) -> Self {
        let text = if self.object.is_some() { None } else { self.text.clone() };
        Self { text, object: self.object.clone() }
    }
}

/// The summary of a session after a frame.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FrameRecord {
    pub id: Id,
    /// The stream sequence of the first frame, unknown in that frame.
    #[serde(default)]
    pub number: Option<u64>,
    pub owner: FrameOwner,
    /// The name of the node whose agent runs the session or ran it last: it has the agent's files. The owner differs
    /// once another node has ended the session.
    #[serde(default)]
    pub home: String,
    pub epoch: u64,
    /// The number of frames that owners have written. Archiving does not count, so an owner recognizes its own frames.
    pub revision: u64,
    /// The session was deleted.
    #[serde(default)]
    pub deleted: bool,
    #[serde(default)]
    pub archived: bool,
    pub agent: Id,
    #[serde(default)]
    pub agent_session: Option<Id>,
    pub state: String,
    /// Times are microseconds since 1970.
    pub created: i64,
    pub updated: i64,
    #[serde(default)]
    pub ended: Option<i64>,
    pub head: u64,
    #[serde(default)]
    pub runs: u32,
    #[serde(default)]
    pub turns: u32,
    #[serde(default)]
    pub project: Option<String>,
    pub cwd: String,
    #[serde(default)]
    pub title: Option<String>,
    pub prompt: StoredText,
    pub config: StoredText,
    #[serde(default)]
    pub carry: Option<StoredText>,
    #[serde(default)]
    pub end: Option<StoredText>,
}

impl FrameRecord {
    pub fn new(new: &NewSession, owner: FrameOwner) -> Result<Self, StoreError> {
        Ok(Self {
            id: new.id.clone(),
            home: owner.name.clone(),
            owner,
            epoch: 1,
            revision: 1,
            agent: new.agent.clone(),
            state: SessionPhase::Running.name().to_owned(),
            created: new.created.as_micros(),
            updated: new.created.as_micros(),
            project: new.project.clone(),
            cwd: new.cwd.clone(),
            prompt: StoredText::new(new.prompt.as_str()),
            config: StoredText::new(to_json(&new.id, "config", &new.config)?),
            ..Self::default()
        })
    }

    pub fn phase(&self) -> SessionPhase {
        SessionPhase::from_name(&self.state)
    }

    /// Returns the name of the node whose agent runs the session or ran it last.
    pub fn node(&self) -> &str {
        if self.home.is_empty() { &self.owner.name } else { &self.home }
    }

    pub fn is_open(&self) -> bool {
        !self.phase().is_final()
    }

    /// Reopens a session that is continued.
    pub fn reopen(&mut self) {
        SessionPhase::Running.name().clone_into(&mut self.state);
        self.ended = None;
        self.end = None;
    }

    /// Checks a batch and applies it. A refused batch changes nothing.
    pub fn apply_batch(&mut self, events: &EventChunk, patch: &SessionPatch) -> Result<(), StoreError> {
        check_sequence(&self.id, self.head, events.events())?;
        let config =
            patch.config.as_ref().map(|config| to_json(&self.id, "config", config).map(StoredText::new)).transpose()?;
        let how = patch.end.as_ref().map(|end| to_json(&self.id, "end", &end.how).map(StoredText::new)).transpose()?;
        self.advance_head(events.events());
        if let Some(config) = &patch.config {
            self.project = config.project_id.clone().or(self.project.take());
            if let Some(cwd) = &config.working_directory {
                self.cwd.clone_from(cwd);
            }
        }
        if let Some(state) = patch.state {
            state.name().clone_into(&mut self.state);
            let end = patch.end.as_ref().map_or(self.updated, |end| end.at.as_micros());
            self.ended = state.is_final().then_some(end);
            self.end = how.filter(|_| state.is_final());
        }
        self.agent_session = patch.agent_session.clone().or(self.agent_session.take());
        self.title = patch.title.clone().or(self.title.take());
        self.config = config.unwrap_or_else(|| self.config.clone());
        self.carry = patch.carry.as_ref().map(|carry| StoredText::new(carry.get())).or(self.carry.take());
        Ok(())
    }

    fn advance_head(&mut self, events: &[Event]) {
        let Some(last) = events.last() else { return };
        self.head = last.seq;
        self.updated = last.at.as_micros();
        self.runs = events.iter().map(|event| event.run).max().unwrap_or_default().max(self.runs);
        self.turns = events.iter().filter_map(|event| event.turn).max().unwrap_or_default().max(self.turns);
        if self.prompt.as_str().is_empty() && self.prompt.object.is_none() {
            let prompt = events.iter().find_map(|event| match &event.body {
                EventBody::TurnStarted(turn) => turn.prompt.as_deref(),
                _ => None,
            });
            self.prompt = StoredText::new(prompt.unwrap_or_default());
        }
    }

    /// Returns the texts that may be objects.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut StoredText> {
        [&mut self.prompt, &mut self.config].into_iter().chain(&mut self.carry).chain(&mut self.end)
    }

    /// Returns the names of the objects with texts.
    pub fn objects(&self) -> impl Iterator<Item = &str> {
        let texts = [&self.prompt, &self.config].into_iter().chain(&self.carry).chain(&self.end);
        texts.filter_map(|text| text.object.as_deref())
    }

    /// Returns the record as it is written: texts that are objects are only named.
    pub fn to_stored(&self) -> Self {
        Self {
            prompt: self.prompt.without_stored_text(),
            config: self.config.without_stored_text(),
            carry: self.carry.as_ref().map(StoredText::without_stored_text),
            end: self.end.as_ref().map(StoredText::without_stored_text),
            ..self.clone()
        }
    }

    /// Returns the public record. `first_seq` is the number of a session whose only frame this is.
    pub fn to_session_record(&self, first_seq: u64) -> Result<SessionRecord, StoreError> {
        let json = |what, text: &StoredText| {
            RawValue::from_string(text.as_str().to_owned()).map_err(|error| StoreError::Unreadable {
                session: self.id.clone(),
                what,
                error,
            })
        };
        Ok(SessionRecord {
            number: self.number.unwrap_or(first_seq),
            id: self.id.clone(),
            agent: self.agent.clone(),
            agent_session: self.agent_session.clone(),
            state: self.phase(),
            owner: Some(self.owner.number),
            node: Some(self.node().to_owned()),
            created: to_timestamp(self.created),
            updated: to_timestamp(self.updated),
            ended: self.ended.map(to_timestamp),
            head: self.head,
            runs: self.runs,
            turns: self.turns,
            project: self.project.clone(),
            cwd: self.cwd.clone(),
            title: self.title.clone(),
            prompt: self.prompt.as_str().to_owned(),
            config: json("config", &self.config)?,
            carry: self.carry.as_ref().map(|carry| json("carry", carry)).transpose()?,
            end: self.end.as_ref().map(|end| json("end", end)).transpose()?,
            archived: self.archived,
        })
    }
}

/// A run of an agent, as stored in a frame.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FrameRun {
    pub run: u32,
    pub boot: Id,
    /// PID and start time.
    #[serde(default)]
    pub supervisor: Option<(u32, u64)>,
    #[serde(default)]
    pub agent: Option<(u32, u64)>,
    pub started: i64,
    #[serde(default)]
    pub ended: Option<i64>,
}

impl From<&AgentRun> for FrameRun {
    fn from(run: &AgentRun) -> Self {
        let pair = |process: Option<ProcessIdentity>| process.map(|process| (process.pid, process.start));
        Self {
            run: run.run,
            boot: run.boot.clone(),
            supervisor: pair(run.supervisor),
            agent: pair(run.agent),
            started: run.started.as_micros(),
            ended: run.ended.map(Timestamp::as_micros),
        }
    }
}

impl From<FrameRun> for AgentRun {
    fn from(run: FrameRun) -> Self {
        let identity = |pair: Option<(u32, u64)>| pair.map(|(pid, start)| ProcessIdentity { pid, start });
        Self {
            run: run.run,
            boot: run.boot,
            supervisor: identity(run.supervisor),
            agent: identity(run.agent),
            started: to_timestamp(run.started),
            ended: run.ended.map(to_timestamp),
        }
    }
}

fn to_timestamp(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap_or_default()
}

fn to_json(session: &Id, what: &'static str, value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Unreadable { session: session.clone(), what, error })
}

/// Checks that the events belong to the session and continue its head without a gap.
fn check_sequence(session: &Id, head: u64, events: &[Event]) -> Result<(), StoreError> {
    for (event, expected) in events.iter().zip(head + 1..) {
        if event.session != *session {
            return Err(StoreError::Misplaced(session.clone()));
        }
        if event.seq != expected {
            return Err(StoreError::Gap { session: session.clone(), head: expected - 1, found: event.seq });
        }
    }
    Ok(())
}
