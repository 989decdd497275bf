//! The contract between a dialect's folder and the rest.

use switchboard_event::Event;

use crate::Messages;

/// Writes the events of one session as the messages of one protocol. The same events always give the same bytes.
pub trait Projection: Send {
    /// Writes the messages that one event means; often none, sometimes several.
    fn event(&mut self, event: &Event, out: &mut Messages);

    /// A copy that goes on from here, so that a reader who returns does not pay for the whole history.
    fn snapshot(&self) -> Box<dyn Projection>;

    /// What is remembered, as JSON: [`Dialect::restore`](crate::Dialect::restore) goes on from here, also in another
    /// process. It holds what is open and not what has passed, so it does not grow with the session.
    ///
    /// # Errors
    /// Never with the types that the dialects have; who saves can go on without.
    fn save(&self) -> serde_json::Result<Vec<u8>>;
}
