//! A session from its first event to its last.

use switchboard_event::{Event, EventBody, Id, Timestamp};

use super::{
    InvariantViolation,
    books::{IdReuse, LifecycleInvariants},
    must,
    natives::NativeRecordInvariants,
};
use crate::said::ExpectedRecord;

/// Checks the events of one session.
pub struct SessionInvariants {
    seq: u64,
    at: Timestamp,
    named: Option<(Id, Id, u32)>,
    ended: bool,
    natives: NativeRecordInvariants,
    books: LifecycleInvariants,
}

impl SessionInvariants {
    /// Starts at the beginning of a session.
    #[must_use]
    pub fn new(reuse: IdReuse) -> Self {
        let (at, natives, books) =
            (Timestamp::default(), NativeRecordInvariants::default(), LifecycleInvariants::new(reuse));
        Self { seq: 0, at, named: None, ended: false, natives, books }
    }

    /// Adds a native record whose event must follow.
    pub fn expect_record(&mut self, said: ExpectedRecord) {
        self.natives.expect_record(said);
    }

    /// Checks the next event.
    pub fn check_event(&mut self, event: &Event) -> Result<(), InvariantViolation> {
        must!(event.seq == self.seq + 1, "seq is dense", "{} after {}", event.seq, self.seq);
        self.seq = event.seq;
        must!(event.at >= self.at, "times never go back", "event {} is of {}, after {}", event.seq, event.at, self.at);
        self.at = event.at;
        must!(!self.ended, "session.ended is the last event", "{:?} follows it", event.body.kind());
        let is_first = event.seq == 1;
        must!(
            is_first == matches!(event.body, EventBody::SessionStarted(_)),
            "session.started is the first event and no other",
            "event {} is {:?}",
            event.seq,
            event.body.kind()
        );
        self.check_identity(event)?;
        check_round_trip(event)?;
        self.natives.check_event(event)?;
        self.books.check_event(event)?;
        self.ended = matches!(event.body, EventBody::SessionEnded(_));
        Ok(())
    }

    /// Checks that session, agent and run are the same on every event.
    fn check_identity(&mut self, event: &Event) -> Result<(), InvariantViolation> {
        let name = (event.session.clone(), event.agent.clone(), event.run);
        let first = self.named.get_or_insert_with(|| name.clone());
        must!(*first == name, "all events are of one session", "{first:?}, then {name:?} at {}", event.seq);
        must!(!event.session.is_empty(), "every event names its session", "event {} does not", event.seq);
        Ok(())
    }

    /// Checks that nothing is missing after the last event.
    pub fn finish(&self) -> Result<(), InvariantViolation> {
        must!(self.ended, "session.ended is the last event", "it never came, after {} events", self.seq);
        self.books.finish()?;
        self.natives.finish()
    }
}

/// Checks that an event survives serialization unchanged.
fn check_round_trip(event: &Event) -> Result<(), InvariantViolation> {
    let json = serde_json::to_string(event).unwrap_or_default();
    let again = Event::from_json(&json).ok().and_then(|event| serde_json::to_string(&event).ok());
    must!(
        again.as_ref() == Some(&json),
        "an event has one form on the wire",
        "event {} was written as {json}",
        event.seq
    );
    Ok(())
}
