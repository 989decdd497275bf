//! Tests of the guarantees for clients of the unified message protocol.

mod items;
mod session;

use serde_json::{Value, json};

use crate::{
    message::DIALECT,
    test_sessions::{SampleSession, full_sample_session},
};

/// Returns the types of all messages in order.
fn message_types(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["type"].as_str().unwrap()).collect()
}

/// Returns the messages of one type.
fn messages_of_type<'a>(messages: &'a [Value], kind: &str) -> Vec<&'a Value> {
    messages.iter().filter(|message| message["type"] == kind).collect()
}

/// Returns the messages after the start of the session and of its first turn.
fn after_start(samples: &SampleSession) -> Vec<Value> {
    samples.project_to(&DIALECT).split_off(2)
}

/// Returns the message types, with the status in place of `status_change`.
fn types_and_statuses(messages: &[Value]) -> Vec<String> {
    let told = |message: &Value| match message["type"].as_str().unwrap() {
        "status_change" => message["metadata"]["status"].as_str().unwrap().to_owned(),
        other => other.to_owned(),
    };
    messages.iter().map(told).collect()
}

#[test]
fn everything_is_valid_with_unique_ids_and_a_session() {
    let messages = full_sample_session().project_to(&DIALECT);
    let mut ids: Vec<_> = messages.iter().map(|message| message["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), messages.len());
    assert!(messages.iter().all(|message| message["metadata"]["session_id"] == "s"));
    let mut seen = message_types(&messages);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 16, "all nineteen types but the three of teams: {seen:?}");
}

#[test]
fn the_schema_is_strict() {
    let good = json!({"id": "e", "timestamp": 1, "type": "tool_progress", "role": "tool", "content": [],
        "metadata": {"session_id": "s", "tool_use_id": "t", "tool_name": "n", "status": "running"}});
    let validator = jsonschema::validator_for(&(DIALECT.schema)(&[])).unwrap();
    assert!(validator.is_valid(&good));
    for (pointer, bad) in [
        ("/id", json!("")),
        ("/timestamp", json!("now")),
        ("/type", json!("novelty")),
        ("/type", json!("result")),
        ("/role", json!("system")),
        ("/content", json!([{"type": "video"}])),
        ("/content", json!([{"type": "tool_use", "id": "a", "name": "b", "input": 1}])),
        ("/content", json!([{"type": "image", "source": {"type": "url", "url": "u"}}])),
        ("/metadata", json!({"session_id": "s"})),
        ("/metadata/status", json!("done")),
        ("/metadata/session_id", Value::Null),
        ("/metadata/tool_name", Value::Null),
    ] {
        let mut message = good.clone();
        *message.pointer_mut(pointer).unwrap() = bad.clone();
        assert!(!validator.is_valid(&message), "{pointer} = {bad}");
    }
}
