//! A part of a session: events that follow each other, as they come from memory or from the log.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_event::{Event, Id};
use switchboard_store::{Chunk, Row, StoreError};

/// Events that follow each other. Those from the log are text until somebody wants more of them.
pub struct Slice(Parts);

enum Parts {
    /// Chunks, and how many events of the first are left out.
    Chunks(Vec<Arc<Chunk>>, usize),
    Rows(Vec<Row>),
}

impl Slice {
    pub(super) fn from_memory(chunks: Vec<Arc<Chunk>>, skip: usize) -> Self {
        Self(Parts::Chunks(chunks, skip))
    }

    pub(super) fn from_log(rows: Vec<Row>) -> Self {
        Self(Parts::Rows(rows))
    }

    /// The JSON of each event, and its place.
    pub fn rows(self) -> impl Iterator<Item = (u64, Bytes)> {
        let (chunks, rows, skip) = match self.0 {
            Parts::Chunks(chunks, skip) => (chunks, Vec::new(), skip),
            Parts::Rows(rows) => (Vec::new(), rows, 0),
        };
        let chunks = chunks
            .into_iter()
            .flat_map(|chunk| chunk.from(0).map(|(event, json)| (event.seq, json)).collect::<Vec<_>>());
        chunks.skip(skip).chain(rows.into_iter().map(|row| (row.seq, Bytes::from(row.json))))
    }

    /// Looks at each event.
    ///
    /// # Errors
    /// If something in the log is not an event.
    pub fn for_each(&self, mut look: impl FnMut(&Event)) -> Result<(), StoreError> {
        match &self.0 {
            Parts::Chunks(chunks, skip) => {
                chunks.iter().flat_map(|chunk| chunk.events()).skip(*skip).for_each(look);
            }
            Parts::Rows(rows) => {
                for row in rows {
                    look(&event(row)?);
                }
            }
        }
        Ok(())
    }

    /// The events, for those who keep them.
    ///
    /// # Errors
    /// If something in the log is not an event.
    pub fn events(&self) -> Result<Vec<Event>, StoreError> {
        match &self.0 {
            Parts::Chunks(chunks, skip) => {
                Ok(chunks.iter().flat_map(|chunk| chunk.events()).skip(*skip).cloned().collect())
            }
            Parts::Rows(rows) => rows.iter().map(event).collect(),
        }
    }

    /// The place of the last one.
    #[must_use]
    pub fn last_seq(&self) -> Option<u64> {
        match &self.0 {
            Parts::Chunks(chunks, _) => chunks.last().and_then(|chunk| chunk.last_seq()),
            Parts::Rows(rows) => rows.last().map(|row| row.seq),
        }
    }
}

fn event(row: &Row) -> Result<Event, StoreError> {
    // The session is known to whoever asked; what matters is which event it is.
    Event::from_json(&row.json).map_err(|error| StoreError::Event(Id::from(format!("(event {})", row.seq)), error))
}
