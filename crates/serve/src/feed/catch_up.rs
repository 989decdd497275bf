//! A reader with its own projection: from a checkpoint to its start, and on until it has caught up.

use std::sync::Arc;

use switchboard_dialects::{Dialect, Projection};
use switchboard_engine::{Engine, Follower, TailRead};
use switchboard_event::Id;
use switchboard_store::{Checkpoint, CheckpointPosition, SessionLog, StoreError};

use super::{FeedStart, MessageBatch};

/// The number of events between two checkpoints.
const CHECKPOINT_EVENTS: u64 = 4096;

/// A `seq` after all events.
const MAX_SEQ: u64 = i64::MAX as u64;

/// A projection and its progress.
pub struct ProjectionState {
    pub projection: Box<dyn Projection>,
    /// The last event that was applied.
    pub seq: u64,
    /// The number of messages so far.
    pub count: u64,
    /// The event of the last checkpoint.
    saved: u64,
}

/// A session in a dialect.
#[derive(Clone)]
pub struct ProjectedSession {
    pub id: Id,
    pub dialect: &'static Dialect,
    pub log: Arc<dyn SessionLog>,
}

impl ProjectedSession {
    /// Returns the projection at a position or shortly before it.
    pub fn resume(&self, at: CheckpointPosition) -> Result<ProjectionState, StoreError> {
        if self.dialect.verbatim {
            let (CheckpointPosition::Seq(seq) | CheckpointPosition::Message(seq)) = at;
            return Ok(ProjectionState { projection: (self.dialect.projection)(), seq, count: seq, saved: seq });
        }
        let found = self.log.find_checkpoint(&self.id, self.dialect.name, &self.dialect.version(), at)?;
        let resumed = found.and_then(|found| {
            let projection = (self.dialect.restore)(&found.state)?;
            Some(ProjectionState { projection, seq: found.seq, count: found.messages, saved: found.seq })
        });
        Ok(resumed.unwrap_or_else(|| ProjectionState {
            projection: (self.dialect.projection)(),
            seq: 0,
            count: 0,
            saved: 0,
        }))
    }

    /// Saves a checkpoint if one is due.
    pub fn save(&self, state: &mut ProjectionState) {
        if self.dialect.verbatim || state.seq < state.saved + CHECKPOINT_EVENTS {
            return;
        }
        state.saved = state.seq;
        // Without a checkpoint, later readers start farther back.
        if let Ok(saved) = state.projection.save() {
            self.log.save_checkpoint(
                &self.id,
                Checkpoint {
                    dialect: self.dialect.name.to_owned(),
                    version: self.dialect.version(),
                    seq: state.seq,
                    messages: state.count,
                    state: saved,
                },
            );
        }
    }
}

pub struct CatchUpReader {
    pub session: ProjectedSession,
    pub follower: Follower,
    pub state: Option<ProjectionState>,
    /// Where the reader starts; earlier messages are left out.
    start: FeedStart,
}

impl CatchUpReader {
    pub fn new(
        session: &Id,
        dialect: &'static Dialect,
        follower: Follower,
        log: Arc<dyn SessionLog>,
        start: FeedStart,
    ) -> Self {
        let session = ProjectedSession { id: session.clone(), dialect, log };
        Self { session, follower, state: None, start }
    }

    /// Reads one page. Blocks on the disk.
    pub fn read(&mut self) -> Result<TailRead<MessageBatch>, StoreError> {
        let mut state = match self.state.take() {
            Some(state) => state,
            None => self.find_start()?,
        };
        let read = match self.follower.read() {
            Ok(read) => read,
            Err(error) => {
                // The log may be readable again later.
                self.state = Some(state);
                return Err(error);
            }
        };
        let batch = match read {
            TailRead::CaughtUp => {
                self.state = Some(state);
                return Ok(TailRead::CaughtUp);
            }
            TailRead::Ended => return Ok(TailRead::Ended),
            TailRead::Events(slice) if self.session.dialect.verbatim => {
                let batch = MessageBatch::verbatim(slice, state.seq);
                (state.seq, state.count) = (batch.to, batch.count);
                batch
            }
            TailRead::Events(slice) => MessageBatch::projected(&slice, &mut state)?,
        };
        self.session.save(&mut state);
        self.state = Some(state);
        Ok(TailRead::Events(self.remove_earlier(batch)))
    }

    /// Returns the last event that was read and the number of messages up to it.
    pub fn position(&self) -> (u64, u64) {
        self.state.as_ref().map_or((0, 0), |state| (state.seq, state.count))
    }

    /// Returns whether the start was reached, and the next events are in memory or have not happened yet.
    pub fn has_caught_up(&self) -> bool {
        let is_started = self.state.as_ref().is_some_and(|state| match self.start {
            FeedStart::AfterMessages(count) => state.count >= count,
            FeedStart::AfterEvent(seq) => state.seq >= seq,
        });
        is_started && self.follower.is_close()
    }

    /// Continues from an event with the projection that was shared so far, if it is given.
    pub fn continue_from(&mut self, seq: u64, state: Option<ProjectionState>) {
        self.start = FeedStart::AfterEvent(seq);
        self.state = state.filter(|state| state.seq <= seq);
        let at = self.state.as_ref().map_or(seq, |state| state.seq);
        self.follower = self.follower.at(at);
    }

    /// Continues after the first `messages` messages of the session.
    pub fn rewind(&mut self, messages: u64) {
        self.start = FeedStart::AfterMessages(messages);
        self.state = None;
    }

    fn find_start(&mut self) -> Result<ProjectionState, StoreError> {
        let at = match self.start {
            FeedStart::AfterMessages(count) => CheckpointPosition::Message(count),
            FeedStart::AfterEvent(seq) => CheckpointPosition::Seq(seq),
        };
        let state = self.session.resume(at)?;
        self.follower = self.follower.at(state.seq);
        Ok(state)
    }

    /// Removes messages before the start.
    fn remove_earlier(&self, mut batch: MessageBatch) -> MessageBatch {
        match self.start {
            FeedStart::AfterEvent(seq) => batch.messages.retain(|message| message.seq > seq),
            FeedStart::AfterMessages(wanted) => {
                let before = batch.count - batch.messages.len() as u64;
                let skip = usize::try_from(wanted.saturating_sub(before)).unwrap_or(usize::MAX);
                batch.messages.drain(..skip.min(batch.messages.len()));
            }
        }
        batch
    }
}

/// The saved projection of a session at its last event.
#[derive(Clone, Debug, Default)]
pub struct ProjectionSnapshot {
    pub saved: Vec<u8>,
    /// The number of messages up to that event.
    pub count: u64,
}

impl ProjectionSnapshot {
    /// Reads the log from the last checkpoint. Blocks on the disk.
    pub fn read(engine: &Engine, id: &Id, dialect: &'static Dialect) -> Result<Self, StoreError> {
        let session = ProjectedSession { id: id.clone(), dialect, log: Arc::clone(engine.log()) };
        let mut state = session.resume(CheckpointPosition::Seq(MAX_SEQ))?;
        let mut follower = engine.follow(id, state.seq)?;
        while let TailRead::Events(slice) = follower.read()? {
            MessageBatch::projected(&slice, &mut state)?;
            session.save(&mut state);
        }
        let saved = state.projection.save().unwrap_or_default();
        Ok(Self { saved, count: state.count })
    }
}
