//! Hand-written sessions for the tests of all dialects: a short form of events, and one session that covers everything.

use serde_json::{Value, json};
use switchboard_event::Event;

use crate::{Dialect, MessageBuffer};

/// Builds events from a short form with `kind`, `data` and the relevant envelope fields; the rest gets default values.
pub fn build_events(short: &[Value]) -> Vec<Event> {
    let whole = short.iter().zip(1..).map(|(short, seq)| {
        let at = format!("2026-11-15T10:{:02}:{:02}.000000Z", seq / 60, seq % 60);
        let mut event = json!({"seq": seq, "session": "s1", "at": at, "agent": "sample", "run": 1, "data": {}});
        for (key, value) in short.as_object().unwrap() {
            event[key] = value.clone();
        }
        event
    });
    whole.map(|event| Event::from_json(&event.to_string()).unwrap_or_else(|error| panic!("{error}: {event}"))).collect()
}

/// Returns the messages of a dialect for these events. Validates each message against the schema, and restores the
/// projection from a snapshot before every event.
pub fn project_events(dialect: &Dialect, short: &[Value]) -> Vec<Value> {
    let schema = schema_validator(dialect);
    let (mut projection, mut out) = ((dialect.projection)(), MessageBuffer::default());
    for event in build_events(short) {
        projection = (dialect.restore)(&projection.snapshot().save().unwrap()).unwrap();
        projection.project_event(&event, &mut out);
    }
    let messages: Vec<Value> = out.iter().map(|message| serde_json::from_slice(message).unwrap()).collect();
    for message in &messages {
        if let Err(error) = schema.validate(message) {
            panic!("{error} at {}: {message}", error.instance_path());
        }
    }
    messages
}

/// Returns a validator for the schema of a dialect.
pub fn schema_validator(dialect: &Dialect) -> jsonschema::Validator {
    jsonschema::options().should_validate_formats(true).build(&(dialect.schema)(&["sample"])).unwrap()
}

/// Wraps events in a session with one turn that completes.
pub fn session_with_turn(inner: &[Value]) -> Vec<Value> {
    let start = [json!({"kind": "session.started", "data": {"run": 1}}), json!({"kind": "turn.started", "turn": 1})];
    let end = [completed_turn(), session_ended("completed", json!({}))];
    start.into_iter().chain(inner.iter().cloned()).chain(end).collect()
}

pub fn completed_turn() -> Value {
    json!({"kind": "turn.completed", "turn": 1, "data": {"status": "completed", "stop": "end_turn"}})
}

/// The end of a run with additional fields.
pub fn session_ended(reason: &str, more: Value) -> Value {
    let data = merge_objects(json!({"reason": reason, "duration_ms": 1500, "by": "agent"}), more);
    json!({"kind": "session.ended", "data": data})
}

/// The start of an item.
pub fn item_started(id: &str, item: Value) -> Value {
    json!({"kind": "item.started", "item": id, "turn": 1, "data": {"item": with_status(item, "running")}})
}

/// The end of an item.
pub fn item_finished(id: &str, item: Value) -> Value {
    json!({"kind": "item.completed", "item": id, "turn": 1, "data": {"item": with_status(item, "completed")}})
}

/// Text appended to an item.
pub fn text_appended(id: &str, field: &str, text: &str) -> Value {
    json!({"kind": "item.delta", "item": id, "turn": 1, "data": {"op": "append", "field": field, "text": text}})
}

/// The start and end of an item.
pub fn whole_item(id: &str, item: &Value) -> [Value; 2] {
    let mut hollow = item.clone();
    hollow["status"] = json!("running");
    [item_started(id, hollow), item_finished(id, item.clone())]
}

/// Attributes events to a subagent.
pub fn in_subagent(parent: &str, thread: &str, events: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let place = |mut event: Value| {
        event["parent"] = json!(parent);
        event["thread"] = json!(thread);
        event
    };
    events.into_iter().map(place).collect()
}

