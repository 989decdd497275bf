//! The contract between the dialects and the rest of the crate.

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
