//! Hand-written events for tests: a builder, and a session that covers everything.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use switchboard_event::{Event, Id};

use crate::{DIALECTS, Dialect, MessageBuffer, Projection};

/// Events of one session, numbered in insertion order.
#[derive(Default)]
pub struct SampleSession {
    pub events: Vec<Event>,
    turn: Option<u32>,
    turns: u32,
    run: u32,
    parent: Option<&'static str>,
    thread: Option<&'static str>,
}

impl SampleSession {
    /// Creates a session that has started.
    pub fn new_started() -> Self {
        let mut samples = Self { run: 1, ..Self::default() };
        samples.add_event(
            "session.started",
            json!({"run": 1, "info": {"cwd": "/repo", "model": "m-1", "provider": "acme"}}),
        );
        samples
    }

    /// Creates a session with a running turn.
    pub fn in_turn() -> Self {
        let mut samples = Self::new_started();
        samples.start_turn("do it");
        samples
    }

    /// Starts another run of the session.
    pub fn start_run(&mut self) {
        self.run += 1;
        self.add_event("session.started", json!({"run": self.run, "agent_session": "own-1", "resumed": {"from": "s"}}));
    }

    pub fn start_turn(&mut self, prompt: &str) {
        self.turns += 1;
        self.turn = Some(self.turns);
        self.add_event("turn.started", json!({"origin": "prompt", "prompt": prompt}));
    }

    pub fn end_turn(&mut self, data: Value) {
        self.add_event("turn.completed", data);
        self.turn = None;
    }

    /// Attributes the following events to a subagent below an item, or to the main agent.
    pub fn set_subagent(&mut self, place: Option<(&'static str, &'static str)>) {
        (self.parent, self.thread) = place.unzip();
    }

    /// Adds an event without an item.
    pub fn add_event(&mut self, kind: &str, data: Value) {
        self.push(None, kind, data);
    }

    /// Adds an event of an item.
    pub fn add_item_event(&mut self, id: &str, kind: &str, data: Value) {
        self.push(Some(id), kind, data);
    }

    pub fn start_item(&mut self, id: &str, item: Value) {
        self.push(Some(id), "item.started", json!({"item": with_status(item, "running")}));
    }

    pub fn end_item(&mut self, id: &str, item: Value) {
        self.push(Some(id), "item.completed", json!({"item": with_status(item, "completed")}));
    }

    /// Appends text to an item.
    pub fn append_text(&mut self, id: &str, field: &str, text: &str) {
        self.push(Some(id), "item.delta", json!({"op": "append", "field": field, "part": 0, "text": text}));
    }

    fn push(&mut self, item: Option<&str>, kind: &str, data: Value) {
        let seq = self.events.len() + 1;
        let mut wire = json!({
            "v": 1, "seq": seq, "session": "s", "at": format!("2026-11-15T10:00:{:02}.5Z", seq.min(59)),
            "agent": "some", "run": self.run, "turn": self.turn, "item": item, "parent": self.parent,
            "thread": self.thread, "kind": kind,
        });
        wire["data"] = data;
        self.events.push(Event::from_json(&wire.to_string()).unwrap());
    }

