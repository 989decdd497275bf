//! The invariants of a session's events, checked event by event in constant memory: the sequence is dense, everything
//! that begins ends, and every native record is on exactly one event.

mod books;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, fmt};

use books::LifecycleInvariants;
use switchboard_event::{Event, EventBody, Id, Timestamp};

use super::said::ExpectedRecord;

pub use books::IdReuse;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvariantViolation {
    /// The invariant, in a few words.
    pub rule: &'static str,
    /// The observation that violates it.
    pub why: String,
}

impl fmt::Display for InvariantViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.why)
    }
}

impl std::error::Error for InvariantViolation {}

/// Returns an [`Err`] with the rule unless it holds.
macro_rules! must {
    ($holds:expr, $rule:literal, $($why:tt)+) => {
        if !$holds {
            return Err($crate::ledger::InvariantViolation { rule: $rule, why: format!($($why)+) });
        }
    };
}
pub(crate) use must;

/// Records without an event yet, and the event that carries the last record.
#[derive(Default)]
pub struct NativeRecordInvariants {
    waiting: VecDeque<ExpectedRecord>,
    carrier: Option<u64>,
    /// An event without a cause was seen, which only the end of the stream produces.
    at_end: bool,
}

impl NativeRecordInvariants {
    pub fn expect_record(&mut self, said: ExpectedRecord) {
        self.waiting.push_back(said);
    }

    pub fn check_event(&mut self, event: &Event) -> Result<(), InvariantViolation> {
        let seq = event.seq;
        match (&event.native, event.cause) {
            (Some(_), Some(cause)) => {
                must!(false, "an event has a record or a cause", "event {seq} has a record and cause {cause}");
            }
            (Some(native), None) => {
                let got = ExpectedRecord::from(native);
                let want = self.waiting.pop_front();
                must!(
                    want.as_ref() == Some(&got),
                    "native in = native out",
                    "event {seq} has {}, the next record is {}",
                    describe_record(Some(&got)),
                    describe_record(want.as_ref())
                );
                self.carrier = Some(seq);
            }
            (None, Some(cause)) => {
                must!(
                    Some(cause) == self.carrier,
                    "cause is the event with the record",
                    "event {seq} names {cause}, the record is on {:?}",
                    self.carrier
                );
            }
            (None, None) => self.at_end = true,
        }
        let caused = event.native.is_some() || event.cause.is_some();
        must!(
            !(caused && self.at_end),
            "only the end of the stream has no record",
            "event {seq} has one after an event without"
        );
        Ok(())
    }

    pub fn finish(&self) -> Result<(), InvariantViolation> {
        let lost = self.waiting.len();
        must!(
            lost == 0,
            "native in = native out",
            "{lost} records are on no event, first {}",
            describe_record(self.waiting.front())
        );
        Ok(())
    }
}

fn describe_record(said: Option<&ExpectedRecord>) -> String {
    let Some(said) = said else { return "none".to_owned() };
    let text: String = String::from_utf8_lossy(&said.bytes).chars().take(160).collect();
    format!("{:?} {:?} {text}", said.dir, said.form)
}

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
