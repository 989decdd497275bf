//! What a session writes down: events are committed first and shown then. The session goes on while they are, and
//! waits only if much is under way, or if something may be done only when all before it is on disk.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_event::{Event, Id};
use switchboard_store::{Batch, ChunkBuilder, Log, StoreError, Update};
use tokio::sync::Notify;

use crate::hub::Head;

/// So many bytes of events may be under way to the disk before the session waits.
const UNDER_WAY: usize = 2 << 20;

/// About so many bytes of events are committed at once, if that many come at once.
const BATCH: usize = 128 << 10;

/// The pen of one session.
pub struct Journal {
    session: Id,
    log: Arc<dyn Log>,
    head: Arc<Head>,
    pending: ChunkBuilder,
    change: Option<Update>,
    road: Arc<Road>,
}

/// What is under way to the disk.
#[derive(Default)]
struct Road {
    state: Mutex<Traffic>,
    changed: Notify,
}

#[derive(Default)]
struct Traffic {
    batches: usize,
    bytes: usize,
    /// The first thing that went wrong. Nothing behind it is on disk.
    failed: Option<StoreError>,
}

impl Journal {
    /// A pen for a session.
    pub fn new(session: Id, log: Arc<dyn Log>, head: Arc<Head>) -> Self {
        let (pending, road) = (ChunkBuilder::default(), Arc::default());
        Self { session, log, head, pending, change: None, road }
    }

    /// Adds an event to what will be committed next.
    pub fn push(&mut self, event: Event) {
        if let Err(error) = self.pending.push(event) {
            self.road.fail(error);
        }
    }

    /// Enough events wait to be committed.
    pub fn is_full(&self) -> bool {
        self.pending.bytes() >= BATCH
    }

    /// What changes about the session with the next commit.
    pub fn change(&mut self) -> &mut Update {
        self.change.get_or_insert_default()
    }

    /// Has what was added committed, and waits while too much is under way.
    pub async fn submit(&mut self) -> Result<(), StoreError> {
        self.hand_over();
        self.road.wait(|traffic| traffic.bytes < UNDER_WAY).await
    }

    /// Has what was added committed, and waits until all is.
    pub async fn commit(&mut self) -> Result<(), StoreError> {
        self.hand_over();
        self.road.wait(|traffic| traffic.batches == 0).await
    }

    fn hand_over(&mut self) {
        if (self.pending.is_empty() && self.change.is_none()) || self.road.has_failed() {
            return;
        }
        let chunk = Arc::new(self.pending.finish());
        self.road.enter(chunk.json_len());
        let (head, road, events) = (self.head.clone(), self.road.clone(), chunk.clone());
        self.log.append(Batch {
            session: self.session.clone(),
            events: chunk,
            update: self.change.take().unwrap_or_default(),
            done: Box::new(move |result| {
                let bytes = events.json_len();
                let result = result.map(|()| head.advance(events));
                road.leave(bytes, result);
            }),
        });
    }

    /// Nothing more will come.
    pub fn end(&self) {
        self.head.end();
    }
}

impl Road {
    fn enter(&self, bytes: usize) {
        let mut state = self.state();
        state.batches += 1;
        state.bytes += bytes;
    }

    fn leave(&self, bytes: usize, result: Result<(), StoreError>) {
        let mut state = self.state();
        state.batches -= 1;
        state.bytes -= bytes;
        if let Err(error) = result {
            state.failed.get_or_insert(error);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    fn fail(&self, error: StoreError) {
        self.state().failed.get_or_insert(error);
    }

    fn has_failed(&self) -> bool {
        self.state().failed.is_some()
    }

    /// Waits for the road to be as it should; an error that happened on it comes out once.
    async fn wait(&self, fine: impl Fn(&Traffic) -> bool) -> Result<(), StoreError> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let mut state = self.state();
                if state.failed.is_some() && state.batches == 0 {
                    return Err(state.failed.replace(StoreError::Closed).unwrap_or(StoreError::Closed));
                }
                if state.failed.is_none() && fine(&state) {
                    return Ok(());
                }
            }
            changed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, Traffic> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