    /// Returns the messages of a dialect for these events. Validates each message against the schema, and restores the
    /// projection from a snapshot before every event.
    pub fn project_to(&self, dialect: &Dialect) -> Vec<Value> {
        let validator = jsonschema::validator_for(&(dialect.schema)(&["some"])).unwrap();
        let (mut projection, mut out) = ((dialect.projection)(), MessageBuffer::default());
        for event in &self.events {
            projection = (dialect.restore)(&projection.snapshot().save().unwrap()).unwrap();
            projection.project_event(event, &mut out);
        }
        let messages: Vec<Value> = out.iter().map(|message| serde_json::from_slice(message).unwrap()).collect();
        for message in &messages {
            let errors: Vec<_> = validator.iter_errors(message).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{errors:?} in {message:#}");
        }
        messages
    }
}

fn with_status(mut item: Value, status: &str) -> Value {
    if item.get("status").is_none() {
        item["status"] = json!(status);
    }
    item
}

/// A session with every kind of event, every item type and outcome, and every notice topic.
pub fn full_sample_session() -> SampleSession {
    let mut samples = SampleSession::new_started();
    samples.add_event("session.updated", json!({"info": sample_info()}));
    samples.start_turn("do it");
    add_items(&mut samples);
    add_requests(&mut samples);
    samples.add_event(
        "usage",
        json!({"input": 10, "output": 5, "cache_read": 3, "reasoning": 2, "cost_usd": 0.5, "model": "m-1"}),
    );
    samples.add_event("usage", json!({"input": 1000, "output": 1000, "cumulative": true}));
    add_notices(&mut samples);
    samples.end_turn(json!({"status": "completed", "stop": "end_turn", "duration_ms": 7, "steps": 2, "cost_usd": 0.5,
        "denied": [{"tool": "rm", "item": "t1", "input": {"a": 1}}], "result": "said beside"}));
    for (status, stop, code) in [("failed", "error", "provider_auth"), ("interrupted", "cancelled", "aborted")] {
        samples.start_turn("again");
        samples.end_turn(json!({"status": status, "stop": stop, "error": {"code": code, "message": "no", "http_status": 401, "info": "Own"}}));
    }
    samples.start_turn("and again");
    samples.end_turn(json!({"status": "failed", "stop": "error"}));
    samples.add_event(
        "session.ended",
        json!({"reason": "failed", "duration_ms": 9, "by": "agent", "exit_code": 1, "signal": 9,
        "error": {"code": "api_error", "message": "broken"}}),
    );
    samples.start_run();
    samples.add_event("session.ended", json!({"reason": "completed", "duration_ms": 9, "by": "switchboard"}));
    samples
}

fn sample_info() -> Value {
    json!({
        "cwd": "/repo", "model": "m-2", "provider": "acme", "mode": "plan", "title": "A title", "version": "1.2",
        "status": "running", "tools": ["a"], "commands": [{"name": "c", "description": "d"}],
        "modes": [{"id": "plan", "name": "Plan"}], "models": [{"id": "m-2", "name": "M 2", "default": true}],
        "options": [{"id": "effort", "name": "Effort", "value": "low", "values": [{"id": "low", "name": "Low"}]}],
        "mcp": [{"name": "files", "status": "connected"}], "agents": [{"name": "helper"}],
        "context": {"used": 1, "size": 2}, "capabilities": {"x": true},
    })
}

/// One item of each type.
fn all_items() -> Vec<Value> {
    let call = json!({"name": "own_name", "title": "A title", "kind": "edit", "op": "write", "input": {"a": 1},
        "locations": [{"path": "/repo/a", "line": 3}], "error": "why", "team": "task",
        "content": [{"type": "image", "media_type": "image/png", "data": "AAAA"}]});
    let pieces = json!([
        {"type": "text", "text": "look"}, {"type": "image", "media_type": "image/png", "data": "AAAA"},
        {"type": "image", "url": "https://example.org/a.png"}, {"type": "image", "url": "file:///a.png"},
        {"type": "image", "url": "data:image/gif;base64,AAAA"}, {"type": "code", "text": "1", "language": "c"},
        {"type": "file", "url": "file:///a.txt"}, {"type": "other", "text": "{\"type\":\"video\",\"x\":1}"},
    ]);
    let changes = json!([
        {"path": "/repo/a", "kind": "add", "diff": "+a"}, {"path": "/repo/b", "kind": "modify", "diff": "-b"},
        {"path": "/repo/c", "kind": "delete", "diff": ""}, {"path": "/repo/d", "kind": "move", "to": "/repo/e", "diff": "+e"},
        {"path": "/repo/f", "kind": "move", "diff": ""},
    ]);
    let entries = json!([{"step": "one", "status": "completed"}, {"step": "two", "status": "in_progress"},
        {"step": "three", "status": "pending"}, {"step": "four", "status": "failed"}]);
    vec![
        json!({"type": "user_message", "content": pieces, "synthetic": true, "queued": true}),
        json!({"type": "agent_message", "text": "said", "phase": "answer", "content": pieces, "reply": "r1"}),
        json!({"type": "agent_message", "text": "I will not", "refusal": true, "truncated": true}),
        json!({"type": "reasoning", "text": "thought", "summary": "in short"}),
        json!({"type": "reasoning", "redacted": true}),
        json!({"type": "command", "command": "ls", "output": "a\n", "exit_code": 1, "duration_ms": 5, "call": call}),
        json!({"type": "command", "command": "ls", "cwd": "/tmp", "output": "", "background": true, "truncated": true}),
        json!({"type": "file_change", "changes": changes, "output": "done", "call": call}),
        json!({"type": "file_change", "changes": changes}),
        json!({"type": "mcp", "server": "files", "tool": "read", "result": {"content": []}, "error": "no", "call": call}),
        json!({"type": "web_search", "queries": ["a", "b"], "results": [{"url": "u"}], "call": call}),
        json!({"type": "plan", "entries": entries, "text": "the plan", "explanation": "so", "call": call}),
        json!({"type": "plan", "entries": entries}),
        json!({"type": "subagent", "thread": "child", "name": "helper", "label": "help", "prompt": "p", "result": "r", "background": true, "call": call}),
        json!({"type": "tool", "output": "text", "call": call}),
        json!({"type": "tool", "output": "", "result": [1, 2], "call": {"name": "lists", "kind": "other", "input": [1]}}),
        json!({"type": "unknown", "name": "novelty", "raw": {"n": 1}}),
        json!({"type": "unknown", "name": "novelty", "raw": {"n": 1}, "call": call}),
    ]
}

fn add_items(samples: &mut SampleSession) {
    for (place, prefix) in [(None, "main"), (Some(("main-5-completed", "child")), "sub")] {
        samples.set_subagent(place);
        for status in ["completed", "failed", "declined", "interrupted", "superseded"] {
            for (number, mut item) in all_items().into_iter().enumerate() {
                let id = format!("{prefix}-{number}-{status}");
                samples.start_item(&id, item.clone());
                for field in ["text", "summary", "output", "input", "diff"] {
                    samples.append_text(&id, field, "more");
                }
                samples.add_item_event(
                    &id,
                    "item.delta",
                    json!({"op": "progress", "elapsed_ms": 1500, "ratio": 0.5, "text": "half"}),
                );
                samples.add_item_event(
                    &id,
                    "item.delta",
                    json!({"op": "set", "patch": with_status(item.clone(), "running")}),
                );
                item["status"] = json!(status);
                samples.end_item(&id, item);
            }
        }
    }
    samples.set_subagent(None);
}

fn add_requests(samples: &mut SampleSession) {
    samples.start_item("asked", json!({"type": "tool", "output": "", "call": {"name": "t", "kind": "other"}}));
    let abouts =
        ["command", "file_change", "tool", "question", "plan", "auth", "permissions", "elicitation", "hook", "other"];
    for about in abouts {
        let data = json!({
            "request": about, "about": about, "title": "May I?", "reason": "because", "command": "ls", "cwd": "/tmp",
            "call": {"name": "t", "kind": "other", "input": {"a": 1}},
            "changes": [{"path": "/repo/a", "kind": "add", "diff": "+a"}],
            "questions": [{"id": "q", "question": "Which?", "choices": [{"label": "this"}], "free_text": true}],
            "options": [{"id": "yes", "label": "Yes", "kind": "allow_once"}], "expires_at": "2026-11-15T10:10:00Z",
        });
        samples.add_item_event("asked", "request.opened", data);
        samples.add_event("request.opened", json!({"request": format!("{about}-bare"), "about": about, "title": "?"}));
    }
    let outcomes = ["allowed", "declined", "cancelled", "answered", "withdrawn", "expired"];
    for (number, about) in abouts.into_iter().enumerate() {
        let outcome = outcomes[number % outcomes.len()];
        let data = json!({"request": about, "outcome": outcome, "by": "client", "option": "yes", "input": {"a": 2},
            "answers": {"q": ["this"]}, "message": "well"});
        samples.add_item_event("asked", "request.resolved", data);
        samples.add_event(
            "request.resolved",
            json!({"request": format!("{about}-bare"), "outcome": outcome, "by": "switchboard"}),
        );
    }
    samples.end_item("asked", json!({"type": "tool", "output": "", "call": {"name": "t", "kind": "other"}}));
}

/// Every notice topic.
pub const NOTICE_TOPICS: [&str; 22] = [
    "status",
    "retry",
    "rate_limit",
    "warning",
    "hook",
    "auth",
    "compaction",
    "control",
    "interrupt",
    "retracted",
    "late",
    "echo",
    "task",
    "tool_summary",
    "model_changed",
    "step",
    "snapshot",
    "commands",
    "stdout",
    "stderr",
    "heartbeat",
    "unknown",
];

fn add_notices(samples: &mut SampleSession) {
    for topic in NOTICE_TOPICS {
        samples.add_event("notice", json!({"topic": topic}));
        samples.add_event("notice", json!({"topic": topic, "level": "error", "text": "told", "name": "named", "status": "started",
            "error": {"code": "rate_limit", "message": "slow down", "http_status": 429, "retryable": true}, "detail": {"a": 1}}));
        samples.add_event("notice", json!({"topic": topic, "text": "told", "status": "completed", "detail": ["x"]}));
    }
}

/// Shown when a snapshot differs.
const REVISION_HINT: &str =
    "if this changed, raise `revision` in the dialect's mod.rs; then `cargo xtask snapshots`, and remove the old";

/// Number of events between saves. It divides no repeating pattern, so states are saved at varying positions.
const EVENTS_PER_PIECE: usize = 17;

/// The messages and states of a dialect for the full sample session.
struct ProjectionOutput {
    messages: Vec<Vec<u8>>,
    /// The states after each piece, with sorted keys.
    states: Vec<Value>,
}

impl ProjectionOutput {
    fn from_dialect(dialect: &Dialect) -> Self {
        let (mut projection, mut out) = ((dialect.projection)(), MessageBuffer::default());
        let events = full_sample_session().events;
        let mut states = Vec::new();
        for piece in events.chunks(EVENTS_PER_PIECE) {
            piece.iter().for_each(|event| projection.project_event(event, &mut out));
            states.push(sort_keys(serde_json::from_slice(&projection.save().unwrap()).unwrap()));
        }
        Self { messages: out.iter().map(<[u8]>::to_vec).collect(), states }
    }

