//! The end of a session's log: the last committed events in memory, and the state of the session after them.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use switchboard_event::{Id, SessionState};
use switchboard_store::EventChunk;
use tokio::sync::{Notify, futures::Notified};

use super::TailRead;

/// The bytes that a session may always keep of its tail.
const MIN_TAIL_BYTES: usize = 64 << 10;

/// The bytes that a session may keep while all sessions together stay below [`SHARED_TAIL_BYTES`].
const MAX_TAIL_BYTES: usize = 2 << 20;

/// The approximate size of one read. A slow reader keeps it in memory until it has sent it on.
const READ_BYTES: usize = 256 << 10;

/// The bytes that all sessions together may keep beyond [`MIN_TAIL_BYTES`] each.
const SHARED_TAIL_BYTES: usize = 16 << 20;

/// The bytes that all live tails of a process keep in memory.
#[derive(Default)]
pub struct MemoryBudget(AtomicUsize);

/// The end of a session's log as far as it is committed. The session that runs here adds events to it; for a session
/// of another process, a watcher of the log moves its end.
pub struct LiveTail {
    session: Id,
    budget: Arc<MemoryBudget>,
    tail: Mutex<TailState>,
    changed: Notify,
}

#[derive(Default)]
struct TailState {
    chunks: VecDeque<Arc<EventChunk>>,
    bytes: usize,
    last_seq: u64,
    is_ended: bool,
    /// The session was deleted: readers get the error from the log.
    is_deleted: bool,
    /// The state after the events of this run.
    session_state: SessionState,
}

impl LiveTail {
    /// Returns the tail of a log that ends with an event.
    pub fn new(session: Id, last_seq: u64, budget: Arc<MemoryBudget>) -> Arc<Self> {
        let tail = Mutex::new(TailState { last_seq, ..TailState::default() });
        Arc::new(Self { session, budget, tail, changed: Notify::new() })
    }

    pub fn ended(session: Id, last_seq: u64, budget: Arc<MemoryBudget>) -> Arc<Self> {
        let tail = Self::new(session, last_seq, budget);
        tail.end();
        tail
    }

    pub fn session(&self) -> &Id {
        &self.session
    }

    /// Adds events that were committed.
    pub fn push(&self, chunk: Arc<EventChunk>) {
        let Some(last_seq) = chunk.last_seq() else { return };
        let mut tail = self.tail.lock();
        tail.last_seq = last_seq;
        chunk.events().iter().for_each(|event| tail.session_state.apply(event));
        tail.bytes += chunk.memory_bytes();
        self.budget.0.fetch_add(chunk.memory_bytes(), Ordering::Relaxed);
        tail.chunks.push_back(chunk);
        let is_short = self.budget.0.load(Ordering::Relaxed) > SHARED_TAIL_BYTES;
        let max_bytes = if is_short { MIN_TAIL_BYTES } else { MAX_TAIL_BYTES };
        while tail.bytes > max_bytes && tail.chunks.len() > 1 {
            self.drop_first_chunk(&mut tail);
        }
        drop(tail);
        self.changed.notify_waiters();
    }

    /// Moves the end to an event that another process committed: it is in the log.
    pub fn move_end(&self, last_seq: u64) {
        let mut tail = self.tail.lock();
        if last_seq <= tail.last_seq {
            return;
        }
        tail.last_seq = last_seq;
        while !tail.chunks.is_empty() {
            self.drop_first_chunk(&mut tail);
        }
        drop(tail);
        self.changed.notify_waiters();
    }

    pub fn end(&self) {
        self.tail.lock().is_ended = true;
        self.changed.notify_waiters();
    }

    /// Marks the session as deleted from the log.
    pub fn delete(&self) {
        let mut tail = self.tail.lock();
        (tail.is_deleted, tail.is_ended) = (true, true);
        drop(tail);
        self.changed.notify_waiters();
    }

    pub fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Returns the chunks after an event and the number of events to skip in the first; `None` if they are only in the
    /// log.
    pub fn read(&self, position: u64) -> Option<TailRead<(Vec<Arc<EventChunk>>, usize)>> {
        let tail = self.tail.lock();
        if tail.is_deleted {
            return None;
        }
        if position >= tail.last_seq {
            return Some(if tail.is_ended { TailRead::Ended } else { TailRead::CaughtUp });
        }
        let first = tail.chunks.partition_point(|chunk| chunk.last_seq().is_some_and(|last| last <= position));
        let start = tail.chunks.get(first)?.first_seq().filter(|start| *start <= position + 1)?;
        let skip = usize::try_from(position + 1 - start).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let chunks = tail.chunks.range(first..).take_while(|chunk| {
            let is_below = bytes < READ_BYTES;
            bytes += chunk.memory_bytes();
            is_below
        });
        Some(TailRead::Events((chunks.cloned().collect(), skip)))
    }

    /// Returns whether the end of this run is committed.
    pub fn is_over(&self) -> bool {
        let tail = self.tail.lock();
        tail.session_state.end.is_some() || tail.is_ended
    }

    pub fn is_ended(&self) -> bool {
        self.tail.lock().is_ended
    }

    pub fn last_seq(&self) -> u64 {
        self.tail.lock().last_seq
    }

    /// Calls a function with the state of the session after the committed events of this run.
    pub fn with_state<T>(&self, read: impl FnOnce(&SessionState) -> T) -> T {
        read(&self.tail.lock().session_state)
    }

    fn drop_first_chunk(&self, tail: &mut TailState) {
        if let Some(chunk) = tail.chunks.pop_front() {
            tail.bytes -= chunk.memory_bytes();
            self.budget.0.fetch_sub(chunk.memory_bytes(), Ordering::Relaxed);
        }
    }
}

impl Drop for LiveTail {
    fn drop(&mut self) {
        let bytes = self.tail.lock().bytes;
        self.budget.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}
