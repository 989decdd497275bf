//! Messages that follow each other, ready for any wire.

use bytes::Bytes;
use switchboard_dialects::MessageBuffer;
use switchboard_engine::EventSlice;
use switchboard_store::StoreError;

use super::catch_up::State;

/// A message of a dialect.
#[derive(Clone, Debug)]
pub struct Message {
    /// The message, as JSON.
    pub json: Bytes,
    /// The event that it comes from.
    pub seq: u64,
    /// The last message of that event: who has it has seen the event.
    pub is_last: bool,
}

/// Messages that follow each other.
#[derive(Debug, Default)]
pub struct Passage {
    /// The messages.
    pub messages: Vec<Message>,
    /// The place behind which they begin.
    pub from: u64,
    /// The last event that they come from; some give none.
    pub to: u64,
    /// How many messages of the session there are up to the last of them.
    pub count: u64,
}

impl Passage {
    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(|message| message.json.len() + size_of::<Message>()).sum()
    }

    /// Events that are passed on as they are.
    pub fn verbatim(slice: EventSlice, from: u64) -> Self {
        let to = slice.last_seq();
        let messages = slice.into_rows().map(|(seq, json)| Message { json, seq, is_last: true }).collect();
        Self { messages, from, to, count: to }
    }

    /// Events as a projection says them.
    pub fn projected(slice: &EventSlice, state: &mut State) -> Result<Self, StoreError> {
        let mut messages = MessageBuffer::default();
        let mut marks: Vec<(u64, bool)> = Vec::new();
        slice.for_each(|event| {
            state.projection.project_event(event, &mut messages);
            let more = messages.len() - marks.len();
            marks.extend((1..=more).map(|place| (event.seq, place == more)));
        })?;
        let (mut bytes, ends) = messages.into_parts();
        // A slow reader keeps it, and is counted by what is in it.
        bytes.shrink_to_fit();
        let bytes = Bytes::from(bytes);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let cut = starts.zip(&ends).zip(marks).map(|((start, end), (seq, is_last))| Message {
            json: bytes.slice(start..*end),
            seq,
            is_last,
        });
        let messages: Vec<_> = cut.collect();
        let (from, to) = (state.seq, slice.last_seq());
        state.count += messages.len() as u64;
        state.seq = to;
        Ok(Self { messages, from, to, count: state.count })
    }
}
