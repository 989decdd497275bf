//! Message ids: unique within a session and stable across reads.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use switchboard_event::Event;

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
