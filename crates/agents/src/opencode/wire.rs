//! The envelope of a bus event: `{"type","properties"}` on `/event`, `{"type","data"}` on `/api/event`, either inside
//! `{"directory","payload"}` on `/global/event`.

use std::borrow::Cow;

use switchboard_event::Timestamp;

use crate::{JsonObject, JsonView};

/// An unwrapped event.
pub struct Event<'a> {
    pub kind: Cow<'a, str>,
    pub fields: JsonObject<'a>,
    pub id: Option<Cow<'a, str>>,
}

impl<'a> Event<'a> {
    /// Unwraps a record. Returns `None` if it is not an event.
    pub fn of(outer: JsonObject<'a>) -> Option<Self> {
        let inner = outer.get_object("payload");
        let event = if inner.contains_key("type") { inner } else { outer };
        let fields = event.get("properties").or_else(|| event.get("data")).map(JsonView::as_object).unwrap_or_default();
        Some(Self { kind: event.get_str("type")?, id: event.get_str("id"), fields })
    }

    /// Returns the session that the event is about.
    pub fn session(&self) -> Option<Cow<'a, str>> {
        let inner = |key, id| self.fields.get_object(key).get_str(id);
        let own = || self.kind.starts_with("session.").then(|| inner("info", "id")).flatten();
        self.fields
            .get_str("sessionID")
            .or_else(|| inner("info", "sessionID"))
            .or_else(|| inner("part", "sessionID"))
            .or_else(own)
    }

    /// Returns the event's own timestamp, if it has one.
    pub fn said(&self) -> Option<Timestamp> {
        self.fields.get("timestamp").or_else(|| self.fields.get("time")).and_then(time)
    }

    /// Returns a time in the event that is not later than the event itself.
    pub fn hint(&self) -> Option<Timestamp> {
        let times = self.fields.get_object("info").get_object("time");
        ["updated", "completed", "created"].into_iter().find_map(|key| times.get(key)).and_then(time)
    }
}

/// Parses a point in time: milliseconds since 1970, or text.
pub fn time(value: JsonView<'_>) -> Option<Timestamp> {
    match value.as_str() {
        Some(text) => Timestamp::parse(&text),
        None => value.as_u64().and_then(|ms| ms.try_into().ok()).and_then(Timestamp::from_millis),
    }
}

/// Returns the duration between the start and the end.
pub fn took(time: &JsonObject<'_>) -> Option<u64> {
    time.get_u64("end")?.checked_sub(time.get_u64("start")?)
}
