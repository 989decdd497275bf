//! Consecutive events with their JSON: serialized once, then committed, kept for followers at the tail, and sent.

use std::mem::take;

use bytes::Bytes;
use switchboard_event::{Event, Id};

use crate::StoreError;

/// Consecutive events of one session, and the JSON of each.
#[derive(Clone, Debug, Default)]
pub struct EventChunk {
    events: Vec<Event>,
    json: Bytes,
    ends: Vec<usize>,
}

impl EventChunk {
    /// Returns the events in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the events with their JSON, starting at an index.
    pub fn iter_from(&self, first: usize) -> impl Iterator<Item = (&Event, Bytes)> {
        let start = move |index: usize| index.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0);
        let events = self.events.iter().zip(&self.ends).enumerate().skip(first);
        events.map(move |(index, (event, end))| (event, self.json.slice(start(index)..*end)))
    }

    /// Returns the approximate memory use.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        // The heap data of an event is about as large as its JSON.
        2 * self.json.len() + self.events.len() * size_of::<Event>()
    }

    /// Returns the length of the JSON.
    #[must_use]
    pub fn json_len(&self) -> usize {
        self.json.len()
    }

    /// Returns the `seq` of the first event.
    #[must_use]
    pub fn first_seq(&self) -> Option<u64> {
        self.events.first().map(|event| event.seq)
    }

    /// Returns the `seq` of the last event.
    #[must_use]
    pub fn last_seq(&self) -> Option<u64> {
        self.events.last().map(|event| event.seq)
    }

    /// Returns whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// The maximum buffer to reserve, regardless of the size of the last chunk.
const MAX_RESERVED_BYTES: usize = 1 << 20;

/// Builds chunks.
#[derive(Debug, Default)]
pub struct EventChunkBuilder {
    events: Vec<Event>,
    json: Vec<u8>,
    ends: Vec<usize>,
    /// The number of events and bytes of the last chunk, an estimate for the next one.
    last: (usize, usize),
}

impl EventChunkBuilder {
    /// Adds an event.
    ///
    /// # Errors
    /// Fails if the event cannot be serialized; it is not added then.
    pub fn push(&mut self, event: Event) -> Result<(), StoreError> {
        if self.events.is_empty() {
            self.events.reserve(self.last.0);
            self.ends.reserve(self.last.0);
            self.json.reserve(self.last.1);
        }
        let start = self.json.len();
        if let Err(error) = event.write_json(&mut self.json) {
            self.json.truncate(start);
            return Err(StoreError::Unreadable { session: Id::clone(&event.session), what: "an event", error });
        }
        self.ends.push(self.json.len());
        self.events.push(event);
        Ok(())
    }

    /// Returns the length of the JSON so far.
    #[must_use]
    pub fn json_len(&self) -> usize {
        self.json.len()
    }

    /// Returns whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the chunk and resets the builder.
    pub fn finish(&mut self) -> EventChunk {
        self.last = (self.events.len(), self.json.len().min(MAX_RESERVED_BYTES));
        let (events, json, ends) = (take(&mut self.events), take(&mut self.json), take(&mut self.ends));
        // Unused capacity would stay allocated as long as the chunk lives.
        let json = if json.capacity() > json.len() * 2 { Bytes::copy_from_slice(&json) } else { Bytes::from(json) };
        EventChunk { events, json, ends }
    }
}

impl TryFrom<Vec<Event>> for EventChunk {
    type Error = StoreError;

    fn try_from(events: Vec<Event>) -> Result<Self, StoreError> {
        let mut builder = EventChunkBuilder::default();
        events.into_iter().try_for_each(|event| builder.push(event))?;
        Ok(builder.finish())
    }
}
