//! The contract of a dialect's projection, and restoring saved ones.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use switchboard_event::Event;

/// Converts the events of one session to the messages of one protocol. The same events always produce the same bytes.
pub trait Projection: Send {
    /// Writes the messages for one event: often none, sometimes several.
    fn project_event(&mut self, event: &Event, out: &mut MessageBuffer);

    /// Returns a copy that continues from here, so that a returning reader does not replay the whole history.
    fn snapshot(&self) -> Box<dyn Projection>;

    /// Serializes the state as JSON. [`Dialect::restore`](crate::Dialect::restore) continues from it, also in another
    /// process. The state contains only what is open, so it does not grow with the session.
    ///
    /// # Errors
    /// Never fails for the state types of the dialects. Callers can continue without a saved state.
    fn save(&self) -> serde_json::Result<Vec<u8>>;
}

/// Restores a projection from the output of [`Projection::save`]; none if its format differs.
pub fn restore_projection<P: Projection + DeserializeOwned + 'static>(saved: &[u8]) -> Option<Box<dyn Projection>> {
    serde_json::from_slice::<P>(saved).ok().map(|projection| Box::new(projection) as Box<dyn Projection>)
}

/// Deserializes verbatim JSON that may be `null`: only a missing field is none.
pub fn read_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Deserializes an event.
pub fn read_event<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
    let json = Box::<RawValue>::deserialize(deserializer)?;
    Event::from_json(json.get()).map_err(D::Error::custom)
}

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
