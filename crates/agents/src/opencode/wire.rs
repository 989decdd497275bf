//! How an event of the bus is wrapped: `{"type","properties"}` on `/event`, `{"type","data"}` on `/api/event`,
//! either inside `{"directory","payload"}` on `/global/event`.

use std::borrow::Cow;

use switchboard_event::Timestamp;

use crate::{Json, Object};

/// One event, unwrapped.
pub struct Event<'a> {
    /// What happened.
    pub kind: Cow<'a, str>,
    /// What there is to say about it.
    pub fields: Object<'a>,
    /// Its own id.
    pub id: Option<Cow<'a, str>>,
}

impl<'a> Event<'a> {
    /// Unwraps a record, if it is an event.
    pub fn of(outer: Object<'a>) -> Option<Self> {
        let inner = outer.object("payload");
        let event = if inner.has("type") { inner } else { outer };
        let fields = event.get("properties").or_else(|| event.get("data")).map(Json::object).unwrap_or_default();
        Some(Self { kind: event.str("type")?, id: event.str("id"), fields })
    }

    /// The session that it is about.
    pub fn session(&self) -> Option<Cow<'a, str>> {
        let inner = |key, id| self.fields.object(key).str(id);
        let own = || self.kind.starts_with("session.").then(|| inner("info", "id")).flatten();
        self.fields
            .str("sessionID")
            .or_else(|| inner("info", "sessionID"))
            .or_else(|| inner("part", "sessionID"))
            .or_else(own)
    }

    /// When it happened, if it says so.
    pub fn said(&self) -> Option<Timestamp> {
        self.fields.get("timestamp").or_else(|| self.fields.get("time")).and_then(time)
    }

    /// A time in it that is not later than the event.
    pub fn hint(&self) -> Option<Timestamp> {
        let times = self.fields.object("info").object("time");
        ["updated", "completed", "created"].into_iter().find_map(|key| times.get(key)).and_then(time)
    }
}

/// A point in time: milliseconds since 1970, or text.
pub fn time(value: Json<'_>) -> Option<Timestamp> {
    match value.str() {
        Some(text) => Timestamp::parse(&text),
        None => value.u64().and_then(|ms| ms.try_into().ok()).and_then(Timestamp::from_millis),
    }
}

/// How long something took, by the times of its start and its end.
pub fn took(time: &Object<'_>) -> Option<u64> {
    time.u64("end")?.checked_sub(time.u64("start")?)
}
