//! Deserializes saved projection states; serialization is derived.

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::value::RawValue;
use switchboard_event::Event;

use crate::Projection;

/// Restores a projection from the output of [`Projection::save`]; none if its format differs.
pub fn restore_projection<P: Projection + DeserializeOwned + 'static>(saved: &[u8]) -> Option<Box<dyn Projection>> {
    serde_json::from_slice::<P>(saved).ok().map(|projection| Box::new(projection) as Box<dyn Projection>)
}

/// Deserializes verbatim JSON that may be `null`: only a missing field is none.
pub fn read_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Deserializes an event.
pub fn read_event<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
    let json = Box::<RawValue>::deserialize(deserializer)?;
    Event::from_json(json.get()).map_err(D::Error::custom)
}
