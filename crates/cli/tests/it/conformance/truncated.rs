//! Streams that stop: after any line, or in the middle of one.

use switchboard_testkit::{dice::Dice, ledger::Reuse, recording::Recording};

use super::Suite;

/// A recording of so many lines is cut after every line, a longer one after some.
const SMALL: usize = 24;

#[test]
fn cut_after_any_line() {
    cut("cut after a line", |recording| {
        let ends: Vec<_> = ends(&recording.bytes).collect();
        let mut dice = Dice::named(&recording.name);
        match ends.len() {
            0..=SMALL => ends,
            _ => (0..SMALL / 2).filter_map(|_| dice.pick(&ends).copied()).collect(),
        }
    });
}

#[test]
fn cut_at_any_byte() {
    cut("cut in a line", |recording| {
        let mut dice = Dice::named(&recording.name);
        (0..6).map(|_| dice.below(recording.bytes.len())).collect()
    });
}

/// Cuts every recording at the given places, and checks what is left.
#[track_caller]
fn cut(what: &str, places: impl Fn(&Recording) -> Vec<usize> + Sync) {
    let suite = Suite::new();
    suite.each(what, |recording| {
        let heads = places(recording).into_iter().filter_map(|at| recording.bytes.get(..at));
        let checked = heads.map(|head| suite.checker.stream(recording.source, head, Reuse::InAnotherReply));
        checked.filter_map(Result::err).collect()
    });
}

/// The places after each line end.
fn ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1)
}
