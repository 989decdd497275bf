//! A session from its first event to its last.

use switchboard_event::{Body, Event, Id, Timestamp};

use super::{
    Broken,
    books::{Books, Reuse},
    must,
    natives::Natives,
};
use crate::said::Said;

/// Follows the events of one session.
pub struct Ledger {
    seq: u64,
    at: Timestamp,
    named: Option<(Id, Id, u32)>,
    ended: bool,
    natives: Natives,
    books: Books,
}

impl Ledger {
    /// A ledger for the events of a session from its beginning.
    #[must_use]
    pub fn new(reuse: Reuse) -> Self {
        let (at, natives, books) = (Timestamp::default(), Natives::default(), Books::new(reuse));
        Self { seq: 0, at, named: None, ended: false, natives, books }
    }

    /// The agent said something; its event has to come.
    pub fn said(&mut self, said: Said) {
        self.natives.said(said);
    }

    /// Looks at the next event.
    ///
    /// # Errors
    /// If an invariant does not hold.
    pub fn see(&mut self, event: &Event) -> Result<(), Broken> {
        must!(event.seq == self.seq + 1, "seq is dense", "{} after {}", event.seq, self.seq);
        self.seq = event.seq;
        must!(event.at >= self.at, "times never go back", "event {} is of {}, after {}", event.seq, event.at, self.at);
        self.at = event.at;
        must!(!self.ended, "session.ended is the last event", "{:?} follows it", event.body.kind());
        let is_first = event.seq == 1;
        must!(
            is_first == matches!(event.body, Body::SessionStarted(_)),
            "session.started is the first event and no other",
            "event {} is {:?}",
            event.seq,
            event.body.kind()
        );
        self.name(event)?;
        written_as_serde_does(event)?;
        self.natives.see(event)?;
        self.books.see(event)?;
        self.ended = matches!(event.body, Body::SessionEnded(_));
        Ok(())
    }

    /// Session, agent and run are the same on every event.
    fn name(&mut self, event: &Event) -> Result<(), Broken> {
        let name = (event.session.clone(), event.agent.clone(), event.run);
        let first = self.named.get_or_insert_with(|| name.clone());
        must!(*first == name, "all events are of one session", "{first:?}, then {name:?} at {}", event.seq);
        must!(!event.session.is_empty(), "every event names its session", "event {} does not", event.seq);
        Ok(())
    }

    /// There are no more events.
    ///
    /// # Errors
    /// If something is missing.
    pub fn finish(&self) -> Result<(), Broken> {
        must!(self.ended, "session.ended is the last event", "it never came, after {} events", self.seq);
        self.books.finish()?;
        self.natives.finish()
    }
}

/// An event is written by hand where there are many, and that is not another form.
fn written_as_serde_does(event: &Event) -> Result<(), Broken> {
    let mut by_hand = Vec::new();
    let written = event.write_json(&mut by_hand).and_then(|()| serde_json::to_vec(event));
    must!(
        written.is_ok_and(|by_serde| by_serde == by_hand),
        "an event has one form on the wire",
        "event {} was written as {}",
        event.seq,
        String::from_utf8_lossy(&by_hand)
    );
    Ok(())
}
