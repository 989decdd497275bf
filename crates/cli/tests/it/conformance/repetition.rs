//! Text is reported once, and usage figures agree everywhere.

use std::collections::HashSet;

use switchboard_event::{Details, Event, EventBody, Id, Item, Status};
use switchboard_testkit::{ledger::InvariantViolation, play::stream_events};

use super::Suite;

#[test]
fn no_text_is_said_twice() {
    Suite::new()
        .each("texts", |recording| repeated(&stream_events(recording.source, &recording.bytes)).into_iter().collect());
}

#[test]
fn every_dialect_tells_what_was_used() {
    let suite = Suite::new();
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

/// What the agent says and does not take back.
fn text_of(item: &Item) -> Option<&str> {
    match &item.details {
        Details::AgentMessage(message) if item.status != Status::Superseded && !message.text.is_empty() => {
            Some(&message.text)
        }
        _ => None,
    }
}
