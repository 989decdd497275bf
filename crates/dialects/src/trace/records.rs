//! The native record of each event: its own, or that of the event that caused it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::Event;

use crate::saved;

/// The last record seen. The events of a record are consecutive, so one record is enough.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LastRecord {
    seq: u64,
    /// The record in wire format.
    #[serde(default, deserialize_with = "saved::read_present", skip_serializing_if = "Option::is_none")]
    body: Option<Box<RawValue>>,
}

impl LastRecord {
    /// Remembers the event's record.
    pub fn record_event(&mut self, event: &Event) {
        if let Some(native) = &event.native {
            (self.seq, self.body) = (event.seq, Some(native.body.to_wire().0.into_owned()));
        }
    }

    /// Returns the record that caused the event, if any.
    pub fn record_of(&self, event: &Event) -> Option<Cow<'_, RawValue>> {
        let is_its = event.native.is_some() || event.cause == Some(self.seq);
        self.body.as_ref().filter(|_| is_its).map(|body| Cow::Borrowed(&**body))
    }
}
