//! Writes the events of a session: events are committed first and shown afterwards. The session continues meanwhile,
//! and waits only if too much is in flight, or if an action requires that everything before it is on disk.

use std::sync::Arc;

use parking_lot::Mutex;
use switchboard_event::{Event, Id, SessionState};
use switchboard_store::{EventBatch, EventChunkBuilder, SessionLog, SessionPatch, StoreError};
use tokio::sync::Notify;

use crate::follow::LiveTail;

/// The maximum size of events in flight to the disk before the session waits.
const MAX_IN_FLIGHT_BYTES: usize = 2 << 20;

/// The approximate size of one batch, if that many events arrive at once.
const BATCH_BYTES: usize = 128 << 10;

pub struct EventWriter {
    session: Id,
    log: Arc<dyn SessionLog>,
    tail: Arc<LiveTail>,
    pending: EventChunkBuilder,
    patch: Option<SessionPatch>,
    in_flight: Arc<InFlightBatches>,
}

/// The batches in flight to the disk.
#[derive(Default)]
pub(crate) struct InFlightBatches {
    state: Mutex<InFlightState>,
    changed: Notify,
}

#[derive(Default)]
struct InFlightState {
    batches: usize,
    bytes: usize,
    /// The first error. No later batch is on disk.
    error: Option<StoreError>,
    /// The session ends without waiting for its batches.
    is_abandoned: bool,
}

impl EventWriter {
    pub fn new(session: Id, log: Arc<dyn SessionLog>, tail: Arc<LiveTail>) -> Self {
        let (pending, in_flight) = (EventChunkBuilder::default(), Arc::default());
        Self { session, log, tail, pending, patch: None, in_flight }
    }

    pub fn in_flight(&self) -> Arc<InFlightBatches> {
        self.in_flight.clone()
    }

    /// Adds an event to the next batch.
    pub fn push(&mut self, event: Event) {
        if let Err(error) = self.pending.push(event) {
            self.in_flight.state.lock().error.get_or_insert(error);
        }
    }

    /// Returns whether enough events wait to be committed.
    pub fn is_full(&self) -> bool {
        self.pending.json_len() >= BATCH_BYTES
    }

    /// Returns the update of the session's record in the next batch.
    pub fn patch(&mut self) -> &mut SessionPatch {
        self.patch.get_or_insert_default()
    }

    /// Submits the pending events, and waits while too much is in flight.
    pub async fn submit(&mut self) -> Result<(), StoreError> {
        self.submit_pending();
        self.in_flight.wait_until(|state| state.bytes < MAX_IN_FLIGHT_BYTES).await
    }

    /// Submits the pending events, and waits until everything is committed.
    pub async fn commit(&mut self) -> Result<(), StoreError> {
        self.submit_pending();
        self.in_flight.wait_until(|state| state.batches == 0).await
    }

    fn submit_pending(&mut self) {
        if self.pending.is_empty() && self.patch.is_none() || self.in_flight.state.lock().error.is_some() {
            return;
        }
        let chunk = Arc::new(self.pending.finish());
        self.in_flight.add(chunk.json_len());
        let (tail, in_flight, events) = (self.tail.clone(), self.in_flight.clone(), chunk.clone());
        self.log.append_batch(EventBatch {
            session: self.session.clone(),
            events: chunk,
            update: self.patch.take().unwrap_or_default(),
            done: Box::new(move |result| {
                let bytes = events.json_len();
                let result = result.map(|()| tail.push(events));
                in_flight.remove(bytes, result);
            }),
        });
    }

    /// Calls a function with the state of the session after the committed events of this run.
    pub fn with_committed_state<T>(&self, read: impl FnOnce(&SessionState) -> T) -> T {
        self.tail.with_state(read)
    }

    /// Marks the session's tail as complete.
    pub fn end(&self) {
        self.tail.end();
    }
}

impl InFlightBatches {
    fn add(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.batches += 1;
        state.bytes += bytes;
    }

    fn remove(&self, bytes: usize, result: Result<(), StoreError>) {
        let mut state = self.state.lock();
        state.batches -= 1;
        state.bytes -= bytes;
        if let Err(error) = result {
            state.error.get_or_insert(error);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Ends all waiting, now and later.
    pub fn abandon(&self) {
        self.state.lock().is_abandoned = true;
        self.changed.notify_waiters();
    }

    /// Waits until a condition holds. The first error is returned once.
    async fn wait_until(&self, condition: impl Fn(&InFlightState) -> bool) -> Result<(), StoreError> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let mut state = self.state.lock();
                if state.is_abandoned {
                    return Err(StoreError::Unreachable("the log was not reachable for too long".to_owned()));
                }
                if state.error.is_some() && state.batches == 0 {
                    return Err(state.error.replace(StoreError::Closed).unwrap_or(StoreError::Closed));
                }
                if state.error.is_none() && condition(&state) {
                    return Ok(());
                }
            }
            changed.await;
        }
    }
}
