//! The invariants on recordings of real agents.

use std::collections::HashSet;

use switchboard_agents::SOURCES;
use switchboard_event::{Details, Event, EventBody, Id, Item, Scope, Status};
use switchboard_testkit::ledger::{IdReuse, InvariantViolation};
use switchboard_testkit::random::SeededRng;
use switchboard_testkit::recording::{Recording, stream_events};
use switchboard_testkit::stream_checker::{AnswerText, answer_text};
use switchboard_testkit::wire::{DialectChecker, reread_events};

use super::ConformanceSuite;

/// Maximum number of bytes saved in addition to a record.
const MOST_SAVED: usize = 16 << 10;

#[test]
fn recordings_keep_every_invariant() {
    let suite = ConformanceSuite::new();
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
    let suite = ConformanceSuite::new();
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
    let suite = ConformanceSuite::new();
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
    let suite = ConformanceSuite::new();
    suite.each("resumed recordings", |recording| {
        let events = stream_events(recording.source, &recording.bytes);
        suite.checker.wires.iter().filter_map(|wire| too_large(wire, recording, &events).err()).collect()
    });
}

/// Saved state contains open items and the last record; it must not copy the session.
fn too_large(wire: &DialectChecker, recording: &Recording, events: &[Event]) -> Result<(), InvariantViolation> {
    let size = wire.check_restored(events)?;
    let largest = MOST_SAVED + recording.bytes.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or_default();
    let why = || format!("{}: {size} bytes of {}", wire.dialect.name, recording.bytes.len());
    if size <= largest { Ok(()) } else { Err(InvariantViolation { rule: "what is saved is small", why: why() }) }
}

#[test]
fn messages_end_as_they_grew() {
    let suite = ConformanceSuite::new();
    suite.each("texts", |recording| match answer_text(&stream_events(recording.source, &recording.bytes)) {
        AnswerText::Unclear(why @ "a message ended as something else than it grew to") => {
            vec![InvariantViolation { rule: "what was streamed is how the finished text begins", why: why.to_owned() }]
        }
        _ => Vec::new(),
    });
}

#[test]
fn most_answers_are_clear() {
    let recordings = ConformanceSuite::new().recordings;
    let unclear = recordings.iter().filter_map(|recording| {
        match answer_text(&stream_events(recording.source, &recording.bytes)) {
            AnswerText::Unclear(why) => Some(format!("{recording}: {why}")),
            AnswerText::Text(_) => None,
        }
    });
    let unclear: Vec<_> = unclear.collect();
    // Ensures that the rule about joined text applies often enough.
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
    ConformanceSuite::new().each("usage", |recording| counted_twice(recording).into_iter().collect());
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

#[test]
fn no_text_is_said_twice() {
    ConformanceSuite::new()
        .each("texts", |recording| repeated(&stream_events(recording.source, &recording.bytes)).into_iter().collect());
}

#[test]
fn every_dialect_tells_what_was_used() {
    let suite = ConformanceSuite::new();
    suite.each("usage", |recording| {
        let events = stream_events(recording.source, &recording.bytes);
        suite.checker.wires.iter().filter_map(|wire| wire.check_usage(&events).err()).collect()
    });
}

/// A message that repeats another. A model may say the same in two replies, but no other record says it for the model, one
/// reply does not say it twice, and no reply goes on from all that the one right before it said.
fn repeated(events: &[Event]) -> Option<InvariantViolation> {
    let mut said: Vec<(Option<&Id>, &str)> = Vec::new();
    let mut before: HashSet<(Option<&Id>, Option<&Id>)> = HashSet::new();
    let (mut last, mut last_reply) = ("", None);
    for event in events {
        if matches!(event.body, EventBody::TurnStarted(_)) {
            last = "";
        }
        let EventBody::ItemCompleted(item) = &event.body else { continue };
        let Some(text) = text_of(item).filter(|_| event.thread.is_none()) else {
            if event.thread.is_none() && !matches!(item.details, Details::Reasoning(_)) {
                last = "";
            }
            continue;
        };
        let broken = |rule| Some(InvariantViolation { rule, why: format!("{text:?} at {}", event.seq) });
        let reply = item.reply.as_ref();
        let goes_on = text.len() > last.len() && text.starts_with(last);
        if !last.is_empty() && goes_on && reply.is_some() && last_reply.is_some() {
            return broken("a reply does not begin with the one before it");
        }
        if reply.is_none() && said.iter().any(|(reply, known)| reply.is_some() && *known == text) {
            return broken("what a reply said is not said again without it");
        }
        if reply.is_some() && said.contains(&(reply, text)) {
            return broken("a reply says a text once");
        }
        if !before.insert((reply, event.item.as_ref())) {
            return broken("an item says its text once");
        }
        said.push((reply, text));
        (last, last_reply) = (text, reply);
    }
    None
}

/// Returns the text of an item that was not retracted.
fn text_of(item: &Item) -> Option<&str> {
    match &item.details {
        Details::AgentMessage(message) if item.status != Status::Superseded && !message.text.is_empty() => {
            Some(&message.text)
        }
        _ => None,
    }
}
