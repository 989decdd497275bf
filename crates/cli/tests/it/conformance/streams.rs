//! Recordings in any pieces, cut off anywhere, and with fields that a newer agent adds.

use serde_json::Value;
use switchboard_agents::SOURCES;
use switchboard_testkit::ledger::{IdReuse, InvariantViolation};
use switchboard_testkit::mutate::{UNKNOWN_FIELD, with_unknown_fields};
use switchboard_testkit::random::SeededRng;
use switchboard_testkit::recording::{Recording, events_from_pieces, stored_json, stream_events};

use super::ConformanceSuite;
use crate::verdict;

/// Recordings up to this size are split everywhere, larger ones in some places.
const MAX_SPLIT_BYTES: usize = 1_200;

/// Recordings of up to this many lines are cut after every line, longer ones after some.
const MAX_CUT_LINES: usize = 24;

#[test]
fn byte_by_byte() {
    ConformanceSuite::new()
        .each("byte by byte", |recording| differs(recording, recording.bytes.chunks(1)).into_iter().collect());
}

#[test]
fn in_random_pieces() {
    let suite = ConformanceSuite::new();
    suite.each("in pieces", |recording| {
        let mut dice = SeededRng::from_name(&recording.name);
        let checked = (0..3).map(|_| suite.checker.check_replay(recording.source, &recording.bytes, &mut dice));
        checked.filter_map(Result::err).collect()
    });
}

#[test]
fn every_split_of_a_small_recording() {
    let suite = ConformanceSuite::new();
    let smallest = |name| {
        let mine = suite.recordings.iter().filter(|recording| recording.source.name == name);
        mine.filter(|recording| recording.bytes.len() > 100).min_by_key(|recording| recording.bytes.len())
    };
    let sources = SOURCES.iter().copied().flatten();
    let small: Vec<_> = sources.filter_map(|source| smallest(source.name)).collect();
    let failures = switchboard_testkit::parallel::map(&small, |recording| {
        let bytes = recording.bytes.get(..MAX_SPLIT_BYTES).unwrap_or(&recording.bytes);
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

#[test]
fn cut_after_any_line() {
    cut("cut after a line", |recording| {
        let ends: Vec<_> = ends(&recording.bytes).collect();
        let mut dice = SeededRng::from_name(&recording.name);
        match ends.len() {
            0..=MAX_CUT_LINES => ends,
            _ => (0..MAX_CUT_LINES / 2).filter_map(|_| dice.choose(&ends).copied()).collect(),
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

/// Cuts every recording at the given places and checks the rest.
#[track_caller]
fn cut(what: &str, places: impl Fn(&Recording) -> Vec<usize> + Sync) {
    let suite = ConformanceSuite::new();
    suite.each(what, |recording| {
        let heads = places(recording).into_iter().filter_map(|at| recording.bytes.get(..at));
        let checked = heads.map(|head| suite.checker.check_stream(recording.source, head, IdReuse::InAnotherReply));
        checked.filter_map(Result::err).collect()
    });
}

fn ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1)
}

#[test]
fn unknown_fields_change_nothing() {
    ConformanceSuite::new().each("unknown fields", |recording| changed(recording).into_iter().collect());
}

fn changed(recording: &Recording) -> Option<InvariantViolation> {
    let plain = without_records(recording, &recording.bytes);
    let more = without_records(recording, &with_unknown_fields(&recording.bytes));
    let at = plain.iter().zip(&more).position(|(a, b)| a != b).unwrap_or(plain.len().min(more.len()));
    let show = |list: &[Value]| list.get(at).map_or("nothing".to_owned(), |event| event["data"].to_string());
    let why = || format!("event {} is {}, not {}", at + 1, show(&more), show(&plain));
    (plain != more).then(|| InvariantViolation { rule: "unknown fields change nothing", why: why() })
}

/// Returns the events without their native records, which have the added fields.
fn without_records(recording: &Recording, bytes: &[u8]) -> Vec<Value> {
    let events = stream_events(recording.source, bytes);
    let mut values: Vec<Value> = stored_json(&events).iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    for value in &mut values {
        value.as_object_mut().unwrap().remove("native");
        forget(value);
    }
    values
}

fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove(UNKNOWN_FIELD);
            fields.values_mut().for_each(forget);
        }
        Value::Array(elements) => elements.iter_mut().for_each(forget),
        // Answers of agents may be JSON as text.
        Value::String(text) if text.starts_with(['{', '[']) => {
            if let Ok(mut inner) = serde_json::from_str(text) {
                forget(&mut inner);
                *text = inner.to_string();
            }
        }
        _ => {}
    }
}