    /// Returns a text that changes with any message or state.
    fn fingerprint(&self) -> String {
        let states: Vec<_> = self.states.iter().map(|state| state.to_string().into_bytes()).collect();
        let largest = self.states.iter().max_by_key(|state| state.to_string().len()).unwrap();
        let largest = first_of_lists(largest);
        format!(
            "{} messages: {}\n{} states: {}\nthe largest: {largest:#}",
            self.messages.len(),
            short_hash(&self.messages),
            states.len(),
            short_hash(&states),
        )
    }
}

/// Sorts the keys of all objects.
fn sort_keys(state: Value) -> Value {
    match state {
        Value::Array(list) => list.into_iter().map(sort_keys).collect(),
        Value::Object(fields) => {
            let sorted: BTreeMap<_, _> = fields.into_iter().map(|(name, value)| (name, sort_keys(value))).collect();
            sorted.into_iter().collect()
        }
        other => other,
    }
}

/// Keeps the first element of every list, for readable snapshots.
fn first_of_lists(state: &Value) -> Value {
    match state {
        Value::Array(list) => list.first().map(first_of_lists).into_iter().collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), first_of_lists(value))).collect(),
        other => other.clone(),
    }
}

fn short_hash(texts: &[Vec<u8>]) -> String {
    Sha256::digest(texts.join(&b'\n')).iter().take(8).fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

#[test]
fn what_changes_has_another_revision() {
    for dialect in DIALECTS.iter().filter(|dialect| !dialect.verbatim) {
        let print = ProjectionOutput::from_dialect(dialect).fingerprint();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(format!("{}/testdata", dialect.name));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_description(REVISION_HINT);
        settings.bind(|| insta::assert_snapshot!(format!("saved_{}", dialect.revision), print));
    }
}

#[test]
fn what_is_not_a_state_is_refused() {
    for dialect in DIALECTS {
        for other in ["", "{}", "[1]", "7", "{\"track\":null}", "{\"track\":{\"items\":{}}}"] {
            assert!((dialect.restore)(other.as_bytes()).is_none(), "{} takes {other}", dialect.name);
        }
    }
}

#[test]
fn numbers_are_read_as_they_were_written() {
    for cost in [31.245270191439438_f64, 121.48791951161945, 0.1 + 0.2] {
        let read: f64 = serde_json::from_str(&cost.to_string()).unwrap();
        assert!(read.to_bits() == cost.to_bits(), "{cost} became {read}");
    }
}

#[test]
fn an_endless_session_is_not_remembered() {
    let session = full_sample_session().events;
    for dialect in DIALECTS {
        let mut projection = (dialect.projection)();
        let mut size_after = |rounds: std::ops::Range<u64>| {
            rounds.for_each(|round| play_session(&mut *projection, &session, round));
            projection.save().unwrap().len()
        };
        // By then, every bounded collection has reached its limit.
        let (early, late) = (size_after(10..80), size_after(80..99));
        assert!(late <= early + 64, "{} grows: {early} bytes, then {late}", dialect.name);
    }
}

/// Plays the session with new item ids and sequence numbers.
fn play_session(projection: &mut dyn Projection, session: &[Event], round: u64) {
    let anew = |id: &Option<Id>| id.as_ref().map(|id| Id::from(format!("{id}-{round}")));
    for event in session {
        let seq = round * session.len() as u64 + event.seq;
        let (item, parent, thread) = (anew(&event.item), anew(&event.parent), anew(&event.thread));
        projection.project_event(&Event { seq, item, parent, thread, ..event.clone() }, &mut MessageBuffer::default());
    }
}
