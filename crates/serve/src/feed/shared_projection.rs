//! The projection that all readers at the end of a session share, so that each event is projected once.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use switchboard_engine::{Follower, TailRead};
use switchboard_store::StoreError;

use super::{
    MessageBatch,
    catch_up::{ProjectedSession, ProjectionState},
};

/// The maximum size of the messages that are kept for readers slightly behind.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// The projection at the end of a run.
pub struct SharedProjection {
    follower: Follower,
    tail: Mutex<Option<SharedTail>>,
}

struct SharedTail {
    state: ProjectionState,
    follower: Follower,
    batches: VecDeque<Arc<MessageBatch>>,
    bytes: usize,
}

/// The position of a reader is not shared: it must read by itself, with the projection if no other reader needs it.
pub struct NotShared(pub Option<ProjectionState>);

impl SharedProjection {
    pub fn new(follower: Follower) -> Self {
        Self { follower, tail: Mutex::new(None) }
    }

    pub fn is_same_run(&self, follower: &Follower) -> bool {
        self.follower.follows_same_run(follower)
    }

    /// Offers the state of a reader that has caught up; the most advanced state is shared. Returns whether the reader
    /// can continue from here.
    pub fn join(&self, state: &mut Option<ProjectionState>) -> bool {
        let mut tail = self.tail.lock();
        let Some(seq) = state.as_ref().map(|state| state.seq) else { return false };
        match tail.as_mut() {
            Some(tail) if tail.state.seq >= seq => tail.first_seq() <= seq,
            Some(tail) => {
                // Readers that are behind catch up by themselves.
                if let Some(ahead) = state.take() {
                    *tail = SharedTail::new(ahead, &self.follower);
                }
                true
            }
            None => {
                *tail = state.take().map(|state| SharedTail::new(state, &self.follower));
                true
            }
        }
    }

    /// Returns the messages after an event. They may include some of that event, which the reader skips.
    pub fn read(
        &self,
        seq: u64,
        session: &ProjectedSession,
    ) -> Result<Result<TailRead<Arc<MessageBatch>>, NotShared>, StoreError> {
        let mut guard = self.tail.lock();
        let Some(tail) = guard.as_mut().filter(|tail| tail.state.seq >= seq && tail.first_seq() <= seq) else {
            return Ok(Err(NotShared(None)));
        };
        if let Some(batch) = tail.find(seq) {
            return Ok(Ok(TailRead::Events(batch)));
        }
        if !tail.follower.is_close() {
            // The tail no longer has the events, and reading the log here would block the other readers.
            return Ok(Err(NotShared(guard.take().map(|tail| tail.state))));
        }
        let read = tail.follower.read()?.try_map(|slice| {
            let batch = MessageBatch::projected(&slice, &mut tail.state)?;
            session.save(&mut tail.state);
            Ok::<_, StoreError>(tail.keep(batch))
        });
        read.map(Ok)
    }
}

impl SharedTail {
    fn new(state: ProjectionState, follower: &Follower) -> Self {
        let follower = follower.at(state.seq);
        Self { state, follower, batches: VecDeque::new(), bytes: 0 }
    }

    /// Returns the event after which all messages are kept.
    fn first_seq(&self) -> u64 {
        self.batches.front().map_or(self.state.seq, |batch| batch.from)
    }

    fn find(&self, seq: u64) -> Option<Arc<MessageBatch>> {
        let first = self.batches.partition_point(|batch| batch.to <= seq);
        self.batches.get(first).cloned()
    }

    fn keep(&mut self, batch: MessageBatch) -> Arc<MessageBatch> {
        let batch = Arc::new(batch);
        self.bytes += batch.bytes();
        self.batches.push_back(batch.clone());
        while self.bytes > MAX_KEPT_BYTES && self.batches.len() > 1 {
            if let Some(first) = self.batches.pop_front() {
                self.bytes -= first.bytes();
            }
        }
        batch
    }
}
