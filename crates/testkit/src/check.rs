//! All checks on one stream.

use std::panic::{AssertUnwindSafe, catch_unwind};

use switchboard_agents::RecordSource;
use switchboard_event::Event;

use crate::{
    dice::SeededRng,
    ledger::{IdReuse, InvariantViolation, SessionInvariants, must},
    play::{events_from_pieces, stored_json, stream_events},
    said::expected_records,
    text::answer_text,
    wire::{DialectChecker, dialect_checkers, reread_events},
};

/// Checks streams against the invariants.
pub struct StreamChecker {
    pub wires: Vec<DialectChecker>,
}

impl StreamChecker {
    /// Creates a checker for all dialects.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self { wires: dialect_checkers()? })
    }

    /// Checks everything that must hold for any bytes: no panic, events that satisfy the invariants, and in every
    /// dialect messages that satisfy its rules.
    pub fn check_stream(&self, source: &RecordSource, bytes: &[u8], reuse: IdReuse) -> Result<(), InvariantViolation> {
        catch_panic(|| {
            let events = stream_events(source, bytes);
            check_events(&events, bytes, reuse)?;
            let answer = answer_text(&events);
            self.wires.iter().try_for_each(|wire| wire.check_messages(&events, &answer))
        })
    }

    /// Checks that transport does not matter: the stream may arrive in any pieces, events may be stored and read again,
    /// a projection may be copied at any point.
    pub fn check_replay(
        &self,
        source: &RecordSource,
        bytes: &[u8],
        dice: &mut SeededRng,
    ) -> Result<(), InvariantViolation> {
        catch_panic(|| {
            check_pieces(source, bytes, dice)?;
            let events = stream_events(source, bytes);
            let (again, cut) = (reread_events(&events)?, dice.next_below(events.len() + 1));
            self.wires.iter().try_for_each(|wire| wire.check_replay(&events, &again, &[cut]))
        })
    }

    /// Checks the minimum for any bytes: no panic, and events that satisfy the invariants.
    pub fn check_survival(&self, source: &RecordSource, bytes: &[u8]) -> Result<(), InvariantViolation> {
        catch_panic(|| {
            let events = stream_events(source, bytes);
            self.wires.iter().for_each(|wire| drop(wire.project_events(&events)));
            check_events(&events, bytes, IdReuse::AfterEnd)
        })
    }
}

/// Checks the invariants of events against the stream they were made from.
pub fn check_events(events: &[Event], bytes: &[u8], reuse: IdReuse) -> Result<(), InvariantViolation> {
    let mut ledger = SessionInvariants::new(reuse);
    expected_records(bytes).into_iter().for_each(|said| ledger.expect_record(said));
    events.iter().try_for_each(|event| ledger.check_event(event))?;
    ledger.finish()
}

/// Checks that the same bytes in random pieces give the same events.
fn check_pieces(source: &RecordSource, bytes: &[u8], dice: &mut SeededRng) -> Result<(), InvariantViolation> {
    let whole = stored_json(&stream_events(source, bytes));
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    // Sometimes small pieces, sometimes large ones.
    let largest = 1 << dice.next_below(12);
    while !rest.is_empty() {
        let (piece, left) = rest.split_at((1 + dice.next_below(largest)).min(rest.len()));
        pieces.push(piece);
        rest = left;
    }
    let got = stored_json(&events_from_pieces(source, pieces));
    let at = whole.iter().zip(&got).position(|(a, b)| a != b);
    must!(got == whole, "any split gives the same events", "pieces up to {largest} bytes: event {at:?} differs");
    Ok(())
}

/// Turns a panic into a violation, so that the stream that caused it is reported.
fn catch_panic(check: impl FnOnce() -> Result<(), InvariantViolation>) -> Result<(), InvariantViolation> {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(InvariantViolation { rule: "no panic", why: text.unwrap_or_default() })
    })
}
