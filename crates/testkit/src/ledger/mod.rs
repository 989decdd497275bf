//! The invariants of a session's events, checked event by event with a memory that does not grow with the stream:
//! the sequence is dense, everything that begins ends, and every native record stands on exactly one event.

mod books;
mod natives;
#[cfg(test)]
mod tests;

use std::fmt;

use switchboard_event::{Body, Event, Id};

pub use books::Reuse;

use self::{books::Books, natives::Natives};
use crate::said::Said;

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The invariant, in a few words.
    pub rule: &'static str,
    /// What was seen instead.
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.why)
    }
}

impl std::error::Error for Broken {}

/// Fails with a rule unless it holds.
macro_rules! must {
    ($holds:expr, $rule:literal, $($why:tt)+) => {
        if !$holds {
            return Err($crate::ledger::Broken { rule: $rule, why: format!($($why)+) });
        }
    };
}
pub(crate) use must;

/// Follows the events of one session.
pub struct Ledger {
    seq: u64,
    named: Option<(Id, Id, u32)>,
    ended: bool,
    natives: Natives,
    books: Books,
}

impl Ledger {
    /// A ledger for the events of a session from its beginning.
    #[must_use]
    pub fn new(reuse: Reuse) -> Self {
        Self { seq: 0, named: None, ended: false, natives: Natives::default(), books: Books::new(reuse) }
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
