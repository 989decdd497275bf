//! Streams that stop: after any line, or in the middle of one.

use switchboard_testkit::{dice::SeededRng, ledger::IdReuse, recording::Recording};

use super::Suite;

/// Recordings of up to this many lines are cut after every line, longer ones after some.
const SMALL: usize = 24;

#[test]
fn cut_after_any_line() {
    cut("cut after a line", |recording| {
        let ends: Vec<_> = ends(&recording.bytes).collect();
        let mut dice = SeededRng::from_name(&recording.name);
        match ends.len() {
            0..=SMALL => ends,
            _ => (0..SMALL / 2).filter_map(|_| dice.choose(&ends).copied()).collect(),
        }
    });
}

#[test]
fn cut_at_any_byte() {
    cut("cut in a line", |recording| {
        let mut dice = SeededRng::from_name(&recording.name);
        (0..6).map(|_| dice.next_below(recording.bytes.len())).collect()
    });
}

/// Cuts every recording at the given places, and checks what is left.
#[track_caller]
fn cut(what: &str, places: impl Fn(&Recording) -> Vec<usize> + Sync) {
    let suite = Suite::new();
    suite.each(what, |recording| {
        let heads = places(recording).into_iter().filter_map(|at| recording.bytes.get(..at));
        let checked = heads.map(|head| suite.checker.check_stream(recording.source, head, IdReuse::InAnotherReply));
        checked.filter_map(Result::err).collect()
    });
}

/// The places after each line end.
fn ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1)
}
