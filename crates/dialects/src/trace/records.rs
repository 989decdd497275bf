//! The native record of each event: its own, or that of the event that its record caused first.

use std::borrow::Cow;

use serde_json::value::RawValue;
use switchboard_event::{Event, NativeBody};

/// The record that was seen last. All events of a record follow each other, so one is enough.
#[derive(Clone, Debug, Default)]
pub struct LastRecord {
    seq: u64,
    body: Option<NativeBody>,
}

impl LastRecord {
    /// Takes note of the event's record.
    pub fn see(&mut self, event: &Event) {
        if let Some(native) = &event.native {
            (self.seq, self.body) = (event.seq, Some(native.body.clone()));
        }
    }

    /// The record that caused the event; none for what no record said.
    pub fn of(&self, event: &Event) -> Option<Cow<'_, RawValue>> {
        let is_its = event.native.is_some() || event.cause == Some(self.seq);
        self.body.as_ref().filter(|_| is_its).map(|body| body.to_wire().0)
    }
}
