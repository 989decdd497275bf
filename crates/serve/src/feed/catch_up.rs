//! A reader with its own projection: from a checkpoint to where it begins, and on until it has caught up.

use std::sync::Arc;

use switchboard_dialects::{Dialect, Projection};
use switchboard_engine::{Follower, TailRead};
use switchboard_event::Id;
use switchboard_store::{Checkpoint, CheckpointPosition, SessionLog, StoreError};

use super::{Begin, Passage};

/// So many events lie between two checkpoints.
const EVERY: u64 = 4096;

/// A projection and how far it has come.
pub struct State {
    pub projection: Box<dyn Projection>,
    /// The last event that it has seen.
    pub seq: u64,
    /// How many messages it has given.
    pub count: u64,
    /// Where its last checkpoint is.
    saved: u64,
}

/// What a projection is of.
#[derive(Clone)]
pub struct Subject {
    pub session: Id,
    pub dialect: &'static Dialect,
    pub log: Arc<dyn SessionLog>,
}

impl Subject {
    /// The projection as it was at a place or a little before.
    pub fn resume(&self, at: CheckpointPosition) -> Result<State, StoreError> {
        if self.dialect.verbatim {
            let (CheckpointPosition::Seq(seq) | CheckpointPosition::Message(seq)) = at;
            return Ok(State { projection: (self.dialect.projection)(), seq, count: seq, saved: seq });
        }
        let found = self.log.find_checkpoint(&self.session, self.dialect.name, &self.dialect.version(), at)?;
        let resumed = found.and_then(|found| {
            let projection = (self.dialect.restore)(&found.state)?;
            Some(State { projection, seq: found.seq, count: found.messages, saved: found.seq })
        });
        Ok(resumed.unwrap_or_else(|| State { projection: (self.dialect.projection)(), seq: 0, count: 0, saved: 0 }))
    }

    /// Keeps a checkpoint, if it is time for one.
    pub fn save(&self, state: &mut State) {
        if self.dialect.verbatim || state.seq < state.saved + EVERY {
            return;
        }
        state.saved = state.seq;
        // Without a checkpoint, whoever returns begins farther back.
        if let Ok(saved) = state.projection.save() {
            self.log.save_checkpoint(
                &self.session,
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

/// A reader with its own projection.
pub struct CatchUpReader {
    pub subject: Subject,
    pub follower: Follower,
    pub state: Option<State>,
    /// Where it wants to begin: what comes before is not given out.
    begin: Begin,
}

impl CatchUpReader {
    pub fn new(
        session: &Id,
        dialect: &'static Dialect,
        follower: Follower,
        log: Arc<dyn SessionLog>,
        begin: Begin,
    ) -> Self {
        let subject = Subject { session: session.clone(), dialect, log };
        Self { subject, follower, state: None, begin }
    }

    /// Reads on, as far as one page goes. Waits for the disk.
    pub fn read(&mut self) -> Result<TailRead<Passage>, StoreError> {
        let mut state = match self.state.take() {
            Some(state) => state,
            None => self.find_beginning()?,
        };
        let passage = match self.follower.read()? {
            TailRead::CaughtUp => {
                self.state = Some(state);
                return Ok(TailRead::CaughtUp);
            }
            TailRead::Ended => return Ok(TailRead::Ended),
            TailRead::Events(slice) if self.subject.dialect.verbatim => {
                let passage = Passage::verbatim(slice, state.seq);
                (state.seq, state.count) = (passage.to, passage.count);
                passage
            }
            TailRead::Events(slice) => Passage::projected(&slice, &mut state)?,
        };
        self.subject.save(&mut state);
        self.state = Some(state);
        Ok(TailRead::Events(self.trimmed(passage)))
    }

    /// The last event that it has seen, and how many messages there were up to that.
    pub fn place(&self) -> (u64, u64) {
        self.state.as_ref().map_or((0, 0), |state| (state.seq, state.count))
    }

    /// It has come to where it wants to begin, and what comes next is in memory or has not happened yet.
    pub fn has_caught_up(&self) -> bool {
        let begun = self.state.as_ref().is_some_and(|state| match self.begin {
            Begin::Message(count) => state.count >= count,
            Begin::Event(seq) => state.seq >= seq,
        });
        begun && self.follower.is_close()
    }

    /// It was with others, and goes by itself from here, with the projection as it is here if there is one.
    pub fn go_on(&mut self, seq: u64, state: Option<State>) {
        self.begin = Begin::Event(seq);
        self.state = state.filter(|state| state.seq <= seq);
        let at = self.state.as_ref().map_or(seq, |state| state.seq);
        self.follower = self.follower.at(at);
    }

    /// Reads again what comes behind the first `messages` messages of the session.
    pub fn rewind(&mut self, messages: u64) {
        self.begin = Begin::Message(messages);
        self.state = None;
    }

    fn find_beginning(&mut self) -> Result<State, StoreError> {
        let at = match self.begin {
            Begin::Message(count) => CheckpointPosition::Message(count),
            Begin::Event(seq) => CheckpointPosition::Seq(seq),
        };
        let state = self.subject.resume(at)?;
        self.follower = self.follower.at(state.seq);
        Ok(state)
    }

    /// Leaves out what comes before the beginning.
    fn trimmed(&self, mut passage: Passage) -> Passage {
        match self.begin {
            Begin::Event(seq) => passage.messages.retain(|message| message.seq > seq),
            Begin::Message(wanted) => {
                let before = passage.count - passage.messages.len() as u64;
                let skip = usize::try_from(wanted.saturating_sub(before)).unwrap_or(usize::MAX);
                passage.messages.drain(..skip.min(passage.messages.len()));
            }
        }
        passage
    }
}
