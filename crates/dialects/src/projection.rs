//! The contract of a dialect's projection, and restoring saved ones.

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::value::RawValue;
use switchboard_event::Event;

use crate::MessageBuffer;

/// Converts the events of one session to the messages of one protocol. The same events always produce the same bytes.
pub trait Projection: Send {
    /// Writes the messages for one event: often none, sometimes several.
    fn project_event(&mut self, event: &Event, out: &mut MessageBuffer);

    /// Returns a copy that continues from here, so that a returning reader does not replay the whole history.
    fn snapshot(&self) -> Box<dyn Projection>;

    /// Serializes the state as JSON. [`Dialect::restore`](crate::Dialect::restore) continues from it, also in another
    /// process. The state contains only what is open, so it does not grow with the session.
    ///
    /// # Errors
    /// Never fails for the state types of the dialects. Callers can continue without a saved state.
    fn save(&self) -> serde_json::Result<Vec<u8>>;
}

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