pub fn notice_event(topic: &str, more: Value) -> Value {
    json!({"kind": "notice", "data": merge_objects(json!({"topic": topic}), more)})
}

fn merge_objects(mut one: Value, more: Value) -> Value {
    if let (Some(one), Value::Object(more)) = (one.as_object_mut(), more) {
        one.extend(more);
    }
    one
}

fn with_status(mut item: Value, status: &str) -> Value {
    if item.get("status").is_none() {
        item["status"] = json!(status);
    }
    item
}

/// One item of each type, and tools with each possible outcome.
fn every_item() -> Vec<Value> {
    let call = |name: &str, kind: &str| json!({"name": name, "kind": kind, "input": {"a": 1}});
    let change = json!({"path": "/w/a.rs", "kind": "modify", "diff": "@@ -1 +1 @@\n-a\n+b\n"});
    let mut items = vec![
        json!({"type": "user_message", "content": [{"type": "text", "text": "and this"}]}),
        json!({"type": "agent_message", "text": "one\n\ntwo"}),
        json!({"type": "reasoning", "text": "hmm"}),
        json!({"type": "reasoning", "summary": "in short"}),
        json!({"type": "reasoning", "redacted": true}),
        json!({"type": "command", "command": "ls", "exit_code": 0, "output": "a\nb\n"}),
        json!({"type": "file_change", "changes": [change]}),
        json!({"type": "file_change", "changes": [{"path": "/w/b", "kind": "move", "to": "/w/c", "diff": ""}]}),
        json!({"type": "mcp", "server": "s", "tool": "t", "result": {"content": [{"type": "text", "text": "r"}]}}),
        json!({"type": "web_search", "queries": ["q"], "results": [{"url": "u"}]}),
        json!({"type": "plan", "entries": [{"step": "one", "status": "completed"}, {"step": "two"}]}),
        json!({"type": "subagent", "name": "helper", "label": "look", "prompt": "look!", "result": "seen"}),
        json!({"type": "tool", "output": "out", "call": call("Look", "read")}),
        json!({"type": "tool", "output": "", "result": {"x": 1}, "call": call("Find", "search")}),
        json!({"type": "unknown", "name": "odd", "raw": {"odd": true}}),
        json!({"type": "unknown", "name": "odd", "call": call("Odd", "other")}),
        json!({"type": "plan", "entries": [], "text": "do it", "call": call("Plan", "think")}),
        json!({"type": "agent_message", "text": "taken back", "status": "superseded"}),
    ];
    for status in ["failed", "declined", "interrupted", "superseded"] {
        let call = json!({"name": "Run", "kind": "execute", "input": {"command": "rm"}, "error": "no"});
        items.push(json!({"type": "command", "command": "rm", "status": status, "call": call}));
        items.push(json!({"type": "command", "command": "rm", "output": "partly", "exit_code": 3, "status": status}));
        items.push(json!({"type": "file_change", "changes": [change], "status": status}));
        items.push(json!({"type": "mcp", "server": "s", "tool": "t", "error": "down", "status": status}));
        items.push(json!({"type": "tool", "call": call, "status": status}));
        items.push(json!({"type": "subagent", "name": "n", "label": "l", "status": status}));
    }
    items
}

