//! The native record of each event: its own, or that of the event that its record caused first.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::Event;

use crate::saved;

/// The record that was seen last. All events of a record follow each other, so one is enough.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LastRecord {
    seq: u64,
    /// As it is on the wire.
    #[serde(default, deserialize_with = "saved::present", skip_serializing_if = "Option::is_none")]
    body: Option<Box<RawValue>>,
}

impl LastRecord {
    /// Takes note of the event's record.
    pub fn see(&mut self, event: &Event) {
        if let Some(native) = &event.native {
            (self.seq, self.body) = (event.seq, Some(native.body.to_wire().0.into_owned()));
        }
    }

    /// The record that caused the event; none for what no record said.
    pub fn of(&self, event: &Event) -> Option<Cow<'_, RawValue>> {
        let is_its = event.native.is_some() || event.cause == Some(self.seq);
        self.body.as_ref().filter(|_| is_its).map(|body| Cow::Borrowed(&**body))
    }
}
