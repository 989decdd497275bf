//! Serialized messages in wire format.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use switchboard_event::Event;

/// A buffer of finished messages, one JSON object each.
#[derive(Clone, Debug, Default)]
pub struct MessageBuffer {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl MessageBuffer {
    /// Adds a message. A value that cannot be serialized is dropped; none of our types fails to serialize.
    pub fn push<T: Serialize + ?Sized>(&mut self, message: &T) {
        self.write(|bytes| serde_json::to_writer(bytes, message));
    }

    /// Adds a message that the caller serializes, for dialects with a faster writer. It must be JSON.
    pub fn write(&mut self, message: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) {
        let start = self.bytes.len();
        match message(&mut self.bytes) {
            Ok(()) => self.ends.push(self.bytes.len()),
            Err(_) => self.bytes.truncate(start),
        }
    }

    /// Returns the messages in order, each as JSON.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.bytes.get(start..*end).unwrap_or_default())
    }

    /// Returns the concatenated messages and the end offset of each.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u8>, Vec<usize>) {
        (self.bytes, self.ends)
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all messages so that the buffer can be reused.
    pub fn clear(&mut self) {
        self.bytes.clear();
        // A single huge message must not pin its memory.
        self.bytes.shrink_to(1 << 20);
        self.ends.clear();
    }
}

/// The event's id; from the second message of an event on, with the number of the message appended.
#[derive(Clone, Copy)]
pub struct MessageId<'a> {
    /// The event that the message is derived from.
    pub event: &'a Event,
    /// The index of the message within the event.
    pub part: u32,
}

impl fmt::Display for MessageId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            0 => self.event.id().fmt(f),
            part => write!(f, "{}.{part}", self.event.id()),
        }
    }
}

impl Serialize for MessageId<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.part {
            0 => self.event.id().serialize(serializer),
            _ => serializer.collect_str(self),
        }
    }
}

impl JsonSchema for MessageId<'_> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "MessageId".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "minLength": 1})
    }
}
