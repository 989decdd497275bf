//! What a session writes down: events are committed first and shown then.

use std::sync::Arc;

use switchboard_event::{Event, Id, NativeBody};
use switchboard_store::{Batch, Log, StoreError, Update};
use tokio::sync::oneshot;

use crate::hub::Head;

/// The pen of one session.
pub struct Journal {
    session: Id,
    log: Arc<dyn Log>,
    head: Arc<Head>,
    pending: Vec<Arc<Event>>,
    change: Option<Update>,
}

impl Journal {
    /// A pen for a session.
    pub fn new(session: Id, log: Arc<dyn Log>, head: Arc<Head>) -> Self {
        Self { session, log, head, pending: Vec::new(), change: None }
    }

    /// Adds an event to what will be committed next.
    pub fn push(&mut self, event: Event) {
        self.pending.push(Arc::new(event));
    }

    /// How many events wait to be committed.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// What changes about the session with the next commit.
    pub fn change(&mut self) -> &mut Update {
        self.change.get_or_insert_default()
    }

    /// Commits what was added, and shows it.
    pub async fn commit(&mut self) -> Result<(), StoreError> {
        if self.pending.is_empty() && self.change.is_none() {
            return Ok(());
        }
        let events = std::mem::take(&mut self.pending);
        let (done, committed) = oneshot::channel();
        self.log.append(Batch {
            session: self.session.clone(),
            events: events.clone(),
            update: self.change.take().unwrap_or_default(),
            // A session that is gone no longer wants to know.
            done: Box::new(move |result| drop(done.send(result))),
        });
        committed.await.map_err(|_| StoreError::Closed)??;
        let sized: Vec<_> = events.into_iter().map(|event| (event.clone(), size(&event))).collect();
        self.head.advance(&sized);
        Ok(())
    }

    /// Nothing more will come.
    pub fn end(&self) {
        self.head.end();
    }
}

/// About what an event costs in memory.
fn size(event: &Event) -> usize {
    let native = event.native.as_ref().map_or(0, |native| match &native.body {
        NativeBody::Json(raw) => raw.get().len(),
        NativeBody::Text(text) => text.len(),
        NativeBody::Bytes(bytes) => bytes.len(),
    });
    // The event itself says about as much again as the record that it came from.
    512 + 2 * native
}
