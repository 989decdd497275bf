//! The event model itself, one event a message.

use switchboard_event::{Event, schema};

use crate::{Dialect, Messages, Projection};

/// The event model itself.
pub const DIALECT: Dialect = Dialect {
    name: "events",
    title: "Switchboard's own events, with every native record",
    projection: || Box::new(Events),
    schema: |_| schema::event(),
};

struct Events;

impl Projection for Events {
    fn event(&mut self, event: &Event, out: &mut Messages) {
        out.push(event);
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(Self)
    }
}
