//! Recordings in which Codex restarts a reply, so that text could easily be sent twice.

use switchboard_event::{Delta, Details, Event, EventBody, Status};

use crate::{Record, RecordTranslator, TranslatorOptions, find_source};

fn app_server_events(records: &str) -> Vec<Event> {
    let mut translator = RecordTranslator::new(find_source("codex:app-server").unwrap(), TranslatorOptions::default());
    let mut events = Vec::new();
    for line in records.lines() {
        translator.translate_record(&Record::from_line(line.as_bytes()).unwrap(), &mut events);
    }
    translator.finish(&mut events);
    events
}

/// The messages of the agent with their final status.
fn agent_messages(events: &[Event]) -> Vec<(&str, Status)> {
    let items = events.iter().filter_map(|event| match &event.body {
        EventBody::ItemCompleted(item) => Some(item),
        _ => None,
    });
    let messages = items.filter_map(|item| match &item.details {
        Details::AgentMessage(message) => Some((message.text.as_str(), item.status)),
        _ => None,
    });
    messages.collect()
}

fn streamed_text(events: &[Event]) -> String {
    let deltas = events.iter().filter_map(|event| match &event.body {
        EventBody::ItemDelta(Delta::Append { text, .. }) => Some(text.as_str()),
        _ => None,
    });
    deltas.collect()
}

const DISCONNECT: &str = include_str!("testdata/app-server/disconnect.jsonl");
const RETRY: &str = include_str!("testdata/app-server/made-retry.jsonl");

#[test]
fn a_restarted_reply_continues_its_message() {
    let events = app_server_events(DISCONNECT);
    assert_eq!(agent_messages(&events), [("partial ", Status::Interrupted)]);
    assert_eq!(streamed_text(&events), "partial ");
}

#[test]
fn a_restarted_reply_that_differs_supersedes_its_message() {
    let events = app_server_events(RETRY);
    assert_eq!(agent_messages(&events), [("Half an ans", Status::Superseded), ("Whole answer.", Status::Completed)]);
    assert_eq!(streamed_text(&events), "Half an ans answer.", "the first word is in the start of the new item");
}

#[test]
fn another_id_continues_the_same_message() {
    for (second, expected) in [
        ("Half an answer.", &[("Half an answer.", Status::Completed)][..]),
        ("Half an ans", &[("Half an ans", Status::Completed)]),
        ("Half", &[("Half an ans", Status::Superseded), ("Half", Status::Completed)]),
    ] {
        let events = app_server_events(&RETRY.replace("Whole answer.", second).replace("Whole", "Half"));
        assert_eq!(agent_messages(&events), expected, "{second}");
    }
}
