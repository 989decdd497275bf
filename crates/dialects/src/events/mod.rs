//! The event model itself, one event a message.

use serde::{Deserialize, Serialize};
use switchboard_event::{Event, schema};

use crate::{Dialect, Messages, Projection, saved::restored};

/// The event model itself.
pub const DIALECT: Dialect = Dialect {
    name: "events",
    title: "Switchboard's own events, with every native record",
    projection: || Box::new(Events),
    restore: restored::<Events>,
    revision: 1,
    verbatim: true,
    schema: |_| schema::event(),
};

#[derive(Serialize, Deserialize)]
struct Events;

impl Projection for Events {
    fn event(&mut self, event: &Event, out: &mut Messages) {
        out.write(|bytes| event.write_json(bytes));
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(Self)
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}
