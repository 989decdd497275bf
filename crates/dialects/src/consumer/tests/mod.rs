//! What consumers rely on, piece by piece: reading, reducing, routing, mapping, and all of it together.

mod content;
mod mapping;
mod reducing;
mod session;
mod teams;

use serde_json::{Value, json};

use super::{
    State,
    reduce::Reduced,
    unified::{Fields, MessageType, Unified},
};

/// A message as anybody may write one.
fn message(kind: &str, metadata: Value, content: Value) -> Unified {
    let mut json = json!({"id": "m", "timestamp": 7, "type": kind, "role": "system"});
    (json["content"], json["metadata"]) = (content, metadata);
    Unified::read(json.to_string().as_bytes()).unwrap()
}

/// The state after some messages.
fn reduced(messages: &[Unified]) -> State {
    messages.iter().fold(Reduced::default(), Reduced::next).state
}

/// What a state is written as.
fn written(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// One message of each type, with what it usually has.
fn one_of_each() -> Vec<Unified> {
    MessageType::ALL.iter().map(|(kind, _)| sample(*kind)).collect()
}

/// A message of a type, with what it usually has.
fn sample(kind: MessageType) -> Unified {
    let (metadata, content) = match kind {
        MessageType::SessionInit => (json!({"session_id": "s", "agent": "some", "run": 1, "model": "m-1"}), json!([])),
        MessageType::StatusChange => (json!({"status": "running"}), json!([])),
        MessageType::Assistant => (json!({"item_id": "i"}), json!([{"type": "text", "text": "hello"}])),
        MessageType::Result => (json!({"status": "completed", "is_error": false, "cost_usd": 0.5}), json!([])),
        MessageType::StreamEvent => (json!({"event_type": "text_delta"}), json!([{"type": "text", "text": "he"}])),
        MessageType::PermissionRequest => {
            (json!({"subtype": "can_use_tool", "request_id": "r", "tool_name": "t", "input": {"a": 1}}), json!([]))
        }
        MessageType::ToolProgress => (json!({"tool_use_id": "t", "tool_name": "n", "status": "running"}), json!([])),
        MessageType::ToolUseSummary => (
            json!({"tool_use_id": "t", "tool_name": "n", "tool_use_ids": ["t"], "summary": "done", "is_error": false}),
            json!([{"type": "tool_result", "tool_use_id": "t", "content": "out"}]),
        ),
        MessageType::AuthStatus => (json!({"text": "log in", "stage": "started"}), json!([])),
        MessageType::ConfigurationChange => (json!({"subtype": "model", "model": "m-2"}), json!([])),
        MessageType::SessionLifecycle => (json!({"subtype": "session_compacted"}), json!([])),
        MessageType::UserMessage => (json!({"item_id": "u"}), json!([{"type": "text", "text": "do it"}])),
        MessageType::PermissionResponse => (json!({"request_id": "r", "behavior": "allow"}), json!([])),
        MessageType::ControlResponse => (json!({"commands": [{"name": "c"}]}), json!([])),
        MessageType::Interrupt
        | MessageType::TeamMessage
        | MessageType::TeamTaskUpdate
        | MessageType::TeamStateChange
        | MessageType::Unknown => (json!({"subtype": "late", "text": "told"}), json!([])),
    };
    message(kind.name(), metadata, content)
}

#[test]
fn what_is_foreign_is_read_as_far_as_it_can_be() {
    for (json, kind, text) in [
        (r#"{}"#, "unknown", ""),
        (r#"{"type":"novelty","content":7,"metadata":[]}"#, "unknown", ""),
        (r#"{"type":"assistant","content":"bare"}"#, "assistant", "bare"),
        (r#"{"type":"assistant","content":["a",{"type":"text","text":"b"}],"timestamp":"x"}"#, "assistant", "a\nb"),
        (r#"{"type":7,"id":7,"metadata":{"n":1e999}}"#, "unknown", ""),
    ] {
        let read = Unified::read(json.as_bytes()).unwrap();
        assert_eq!((read.kind.name(), read.text().as_str()), (kind, text), "{json}");
    }
    assert!(Unified::read(b"[]").is_none() && Unified::read(b"{nope").is_none() && Unified::read(b"").is_none());
}

#[test]
fn fields_of_another_type_are_not_there() {
    let fields: Fields = serde_json::from_str(r#"{"text":7,"flag":"yes","list":[1,"a",null],"n":"7"}"#).unwrap();
    assert_eq!((fields.text("text"), fields.is_true("flag"), fields.read::<u64>("n")), (None, false, None));
    assert_eq!(fields.list::<String>("list"), ["a"]);
    assert_eq!(fields.first_text(&["none", "n"]), Some("7".to_owned()));
}
