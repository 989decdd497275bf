//! The projection that all readers at the end of a session share: each event is said once, whoever listens.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use switchboard_engine::{Follower, TailRead};
use switchboard_store::StoreError;

use super::{
    Passage,
    catch_up::{State, Subject},
};

/// So much of what was said is kept for those who are a little behind.
const KEPT: usize = 1 << 20;

/// The projection at the end of a run.
pub struct Shared {
    follower: Follower,
    core: Mutex<Option<Core>>,
}

struct Core {
    state: State,
    follower: Follower,
    passages: VecDeque<Arc<Passage>>,
    bytes: usize,
}

/// The position of a reader is not among what is shared: it must read by itself, with the projection that was shared
/// if nobody needs that any more.
pub struct Detached(pub Option<State>);

impl Shared {
    pub fn new(follower: Follower) -> Self {
        Self { follower, core: Mutex::new(None) }
    }

    pub fn is_of(&self, follower: &Follower) -> bool {
        self.follower.follows_same_run(follower)
    }

    /// A reader has caught up. Whoever is farthest leads. True if the reader can go on from here.
    pub fn join(&self, state: &mut Option<State>) -> bool {
        let mut core = self.core.lock();
        let Some(seq) = state.as_ref().map(|state| state.seq) else { return false };
        match core.as_mut() {
            Some(core) if core.state.seq >= seq => core.begins() <= seq,
            Some(core) => {
                // Whoever reads here and is behind goes by itself until it has caught up.
                if let Some(ahead) = state.take() {
                    *core = Core::new(ahead, &self.follower);
                }
                true
            }
            None => {
                *core = state.take().map(|state| Core::new(state, &self.follower));
                true
            }
        }
    }

    /// Returns the messages behind an event; those of events up to it are not for the reader.
    pub fn read(&self, seq: u64, subject: &Subject) -> Result<Result<TailRead<Arc<Passage>>, Detached>, StoreError> {
        let mut guard = self.core.lock();
        let Some(core) = guard.as_mut().filter(|core| core.state.seq >= seq && core.begins() <= seq) else {
            return Ok(Err(Detached(None)));
        };
        if let Some(passage) = core.find(seq) {
            return Ok(Ok(TailRead::Events(passage)));
        }
        if !core.follower.is_close() {
            // Nobody read for a while. To read the log here would keep the others waiting.
            return Ok(Err(Detached(guard.take().map(|core| core.state))));
        }
        Ok(Ok(match core.follower.read()? {
            TailRead::Events(slice) => {
                let passage = Passage::projected(&slice, &mut core.state)?;
                subject.save(&mut core.state);
                TailRead::Events(core.keep(passage))
            }
            TailRead::CaughtUp => TailRead::CaughtUp,
            TailRead::Ended => TailRead::Ended,
        }))
    }
}

impl Core {
    fn new(state: State, follower: &Follower) -> Self {
        let follower = follower.at(state.seq);
        Self { state, follower, passages: VecDeque::new(), bytes: 0 }
    }

    /// The place behind which all is here.
    fn begins(&self) -> u64 {
        self.passages.front().map_or(self.state.seq, |passage| passage.from)
    }

    fn find(&self, seq: u64) -> Option<Arc<Passage>> {
        let first = self.passages.partition_point(|passage| passage.to <= seq);
        self.passages.get(first).cloned()
    }

    fn keep(&mut self, passage: Passage) -> Arc<Passage> {
        let passage = Arc::new(passage);
        self.bytes += passage.bytes();
        self.passages.push_back(passage.clone());
        while self.bytes > KEPT && self.passages.len() > 1 {
            if let Some(first) = self.passages.pop_front() {
                self.bytes -= first.bytes();
            }
        }
        passage
    }
}
