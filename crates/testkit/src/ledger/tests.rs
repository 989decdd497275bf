//! Tests of the invariants: valid events, broken in one way each.

use switchboard_event::{Event, EventBody, Id, Kind, NativeBody, NativeRecord, Status};

use super::{IdReuse, SessionInvariants};
use crate::stream_checker::check_events;

/// Native lines and their events: kind, turn, item, data, and the line or cause.
const NATIVE_LINES: &str =
    "{\"line\" : 1}\n{\"line\" : 2}\n{\"line\" : 3}\n{\"line\" : 4}\n{\"line\" : 5}\n{\"line\" : 6}\n";
const EVENT_FIELDS: &[(&str, &str, &str, &str, &str)] = &[
    ("session.started", "null", "null", r#"{"run":1}"#, r#""native":{"line" : 1}"#),
    ("turn.started", "1", "null", "{}", r#""native":{"line" : 2}"#),
    ("item.started", "1", r#""i""#, r#"{"item":{"type":"agent_message","status":"running"}}"#, r#""cause":2"#),
    ("item.delta", "1", r#""i""#, r#"{"op":"append","field":"text","text":"a"}"#, r#""cause":2"#),
    ("request.opened", "1", "null", r#"{"request":"r","about":"tool"}"#, r#""native":{"line" : 3}"#),
    (
        "request.resolved",
        "1",
        "null",
        r#"{"request":"r","outcome":"allowed","by":"client"}"#,
        r#""native":{"line" : 4}"#,
    ),
    (
        "item.completed",
        "1",
        r#""i""#,
        r#"{"item":{"type":"agent_message","status":"completed"}}"#,
        r#""native":{"line" : 5}"#,
    ),
    ("turn.completed", "1", "null", r#"{"status":"completed","stop":"end_turn"}"#, r#""native":{"line" : 6}"#),
    ("usage", "null", "null", "{}", r#""cause":8"#),
    ("session.ended", "null", "null", r#"{"reason":"completed","by":"switchboard"}"#, r#""enc":null"#),
];

/// Returns events that satisfy all rules.
fn valid_events() -> Vec<Event> {
    let event = |(seq, (kind, turn, item, data, record)): (usize, &(&str, &str, &str, &str, &str))| {
        let envelope = r#""session":"s","at":"2026-01-01T00:00:00Z","agent":"a","run":1"#;
        let text = format!(
            r#"{{"seq":{},{envelope},"kind":"{kind}","turn":{turn},"item":{item},"data":{data},{record}}}"#,
            seq + 1
        );
        Event::from_json(&text).unwrap()
    };
    EVENT_FIELDS.iter().enumerate().map(event).collect()
}

/// Breaks valid events and expects a rule to report it.
#[track_caller]
fn expect_violation(rule: &str, spoil: impl FnOnce(&mut Vec<Event>)) {
    let mut events = valid_events();
    check_events(&events, NATIVE_LINES.as_bytes(), IdReuse::InAnotherReply).unwrap();
    spoil(&mut events);
    let broken = check_events(&events, NATIVE_LINES.as_bytes(), IdReuse::InAnotherReply).unwrap_err();
    assert_eq!(broken.rule, rule, "{broken}");
}

fn position_of(events: &[Event], kind: Kind) -> usize {
    events.iter().position(|event| event.body.kind() == kind).unwrap()
}

/// Replaces an event by a notice that keeps its record.
fn replace_with_notice(events: &mut [Event], kind: Kind) {
    let at = position_of(events, kind);
    (events[at].item, events[at].body) = (None, EventBody::Notice(Box::default()));
}

fn renumber_events(events: &mut [Event]) {
    let mut carrier = 0;
    for (event, seq) in events.iter_mut().zip(1..) {
        event.seq = seq;
        if event.native.is_some() {
            carrier = seq;
        }
        event.cause = event.cause.map(|_| carrier);
    }
}

#[test]
fn numbers() {
    expect_violation("seq is dense", |events| drop(events.remove(2)));
    expect_violation("seq is dense", |events| events[0].seq = 7);
}

#[test]
fn beginnings_and_ends() {
    expect_violation("session.ended is the last event", |events| drop(events.pop()));
    expect_violation("session.started is the first event and no other", |events| {
        replace_with_notice(events, Kind::SessionStarted)
    });
    expect_violation("session.ended is the last event", |events| {
        let last = events.last().cloned().unwrap();
        events.push(last);
        renumber_events(events);
    });
    expect_violation("all events are of one session", |events| events[3].session = Id::from("another"));
}

#[test]
fn items() {
    expect_violation("every item ends", |events| replace_with_notice(events, Kind::ItemCompleted));
    expect_violation("an item is open from its start to its end", |events| {
        replace_with_notice(events, Kind::ItemStarted)
    });
    expect_violation("an item event names its item", |events| {
        let at = position_of(events, Kind::ItemCompleted);
        events[at].item = None;
    });
    expect_violation("an item stays in its place", |events| {
        let at = position_of(events, Kind::ItemCompleted);
        events[at].thread = Some(Id::from("elsewhere"));
    });
    expect_violation("an item that ended is not running", |events| {
        let at = position_of(events, Kind::ItemCompleted);
        let EventBody::ItemCompleted(item) = &mut events[at].body else { unreachable!() };
        item.status = Status::Running;
    });
    expect_violation("an item starts once", |events| {
        let at = position_of(events, Kind::ItemStarted);
        let again = Event { native: None, cause: Some(0), ..events[at].clone() };
        events.insert(at + 1, again);
        renumber_events(events);
    });
}

#[test]
fn ids() {
    let again = |events: &mut Vec<Event>| {
        let at = position_of(events, Kind::ItemCompleted);
        let id = events[at].item.clone();
        let start = events.iter().find(|event| event.item == id).cloned().unwrap();
        for (offset, event) in [start, events[at].clone()].into_iter().enumerate() {
            events.insert(at + 1 + offset, Event { native: None, cause: Some(0), turn: events[at].turn, ..event });
        }
        renumber_events(events);
    };
    expect_violation("what ended does not begin again", again);
    let mut events = valid_events();
    again(&mut events);
    check_events(&events, NATIVE_LINES.as_bytes(), IdReuse::AfterEnd).unwrap();
}

#[test]
fn requests() {
    expect_violation("every request is resolved", |events| replace_with_notice(events, Kind::RequestResolved));
    expect_violation("a request opens before it is resolved", |events| {
        replace_with_notice(events, Kind::RequestOpened)
    });
}

#[test]
fn turns() {
    expect_violation("every event names the open turn", |events| replace_with_notice(events, Kind::TurnCompleted));
    expect_violation("every event names the open turn", |events| replace_with_notice(events, Kind::TurnStarted));
    expect_violation("every event names the open turn", |events| {
        let at = position_of(events, Kind::ItemStarted);
        events[at].turn = Some(99);
    });
}

#[test]
fn records() {
    let carrier = |events: &[Event]| events.iter().rposition(|event| event.native.is_some()).unwrap();
    expect_violation("native in = native out", |events| {
        let at = carrier(events);
        (events[at].native, events[at].cause) = (None, None);
        events.iter_mut().skip(at).for_each(|event| event.cause = None);
    });
    expect_violation("native in = native out", |events| {
        let at = carrier(events);
        let Some(NativeRecord { body: NativeBody::Json(json), .. }) = &mut events[at].native else { unreachable!() };
        *json =
            serde_json::value::to_raw_value(&serde_json::from_str::<serde_json::Value>(json.get()).unwrap()).unwrap();
    });
    expect_violation("an event has a record or a cause", |events| {
        let at = carrier(events);
        events[at].cause = Some(1);
    });
    expect_violation("cause is the event with the record", |events| {
        let at = events.iter().rposition(|event| event.cause.is_some()).unwrap();
        events[at].cause = Some(1);
    });
    expect_violation("only the end of the stream has no record", |events| {
        let at = events.iter().position(|event| event.cause.is_some()).unwrap();
        events[at].cause = None;
    });
}

#[test]
fn nothing_is_no_session() {
    assert!(SessionInvariants::new(IdReuse::InAnotherReply).finish().is_err());
}
