//! Where the events of a timeline come from: a session in the log, or the transcript of an agent's own log.

use switchboard_engine::{Engine, Follower};
use switchboard_event::{Event, Id};
use switchboard_page::sheet::EventLookup;
use switchboard_store::StoreError;

/// The events of one timeline.
pub trait Events: Send + Sync {
    /// Returns a reader of the events behind one.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    fn follow(&self, after: u64) -> Result<Follower, StoreError>;

    /// The address of its images.
    fn media(&self) -> &str;
}

/// The events of a session in the log.
pub struct SessionEvents {
    pub engine: Engine,
    pub session: Id,
    pub media: String,
}

impl Events for SessionEvents {
    fn follow(&self, after: u64) -> Result<Follower, StoreError> {
        self.engine.follow(&self.session, after)
    }

    fn media(&self) -> &str {
        &self.media
    }
}

/// The events that entries are rendered from.
pub struct EntrySource<'a> {
    pub follower: &'a Follower,
    pub media: &'a str,
}

impl EventLookup for EntrySource<'_> {
    fn event(&mut self, seq: u64) -> Option<Event> {
        self.follower.read_event(seq)
    }

    fn media(&self) -> &str {
        self.media
    }
}
