//! Reading back what a projection saved. Writing it is what serde derives.

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::value::RawValue;
use switchboard_event::Event;

use crate::Projection;

/// Reads what [`Projection::save`] wrote; nothing if it is of another shape.
pub fn restored<P: Projection + DeserializeOwned + 'static>(saved: &[u8]) -> Option<Box<dyn Projection>> {
    serde_json::from_slice::<P>(saved).ok().map(|projection| Box::new(projection) as Box<dyn Projection>)
}

/// Reads verbatim JSON that may be `null`: only a field that is not there is none.
pub fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Reads an event.
pub fn event<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
    let json = Box::<RawValue>::deserialize(deserializer)?;
    Event::from_json(json.get()).map_err(D::Error::custom)
}
