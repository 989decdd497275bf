//! What agents really said.

use std::collections::HashSet;

use switchboard_agents::SOURCES;
use switchboard_event::{Event, EventBody, Scope};
use switchboard_testkit::{
    dice::SeededRng,
    ledger::{IdReuse, InvariantViolation},
    play::stream_events,
    recording::Recording,
    text::{AnswerText, answer_text},
    wire::{DialectChecker, reread_events},
};

use super::Suite;

/// Maximum number of bytes saved in addition to a record.
const MOST_SAVED: usize = 16 << 10;

#[test]
fn recordings_keep_every_invariant() {
    let suite = Suite::new();
    suite.each("recordings", |recording| {
        suite
            .checker
            .check_stream(recording.source, &recording.bytes, IdReuse::InAnotherReply)
            .err()
            .into_iter()
            .collect()
    });
}

#[test]
fn every_source_survives_every_recording() {
    let suite = Suite::new();
    suite.each("recordings of other agents", |recording| {
        let others = SOURCES.iter().copied().flatten().filter(|source| source.name != recording.source.name);
        let checked = others.map(|source| {
            let named = |broken: InvariantViolation| InvariantViolation {
                why: format!("read as {}: {}", source.name, broken.why),
                ..broken
            };
            suite.checker.check_survival(source, &recording.bytes).map_err(named)
        });
        checked.filter_map(Result::err).collect()
    });
}

#[test]
fn stored_events_and_copied_projections_give_the_same_messages() {
    let suite = Suite::new();
    suite.each("replayed recordings", |recording| {
        let events = stream_events(recording.source, &recording.bytes);
        let mut dice = SeededRng::from_name(&recording.name);
        let cuts: Vec<usize> = match events.len() {
            small @ 0..24 => (0..=small).collect(),
            large => (0..6).map(|_| dice.next_below(large)).collect(),
        };
        let again = match reread_events(&events) {
            Ok(again) => again,
            Err(broken) => return vec![broken],
        };
        let checked = suite.checker.wires.iter().map(|wire| wire.check_replay(&events, &again, &cuts));
        checked.filter_map(Result::err).collect()
    });
}

#[test]
fn projections_are_resumed_where_they_were_saved() {
    let suite = Suite::new();
    suite.each("resumed recordings", |recording| {
        let events = stream_events(recording.source, &recording.bytes);
        suite.checker.wires.iter().filter_map(|wire| too_large(wire, recording, &events).err()).collect()
    });
}

/// What is saved holds what is open, and the last record; it is no copy of the session.
fn too_large(wire: &DialectChecker, recording: &Recording, events: &[Event]) -> Result<(), InvariantViolation> {
    let size = wire.check_restored(events)?;
    let largest = MOST_SAVED + recording.bytes.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or_default();
    let why = || format!("{}: {size} bytes of {}", wire.dialect.name, recording.bytes.len());
    if size <= largest { Ok(()) } else { Err(InvariantViolation { rule: "what is saved is small", why: why() }) }
}

#[test]
fn messages_end_as_they_grew() {
    let suite = Suite::new();
    suite.each("texts", |recording| match answer_text(&stream_events(recording.source, &recording.bytes)) {
        AnswerText::Unclear(why @ "a message ended as something else than it grew to") => {
            vec![InvariantViolation { rule: "what was streamed is how the finished text begins", why: why.to_owned() }]
        }
        _ => Vec::new(),
    });
}

#[test]
fn most_answers_are_clear() {
    let recordings = Suite::new().recordings;
    let unclear = recordings.iter().filter_map(|recording| {
        match answer_text(&stream_events(recording.source, &recording.bytes)) {
            AnswerText::Unclear(why) => Some(format!("{recording}: {why}")),
            AnswerText::Text(_) => None,
        }
    });
    let unclear: Vec<_> = unclear.collect();
    // Otherwise the rule about joined text is checked on too little.
    assert!(
        unclear.len() * 10 < recordings.len(),
        "{} of {}:\n{}",
        unclear.len(),
        recordings.len(),
        unclear.join("\n")
    );
}

#[test]
fn usage_counts_each_reply_once() {
    Suite::new().each("usage", |recording| counted_twice(recording).into_iter().collect());
}

fn counted_twice(recording: &Recording) -> Option<InvariantViolation> {
    let mut seen = HashSet::new();
    for event in stream_events(recording.source, &recording.bytes) {
        if let EventBody::Usage(usage) = event.body
            && let Some(key) = usage.key
            && usage.scope == Scope::Reply
            && !usage.cumulative
            && !seen.insert(key.clone())
        {
            return Some(InvariantViolation {
                rule: "each model reply is counted once",
                why: format!("{key} at {}", event.seq),
            });
        }
    }
    None
}
