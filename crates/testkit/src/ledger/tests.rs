//! The ledger finds what it is for: good events, broken in one way each.

use switchboard_event::{Body, Event, Id, Kind, Native, NativeBody, Status};

use super::{Ledger, Reuse};
use crate::check::check_events;

/// What an agent said, and the events of it: number, kind, turn, item, data, and the line that it carries or the event
/// that does.
const SAID: &str = "{\"line\" : 1}\n{\"line\" : 2}\n{\"line\" : 3}\n{\"line\" : 4}\n{\"line\" : 5}\n{\"line\" : 6}\n";
const EVENTS: &[(&str, &str, &str, &str, &str)] = &[
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

/// The events of a session that keeps all rules.
fn good() -> Vec<Event> {
    let event = |(seq, (kind, turn, item, data, record)): (usize, &(&str, &str, &str, &str, &str))| {
        let envelope = r#""session":"s","at":"2026-01-01T00:00:00Z","agent":"a","run":1"#;
        let text = format!(
            r#"{{"seq":{},{envelope},"kind":"{kind}","turn":{turn},"item":{item},"data":{data},{record}}}"#,
            seq + 1
        );
        Event::from_json(&text).unwrap()
    };
    EVENTS.iter().enumerate().map(event).collect()
}

/// Breaks good events, and expects a rule to notice.
#[track_caller]
fn check(rule: &str, spoil: impl FnOnce(&mut Vec<Event>)) {
    let mut events = good();
    check_events(&events, SAID.as_bytes(), Reuse::InAnotherReply).unwrap();
    spoil(&mut events);
    let broken = check_events(&events, SAID.as_bytes(), Reuse::InAnotherReply).unwrap_err();
    assert_eq!(broken.rule, rule, "{broken}");
}

fn place(events: &[Event], kind: Kind) -> usize {
    events.iter().position(|event| event.body.kind() == kind).unwrap()
}

/// The event never came; its record is kept by a notice, as that of a record that means nothing.
fn lose(events: &mut [Event], kind: Kind) {
    let at = place(events, kind);
    (events[at].item, events[at].body) = (None, Body::Notice(Box::default()));
}

fn number(events: &mut [Event]) {
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
    check("seq is dense", |events| drop(events.remove(2)));
    check("seq is dense", |events| events[0].seq = 7);
}

#[test]
fn beginnings_and_ends() {
    check("session.ended is the last event", |events| drop(events.pop()));
    check("session.started is the first event and no other", |events| lose(events, Kind::SessionStarted));
    check("session.ended is the last event", |events| {
        let last = events.last().cloned().unwrap();
        events.push(last);
        number(events);
    });
    check("all events are of one session", |events| events[3].session = Id::from("another"));
}

#[test]
fn items() {
    check("every item ends", |events| lose(events, Kind::ItemCompleted));
    check("an item is open from its start to its end", |events| lose(events, Kind::ItemStarted));
    check("an item event names its item", |events| {
        let at = place(events, Kind::ItemCompleted);
        events[at].item = None;
    });
    check("an item stays in its place", |events| {
        let at = place(events, Kind::ItemCompleted);
        events[at].thread = Some(Id::from("elsewhere"));
    });
    check("an item that ended is not running", |events| {
        let at = place(events, Kind::ItemCompleted);
        let Body::ItemCompleted(item) = &mut events[at].body else { unreachable!() };
        item.status = Status::Running;
    });
    check("an item starts once", |events| {
        let at = place(events, Kind::ItemStarted);
        let again = Event { native: None, cause: Some(0), ..events[at].clone() };
        events.insert(at + 1, again);
        number(events);
    });
}

#[test]
fn ids() {
    let again = |events: &mut Vec<Event>| {
        let at = place(events, Kind::ItemCompleted);
        let id = events[at].item.clone();
        let start = events.iter().find(|event| event.item == id).cloned().unwrap();
        for (offset, event) in [start, events[at].clone()].into_iter().enumerate() {
            events.insert(at + 1 + offset, Event { native: None, cause: Some(0), turn: events[at].turn, ..event });
        }
        number(events);
    };
    check("what ended does not begin again", again);
    let mut events = good();
    again(&mut events);
    check_events(&events, SAID.as_bytes(), Reuse::AfterEnd).unwrap();
}

#[test]
fn requests() {
    check("every request is resolved", |events| lose(events, Kind::RequestResolved));
    check("a request opens before it is resolved", |events| lose(events, Kind::RequestOpened));
}

#[test]
fn turns() {
    check("every event names the open turn", |events| lose(events, Kind::TurnCompleted));
    check("every event names the open turn", |events| lose(events, Kind::TurnStarted));
    check("every event names the open turn", |events| {
        let at = place(events, Kind::ItemStarted);
        events[at].turn = Some(99);
    });
}

#[test]
fn records() {
    let carrier = |events: &[Event]| events.iter().rposition(|event| event.native.is_some()).unwrap();
    check("native in = native out", |events| {
        let at = carrier(events);
        (events[at].native, events[at].cause) = (None, None);
        events.iter_mut().skip(at).for_each(|event| event.cause = None);
    });
    check("native in = native out", |events| {
        let at = carrier(events);
        let Some(Native { body: NativeBody::Json(json), .. }) = &mut events[at].native else { unreachable!() };
        *json =
            serde_json::value::to_raw_value(&serde_json::from_str::<serde_json::Value>(json.get()).unwrap()).unwrap();
    });
    check("an event has a record or a cause", |events| {
        let at = carrier(events);
        events[at].cause = Some(1);
    });
    check("cause is the event with the record", |events| {
        let at = events.iter().rposition(|event| event.cause.is_some()).unwrap();
        events[at].cause = Some(1);
    });
    check("only the end of the stream has no record", |events| {
        let at = events.iter().position(|event| event.cause.is_some()).unwrap();
        events[at].cause = None;
    });
}

#[test]
fn nothing_is_no_session() {
    assert!(Ledger::new(Reuse::InAnotherReply).finish().is_err());
}
