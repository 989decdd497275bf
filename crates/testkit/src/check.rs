//! All checks on one stream, whatever it is made of.

use std::panic::{AssertUnwindSafe, catch_unwind};

use switchboard_agents::Source;
use switchboard_event::Event;

use crate::{
    dice::Dice,
    ledger::{Broken, Ledger, Reuse, must},
    play::{events, events_of_pieces, stored},
    said::said,
    text::answer,
    wire::{Wire, read_again, wires},
};

/// Holds streams against the invariants.
pub struct Checker {
    /// The dialects.
    pub wires: Vec<Wire>,
}

impl Checker {
    /// A checker for all dialects.
    ///
    /// # Errors
    /// If what the dialects state about themselves cannot be read.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self { wires: wires()? })
    }

    /// Everything that must hold for any bytes: no panic, events that keep the invariants, and in every dialect
    /// messages that keep their promises.
    ///
    /// # Errors
    /// If something does not hold.
    pub fn stream(&self, source: &Source, bytes: &[u8], reuse: Reuse) -> Result<(), Broken> {
        without_panic(|| {
            let events = events(source, bytes);
            check_events(&events, bytes, reuse)?;
            let answer = answer(&events);
            self.wires.iter().try_for_each(|wire| wire.check(&events, &answer))
        })
    }

    /// What happens on the way does not matter: the stream may arrive in any pieces, the events may be stored and
    /// read again, a projection may be copied at any point.
    ///
    /// # Errors
    /// If it does matter.
    pub fn replay(&self, source: &Source, bytes: &[u8], dice: &mut Dice) -> Result<(), Broken> {
        without_panic(|| {
            check_pieces(source, bytes, dice)?;
            let events = events(source, bytes);
            let (again, cut) = (read_again(&events)?, dice.below(events.len() + 1));
            self.wires.iter().try_for_each(|wire| wire.check_replay(&events, &again, &[cut]))
        })
    }

    /// The least that must hold for any bytes: no panic, and events that keep the invariants.
    ///
    /// # Errors
    /// If it does not.
    pub fn survives(&self, source: &Source, bytes: &[u8]) -> Result<(), Broken> {
        without_panic(|| {
            let events = events(source, bytes);
            self.wires.iter().for_each(|wire| drop(wire.project(&events)));
            check_events(&events, bytes, Reuse::AfterEnd)
        })
    }
}

/// The invariants of events, for the stream that they were made from.
///
/// # Errors
/// If one does not hold.
pub fn check_events(events: &[Event], bytes: &[u8], reuse: Reuse) -> Result<(), Broken> {
    let mut ledger = Ledger::new(reuse);
    said(bytes).into_iter().for_each(|said| ledger.said(said));
    events.iter().try_for_each(|event| ledger.see(event))?;
    ledger.finish()
}

/// The same bytes in random pieces give the same events.
fn check_pieces(source: &Source, bytes: &[u8], dice: &mut Dice) -> Result<(), Broken> {
    let whole = stored(&events(source, bytes));
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    // Now small pieces, now large ones.
    let largest = 1 << dice.below(12);
    while !rest.is_empty() {
        let (piece, left) = rest.split_at((1 + dice.below(largest)).min(rest.len()));
        pieces.push(piece);
        rest = left;
    }
    let got = stored(&events_of_pieces(source, pieces));
    let at = whole.iter().zip(&got).position(|(a, b)| a != b);
    must!(got == whole, "any split gives the same events", "pieces up to {largest} bytes: event {at:?} differs");
    Ok(())
}

/// A panic is a broken rule like any other, so that the stream that caused it can be told.
fn without_panic(check: impl FnOnce() -> Result<(), Broken>) -> Result<(), Broken> {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Broken { rule: "no panic", why: text.unwrap_or_default() })
    })
}
