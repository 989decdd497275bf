//! The projection that all readers at the end of a session share: each event is said once, whoever listens.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_engine::{Follower, Look};
use switchboard_store::StoreError;

use super::{
    Passage,
    alone::{State, Subject},
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

/// What a reader finds.
pub enum Found {
    /// More messages; those of events up to its place are not for it.
    Passage(Arc<Passage>),
    Nothing,
    Over,
    /// The end is far from here: the reader must go by itself, perhaps with what is left here.
    Lost(Option<State>),
}

impl Shared {
    pub fn new(follower: Follower) -> Self {
        Self { follower, core: Mutex::new(None) }
    }

    pub fn is_of(&self, follower: &Follower) -> bool {
        self.follower.is_beside(follower)
    }

    /// A reader has caught up. Whoever is farthest leads. True if the reader can go on from here.
    pub fn join(&self, state: &mut Option<State>) -> bool {
        let mut core = self.core();
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

    /// What comes behind a place.
    pub fn behind(&self, seq: u64, subject: &Subject) -> Result<Found, StoreError> {
        let mut guard = self.core();
        let Some(core) = guard.as_mut().filter(|core| core.state.seq >= seq && core.begins() <= seq) else {
            return Ok(Found::Lost(None));
        };
        if let Some(passage) = core.find(seq) {
            return Ok(Found::Passage(passage));
        }
        if !core.follower.is_close() {
            // Nobody read for a while. To read the log here would keep the others waiting.
            return Ok(Found::Lost(guard.take().map(|core| core.state)));
        }
        match core.follower.look()? {
            Look::Here(slice) => {
                let passage = Passage::projected(&slice, &mut core.state)?;
                subject.save(&mut core.state);
                Ok(Found::Passage(core.keep(passage)))
            }
            Look::Nothing => Ok(Found::Nothing),
            Look::Over => Ok(Found::Over),
        }
    }

    fn core(&self) -> MutexGuard<'_, Option<Core>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
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
