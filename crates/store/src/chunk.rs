//! Events that follow each other, each with its JSON: made once, then committed, kept for those who follow closely, and
//! sent.

use std::mem::take;

use bytes::Bytes;
use switchboard_event::{Event, Id};

use crate::StoreError;

/// Events of one session that follow each other, and the JSON of each.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    events: Vec<Event>,
    json: Bytes,
    ends: Vec<usize>,
}

impl Chunk {
    /// The events, in their order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Events and the JSON of each, from one of them on.
    pub fn from(&self, first: usize) -> impl Iterator<Item = (&Event, Bytes)> {
        let start = move |index: usize| index.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0);
        let events = self.events.iter().zip(&self.ends).enumerate().skip(first);
        events.map(move |(index, (event, end))| (event, self.json.slice(start(index)..*end)))
    }

    /// About how much memory it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // What an event holds beside itself is about what its JSON says.
        2 * self.json.len() + self.events.len() * size_of::<Event>()
    }

    /// How long the JSON is.
    #[must_use]
    pub fn json_len(&self) -> usize {
        self.json.len()
    }

    /// The place of the first event.
    #[must_use]
    pub fn first_seq(&self) -> Option<u64> {
        self.events.first().map(|event| event.seq)
    }

    /// The place of the last event.
    #[must_use]
    pub fn last_seq(&self) -> Option<u64> {
        self.events.last().map(|event| event.seq)
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// No more than this is reserved, whatever the last chunk was.
const MOST_RESERVED: usize = 1 << 20;

/// A chunk that is being made.
#[derive(Debug, Default)]
pub struct ChunkBuilder {
    events: Vec<Event>,
    json: Vec<u8>,
    ends: Vec<usize>,
    /// How large the last one was: the next is likely to be like it.
    last: (usize, usize),
}

impl ChunkBuilder {
    /// Adds an event.
    ///
    /// # Errors
    /// If it cannot be written as JSON. It is not added then.
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

    /// How long the JSON is so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.json.len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The chunk; the builder is empty again.
    pub fn finish(&mut self) -> Chunk {
        self.last = (self.events.len(), self.json.len().min(MOST_RESERVED));
        let (events, json, ends) = (take(&mut self.events), take(&mut self.json), take(&mut self.ends));
        // What was reserved and is not used would be kept as long as the chunk is.
        let json = if json.capacity() > json.len() * 2 { Bytes::copy_from_slice(&json) } else { Bytes::from(json) };
        Chunk { events, json, ends }
    }
}

impl TryFrom<Vec<Event>> for Chunk {
    type Error = StoreError;

    fn try_from(events: Vec<Event>) -> Result<Self, StoreError> {
        let mut builder = ChunkBuilder::default();
        events.into_iter().try_for_each(|event| builder.push(event))?;
        Ok(builder.finish())
    }
}
