//! Consecutive events of a session, decoded if they come from memory, as JSON if they come from the log.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_event::{Event, Kind};
use switchboard_store::{EventChunk, EventRow, StoreError};

/// Consecutive events of a session; with a filter, those of its kinds. Events from the log are JSON until a reader
/// decodes them.
pub struct EventSlice {
    events: SliceEvents,
    /// The position after the slice. Events up to it that the filter leaves out count as read.
    last_seq: u64,
}

enum SliceEvents {
    /// Chunks, the number of events to skip in the first, and the kinds to keep; empty keeps all.
    Memory(Vec<Arc<EventChunk>>, usize, &'static [Kind]),
    Log(Vec<EventRow>),
}

impl EventSlice {
    pub(super) fn from_memory(chunks: Vec<Arc<EventChunk>>, skip: usize, kinds: &'static [Kind]) -> Self {
        let last_seq = chunks.last().and_then(|chunk| chunk.last_seq()).unwrap_or_default();
        Self { events: SliceEvents::Memory(chunks, skip, kinds), last_seq }
    }

    pub(super) fn from_log(rows: Vec<EventRow>, last_seq: u64) -> Self {
        Self { events: SliceEvents::Log(rows), last_seq }
    }

    /// Returns the JSON of each event, with its `seq`.
    pub fn into_rows(self) -> impl Iterator<Item = (u64, Bytes)> {
        let (chunks, rows, skip, kinds) = match self.events {
            SliceEvents::Memory(chunks, skip, kinds) => (chunks, Vec::new(), skip, kinds),
            SliceEvents::Log(rows) => (Vec::new(), rows, 0, [].as_slice()),
        };
        let chunks = chunks.into_iter().flat_map(|chunk| {
            let row = |(event, json): (&Event, Bytes)| (event.seq, event.body.kind(), json);
            chunk.iter_from(0).map(row).collect::<Vec<_>>()
        });
        let chunks = chunks.skip(skip).filter(|(_, kind, _)| is_wanted_kind(*kind, kinds));
        chunks.map(|(seq, _, json)| (seq, json)).chain(rows.into_iter().map(|row| (row.seq, Bytes::from(row.json))))
    }

    pub fn for_each(&self, mut visit: impl FnMut(&Event)) -> Result<(), StoreError> {
        self.for_each_with_json(|event, _| visit(event))
    }

    pub fn for_each_with_json(&self, mut visit: impl FnMut(&Event, &str)) -> Result<(), StoreError> {
        match &self.events {
            SliceEvents::Memory(chunks, skip, kinds) => {
                let events = chunks.iter().flat_map(|chunk| chunk.iter_from(0)).skip(*skip);
                for (event, json) in events.filter(|(event, _)| is_wanted_kind(event.body.kind(), kinds)) {
                    visit(event, std::str::from_utf8(&json).unwrap_or_default());
                }
            }
            SliceEvents::Log(rows) => {
                for row in rows {
                    visit(&decode_row(row)?, &row.json);
                }
            }
        }
        Ok(())
    }

    /// Calls a function with each event of the wanted items. Rows of other items are not decoded.
    pub fn for_each_of_items(
        &self,
        is_wanted_item: impl Fn(&str) -> bool,
        mut visit: impl FnMut(&Event),
    ) -> Result<(), StoreError> {
        match &self.events {
            SliceEvents::Memory(..) => {
                self.for_each(|event| event.item.iter().filter(|item| is_wanted_item(item)).for_each(|_| visit(event)))
            }
            SliceEvents::Log(rows) => rows
                .iter()
                .filter(|row| Event::peek_item(&row.json).is_none_or(&is_wanted_item))
                .try_for_each(|row| decode_row(row).map(|event| visit(&event))),
        }
    }

    pub fn events(&self) -> Result<Vec<Event>, StoreError> {
        let mut events = Vec::new();
        self.for_each(|event| events.push(event.clone()))?;
        Ok(events)
    }

    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }
}

fn is_wanted_kind(kind: Kind, kinds: &[Kind]) -> bool {
    kinds.is_empty() || kinds.contains(&kind)
}

fn decode_row(row: &EventRow) -> Result<Event, StoreError> {
    // The caller knows the session; the message names the event.
    row.decode(&format!("(event {})", row.seq))
}
