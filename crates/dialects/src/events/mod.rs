//! The event model itself, one event per message.

use serde::{Deserialize, Serialize};
use switchboard_event::{Event, schema};

use crate::{Dialect, MessageBuffer, Projection, projection::restore_projection};

/// The events dialect.
pub const DIALECT: Dialect = Dialect {
    name: "events",
    title: "Switchboard's own events, with every native record",
    projection: || Box::new(EventsProjection),
    restore: restore_projection::<EventsProjection>,
    revision: 1,
    verbatim: true,
    schema: |_| schema::event_schema(),
};

#[derive(Serialize, Deserialize)]
struct EventsProjection;

impl Projection for EventsProjection {
    fn project_event(&mut self, event: &Event, out: &mut MessageBuffer) {
        out.write(|bytes| event.write_json(bytes));
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(Self)
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}