/// A session with every kind of event, every type of item, every topic, a subagent, failed and interrupted turns, and a
/// second run.
pub fn full_session() -> Vec<Value> {
    let mut all = vec![
        json!({"kind": "session.started", "data": {"run": 1, "agent_session": "native-1", "config": {"model": "m0"},
            "info": {"cwd": "/w", "model": "m1", "product": "sample_product"}}, "native": {"n": 1}}),
        json!({"kind": "turn.started", "turn": 1, "data": {"prompt": "do this"}, "native": {"n": 2}}),
    ];
    let mut seq = 0;
    for item in every_item() {
        seq += 1;
        all.extend(whole_item(&format!("i{seq}"), &item));
    }
    all.extend(in_subagent(
        "i12",
        "th1",
        every_item().iter().zip(100..).flat_map(|(item, n)| whole_item(&format!("i{n}"), item)),
    ));
    all.extend(growing_items());
    all.extend(every_notice());
    let error = json!({"code": "api_error", "message": "the model failed", "http_status": 500});
    all.extend([
        completed_turn(),
        json!({"kind": "turn.started", "turn": 2, "data": {"origin": "background"}}),
        json!({"kind": "turn.completed", "turn": 2, "data": {"status": "interrupted", "stop": "cancelled"}}),
        session_ended("cancelled", json!({"signal": 15})),
        json!({"kind": "session.started", "run": 2, "data": {"run": 2, "resumed": {"from": "native-1"}}}),
        json!({"kind": "turn.started", "turn": 3, "data": {"prompt": "again"}}),
        json!({"kind": "turn.completed", "turn": 3, "data": {"status": "failed", "stop": "error", "error": error}}),
        session_ended("failed", json!({"error": error})),
    ]);
    all
}

/// Items with streamed text, requests and usage.
fn growing_items() -> Vec<Value> {
    vec![
        item_started("m", json!({"type": "agent_message", "text": ""})),
        text_appended("m", "text", "fir"),
        text_appended("m", "text", "st\nsecond"),
        item_finished("m", json!({"type": "agent_message", "text": "first\nsecond\nthird", "reply": "r1"})),
        item_started("r", json!({"type": "reasoning"})),
        text_appended("r", "summary", "short"),
        text_appended("r", "text", "long"),
        item_finished("r", json!({"type": "reasoning", "text": "long", "summary": "short"})),
        item_started("t", json!({"type": "tool", "call": {"name": "T", "input": "not an object"}})),
        json!({"kind": "item.delta", "item": "t", "data": {"op": "progress", "ratio": 0.5, "elapsed_ms": 10}}),
        json!({"kind": "item.delta", "item": "t", "data": {"op": "set", "patch": {"type": "tool", "status": "running",
            "output": "so far", "call": {"name": "T", "title": "a tool"}}}}),
        text_appended("t", "output", "more"),
        item_finished("t", json!({"type": "tool", "output": "so far more", "duration_ms": 12, "call": {"name": "T"}})),
        json!({"kind": "request.opened", "item": "t", "data": {"request": "q1", "about": "command", "title": "May I?"}}),
        json!({"kind": "request.resolved", "item": "t", "data": {"request": "q1", "outcome": "allowed", "by": "client"}}),
        json!({"kind": "session.updated", "data": {"info": {"model": "m2", "status": "running"}}}),
        json!({"kind": "usage", "data": {"key": "r1", "model": "m2", "input": 10, "output": 5, "cache_read": 3,
            "cache_write_5m": 2, "cache_write_1h": 1, "reasoning": 1, "reasoning_in_output": true, "cost_usd": 0.5}}),
        json!({"kind": "usage", "data": {"input": 1000, "output": 500, "cumulative": true}}),
        json!({"kind": "usage", "thread": "th1", "data": {"input": 1, "output": 2, "cached_in_input": true, "tool": 4}}),
    ]
}

/// Notices of each topic: empty, with a text, and with an error.
fn every_notice() -> Vec<Value> {
    let mut notices = Vec::new();
    for topic in crate::test_sessions::NOTICE_TOPICS {
        let fault = json!({"code": "rate_limit", "message": "slow down"});
        notices.push(notice_event(topic, json!({})));
        notices.push(notice_event(topic, json!({"text": "some\ntext", "name": "PreCommit", "status": "started"})));
        notices.push(notice_event(
            topic,
            json!({"error": fault, "level": "error", "name": "PreCommit", "status": "failed"}),
        ));
    }
    notices
}
