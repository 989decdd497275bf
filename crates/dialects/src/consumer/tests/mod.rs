//! Tests of reading, reducing, routing and mapping, separately and combined.

mod mapping;
mod reducing;

use serde_json::{Value, json};

use crate::consumer::{
    ConsumerState,
    reduce::StateReducer,
    unified::{UnifiedMessage, UnifiedMessageType, VerbatimFields},
};

/// Parses a message with the given type, metadata and content.
fn parse_message(kind: &str, metadata: Value, content: Value) -> UnifiedMessage {
    let mut json = json!({"id": "m", "timestamp": 7, "type": kind, "role": "system"});
    (json["content"], json["metadata"]) = (content, metadata);
    UnifiedMessage::read(json.to_string().as_bytes()).unwrap()
}

/// Returns the state after the messages.
fn reduce_messages(messages: &[UnifiedMessage]) -> ConsumerState {
    messages.iter().fold(StateReducer::default(), StateReducer::with_message).state
}

fn to_json_value(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// Returns a typical message of each type.
fn sample_messages() -> Vec<UnifiedMessage> {
    UnifiedMessageType::ALL.iter().map(|(kind, _)| sample_of_type(*kind)).collect()
}

/// Returns a typical message of a type.
fn sample_of_type(kind: UnifiedMessageType) -> UnifiedMessage {
    let (metadata, content) = match kind {
        UnifiedMessageType::SessionInit => {
            (json!({"session_id": "s", "agent": "some", "run": 1, "model": "m-1"}), json!([]))
        }
        UnifiedMessageType::StatusChange => (json!({"status": "running"}), json!([])),
        UnifiedMessageType::Assistant => (json!({"item_id": "i"}), json!([{"type": "text", "text": "hello"}])),
        UnifiedMessageType::Result => (json!({"status": "completed", "is_error": false, "cost_usd": 0.5}), json!([])),
        UnifiedMessageType::StreamEvent => {
            (json!({"event_type": "text_delta"}), json!([{"type": "text", "text": "he"}]))
        }
        UnifiedMessageType::PermissionRequest => {
            (json!({"subtype": "can_use_tool", "request_id": "r", "tool_name": "t", "input": {"a": 1}}), json!([]))
        }
        UnifiedMessageType::ToolProgress => {
            (json!({"tool_use_id": "t", "tool_name": "n", "status": "running"}), json!([]))
        }
        UnifiedMessageType::ToolUseSummary => (
            json!({"tool_use_id": "t", "tool_name": "n", "tool_use_ids": ["t"], "summary": "done", "is_error": false}),
            json!([{"type": "tool_result", "tool_use_id": "t", "content": "out"}]),
        ),
        UnifiedMessageType::AuthStatus => (json!({"text": "log in", "stage": "started"}), json!([])),
        UnifiedMessageType::ConfigurationChange => (json!({"subtype": "model", "model": "m-2"}), json!([])),
        UnifiedMessageType::SessionLifecycle => (json!({"subtype": "session_compacted"}), json!([])),
        UnifiedMessageType::UserMessage => (json!({"item_id": "u"}), json!([{"type": "text", "text": "do it"}])),
        UnifiedMessageType::PermissionResponse => (json!({"request_id": "r", "behavior": "allow"}), json!([])),
        UnifiedMessageType::ControlResponse => (json!({"commands": [{"name": "c"}]}), json!([])),
        UnifiedMessageType::Interrupt
        | UnifiedMessageType::TeamMessage
        | UnifiedMessageType::TeamTaskUpdate
        | UnifiedMessageType::TeamStateChange
        | UnifiedMessageType::Unknown => (json!({"subtype": "late", "text": "told"}), json!([])),
    };
    parse_message(kind.type_name(), metadata, content)
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
        let read = UnifiedMessage::read(json.as_bytes()).unwrap();
        assert_eq!((read.kind.type_name(), read.joined_text().as_str()), (kind, text), "{json}");
    }
    assert!(
        UnifiedMessage::read(b"[]").is_none()
            && UnifiedMessage::read(b"{nope").is_none()
            && UnifiedMessage::read(b"").is_none()
    );
}

#[test]
fn fields_of_another_type_are_not_there() {
    let fields: VerbatimFields =
        serde_json::from_str(r#"{"text":7,"flag":"yes","list":[1,"a",null],"n":"7"}"#).unwrap();
    assert_eq!((fields.get_text("text"), fields.is_true("flag"), fields.read::<u64>("n")), (None, false, None));
    assert_eq!(fields.get_list::<String>("list"), ["a"]);
    assert_eq!(fields.first_text(&["none", "n"]), Some("7".to_owned()));
}
