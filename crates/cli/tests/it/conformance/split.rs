//! Bytes that arrive in any pieces.

use switchboard_agents::SOURCES;
use switchboard_testkit::{
    dice::SeededRng,
    ledger::InvariantViolation,
    play::{events_from_pieces, stored_json, stream_events},
    recording::Recording,
};

use super::Suite;
use crate::verdict::verdict;

/// Every split of a recording of this size is tried, of a larger one only some.
const SMALL: usize = 1_200;

#[test]
fn byte_by_byte() {
    Suite::new().each("byte by byte", |recording| differs(recording, recording.bytes.chunks(1)).into_iter().collect());
}

#[test]
fn in_random_pieces() {
    let suite = Suite::new();
    suite.each("in pieces", |recording| {
        let mut dice = SeededRng::from_name(&recording.name);
        let checked = (0..3).map(|_| suite.checker.check_replay(recording.source, &recording.bytes, &mut dice));
        checked.filter_map(Result::err).collect()
    });
}

#[test]
fn every_split_of_a_small_recording() {
    let suite = Suite::new();
    let smallest = |name| {
        let mine = suite.recordings.iter().filter(|recording| recording.source.name == name);
        mine.filter(|recording| recording.bytes.len() > 100).min_by_key(|recording| recording.bytes.len())
    };
    let sources = SOURCES.iter().copied().flatten();
    let small: Vec<_> = sources.filter_map(|source| smallest(source.name)).collect();
    let failures = switchboard_testkit::parallel::map(&small, |recording| {
        let bytes = recording.bytes.get(..SMALL).unwrap_or(&recording.bytes);
        let recording = Recording { bytes: bytes.to_vec(), ..(*recording).clone() };
        let splits = (0..=recording.bytes.len()).map(|at| recording.bytes.split_at(at));
        let broken = splits.filter_map(|(head, tail)| differs(&recording, [head, tail]));
        broken.map(|broken| format!("{recording}: {broken}")).collect::<Vec<_>>()
    });
    verdict("every split", failures.into_iter().flatten());
}

fn differs<'a>(recording: &Recording, pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<InvariantViolation> {
    let whole = stored_json(&stream_events(recording.source, &recording.bytes));
    let got = stored_json(&events_from_pieces(recording.source, pieces));
    let at = whole.iter().zip(&got).position(|(a, b)| a != b);
    let why = || InvariantViolation { rule: "any split gives the same events", why: format!("event {at:?} differs") };
    (whole != got).then(why)
}
