//! Tests of reading, reducing, routing and mapping, separately and combined.

mod reducing;

use serde_json::{Value, json};

use super::ConsumerState;
use super::map::map_message;
use super::reduce::StateReducer;
use super::route::{BroadcastRule, MessageHandling, ROUTES, SPECIFIED_ROUTES, find_handling};
use super::unified::{CONTENT_TYPES, UnifiedMessage, UnifiedMessageType, VerbatimFields};

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

/// Maps a message with the default state.
fn map_sample(kind: &str, metadata: Value, content: Value) -> Value {
    to_json_value(&map_message(&parse_message(kind, metadata, content), &ConsumerState::default()))
}

/// Checks that the message has at least the expected fields.
fn assert_fields(mapped: &Value, expected: &Value) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&mapped[name], value, "{name} in {mapped:#}");
    }
}

#[test]
fn the_tables_have_every_type_once() {
    for table in [SPECIFIED_ROUTES, ROUTES] {
        let kinds: Vec<_> = table.iter().map(|route| route.kind).collect();
        let all: Vec<_> = UnifiedMessageType::ALL.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, all);
    }
    let handled =
        |handling| !matches!(handling, MessageHandling::Outbound | MessageHandling::Taxonomy | MessageHandling::Traced);
    assert_eq!(SPECIFIED_ROUTES.iter().filter(|route| handled(route.handling)).count(), 12);
    let mapped = |handling| matches!(handling, MessageHandling::Mapped | MessageHandling::Filtered);
    assert_eq!(SPECIFIED_ROUTES.iter().filter(|route| mapped(route.handling)).count(), 9);
}

#[test]
fn the_mapper_gives_what_the_router_says() {
    for message in sample_messages() {
        let is_mapped = map_message(&message, &ConsumerState::default()).is_some();
        match find_handling(message.kind) {
            MessageHandling::Mapped | MessageHandling::Filtered => assert!(is_mapped, "{:?}", message.kind),
            _ => assert!(!is_mapped, "{:?}", message.kind),
        }
    }
    let told = ROUTES.iter().filter(|route| route.broadcast == BroadcastRule::Yes).map(|route| route.handling);
    assert!(told.into_iter().all(|handling| matches!(handling, MessageHandling::Mapped | MessageHandling::Direct)));
}

#[test]
fn every_type_has_the_shape_that_consumers_know() {
    let state = ConsumerState { model: "m-1".to_owned(), total_cost_usd: 2.5, ..ConsumerState::default() };
    for (kind, expected) in [
        (
            UnifiedMessageType::Assistant,
            json!({"type": "assistant", "parent_tool_use_id": null, "message": {"id": "m", "type": "message",
                "role": "assistant", "model": "m-1", "content": [{"type": "text", "text": "hello"}], "stop_reason": null,
                "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 0, "reasoning_tokens": 0, "total_tokens": 0}, "item_id": "i"}}),
        ),
        (
            UnifiedMessageType::StreamEvent,
            json!({"type": "stream_event", "parent_tool_use_id": null,
                "event": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "he"}}}),
        ),
        (
            UnifiedMessageType::PermissionRequest,
            json!({"type": "permission_request", "request": {"request_id": "r", "subtype": "can_use_tool",
                "tool_name": "t", "input": {"a": 1}, "tool_use_id": "", "timestamp": 7}}),
        ),
        (
            UnifiedMessageType::PermissionResponse,
            json!({"type": "permission_cancelled", "request_id": "r", "behavior": "allow"}),
        ),
        (
            UnifiedMessageType::ToolProgress,
            json!({"type": "tool_progress", "tool_use_id": "t", "tool_name": "n", "elapsed_time_seconds": 0.0, "status": "running"}),
        ),
        (
            UnifiedMessageType::ToolUseSummary,
            json!({"type": "tool_use_summary", "summary": "done", "tool_use_ids": ["t"], "tool_use_id": "t",
                "tool_name": "n", "is_error": false, "output": "out"}),
        ),
        (
            UnifiedMessageType::AuthStatus,
            json!({"type": "auth_status", "isAuthenticating": true, "output": ["log in"],
                "metadata": {"text": "log in", "stage": "started"}}),
        ),
        (
            UnifiedMessageType::ConfigurationChange,
            json!({"type": "configuration_change", "subtype": "model", "metadata": {"subtype": "model", "model": "m-2"}}),
        ),
        (
            UnifiedMessageType::SessionLifecycle,
            json!({"type": "session_lifecycle", "subtype": "session_compacted", "metadata": {"subtype": "session_compacted"}}),
        ),
        (UnifiedMessageType::UserMessage, json!({"type": "user_message", "content": "do it", "item_id": "u"})),
    ] {
        assert_eq!(to_json_value(&map_message(&sample_of_type(kind), &state).unwrap()), expected, "{kind:?}");
    }
}

#[test]
fn ends_of_turns_have_the_protocols_words() {
    for (metadata, expected) in [
        (json!({"status": "completed", "is_error": false}), json!({"subtype": "success", "is_error": false})),
        (json!({"is_error": true, "error_code": "max_turns"}), json!({"subtype": "error_max_turns"})),
        (json!({"is_error": true, "error_code": "max_budget"}), json!({"subtype": "error_max_budget_usd"})),
        (
            json!({"is_error": true, "error_code": "rate_limit", "error": "slow"}),
            json!({"subtype": "error_during_execution", "error_code": "rate_limit", "error_message": "slow"}),
        ),
        (
            json!({"is_error": false, "error_code": "aborted", "status": "interrupted"}),
            json!({"subtype": "error_during_execution", "is_error": false, "status": "interrupted"}),
        ),
        (json!({}), json!({"subtype": "success", "stop_reason": null, "duration_ms": 0, "num_turns": 0})),
    ] {
        assert_fields(&map_sample("result", metadata, json!([]))["data"], &expected);
    }
}

#[test]
fn what_is_no_question_about_a_tool_has_a_type_of_its_own() {
    for subtype in ["auth", "permissions", "elicitation", "hook", "other"] {
        let told = map_sample("permission_request", json!({"subtype": subtype, "request_id": "r"}), json!([]));
        assert_eq!((&told["type"], &told["request"]["subtype"]), (&json!("agent_request"), &json!(subtype)));
    }
}

#[test]
fn names_that_others_have_are_understood() {
    let progress = map_sample("tool_progress", json!({"part_id": "p", "tool": "bash"}), json!([]));
    assert_fields(&progress, &json!({"tool_use_id": "p", "tool_name": "bash"}));
    assert_fields(
        &map_sample("tool_progress", json!({}), json!([])),
        &json!({"tool_use_id": "unknown", "tool_name": "tool"}),
    );
    let event = json!({"type": "message_start"});
    assert_fields(&map_sample("stream_event", json!({"event": event}), json!([])), &json!({"event": event}));
    let several = map_sample("tool_use_summary", json!({"tool_use_ids": ["a", "b"]}), json!("read two files"));
    assert_fields(&several, &json!({"summary": "read two files", "tool_use_ids": ["a", "b"]}));
}

#[test]
fn what_the_process_printed_is_passed_on() {
    for (subtype, expected) in
        [("stderr", json!({"stream": "stderr", "data": "oh"})), ("stdout", json!({"stream": "stdout"}))]
    {
        assert_fields(&map_sample("unknown", json!({"subtype": subtype, "text": "oh"}), json!([])), &expected);
    }
    assert_eq!(map_sample("unknown", json!({"subtype": "snapshot", "text": "oh"}), json!([])), Value::Null);
}

/// Checks how consumers receive a piece of content.
fn assert_content(content: Value, expected: Value) {
    let message = parse_message("assistant", json!({}), Value::Array(vec![content]));
    let mapped = to_json_value(&map_message(&message, &ConsumerState::default()).unwrap());
    assert_eq!(mapped["message"]["content"], Value::Array(vec![expected]));
}

#[test]
fn every_type_of_content_is_passed_on() {
    let pieces = [
        json!({"type": "text", "text": "hello"}),
        json!({"type": "tool_use", "id": "t", "name": "n", "input": {"a": [1]}}),
        json!({"type": "tool_result", "tool_use_id": "t", "content": "out", "is_error": true}),
        json!({"type": "thinking", "thinking": "hm", "budget_tokens": 7}),
        json!({"type": "refusal", "refusal": "no"}),
        json!({"type": "code", "language": "rust", "code": "fn"}),
        json!({"type": "image", "media_type": "image/png", "data": "AAAA"}),
    ];
    let types: Vec<_> = pieces.iter().map(|piece| piece["type"].as_str().unwrap()).collect();
    assert_eq!(types, CONTENT_TYPES);
    pieces.into_iter().for_each(|piece| assert_content(piece.clone(), piece));
}

#[test]
fn content_in_other_shapes_is_understood() {
    assert_content(
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AA"}}),
        json!({"type": "image", "media_type": "image/gif", "data": "AA"}),
    );
    assert_content(
        json!({"type": "tool_use", "id": "t", "name": "n", "input": 7}),
        json!({"type": "tool_use", "id": "t", "name": "n", "input": {}}),
    );
    assert_content(
        json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a"}, {"type": "video"}]}),
        json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": ""}]}),
    );
    assert_content(
        json!({"type": "tool_result", "tool_use_id": "t", "content": {"a": 1}}),
        json!({"type": "tool_result", "tool_use_id": "t", "content": "{\"a\":1}"}),
    );
    assert_content(
        json!({"type": "tool_result", "tool_use_id": "t"}),
        json!({"type": "tool_result", "tool_use_id": "t", "content": ""}),
    );
    assert_content(json!("bare"), json!({"type": "text", "text": "bare"}));
}

#[test]
fn unknown_content_is_an_empty_text_and_told_apart() {
    for (content, kind) in [
        (json!({"type": "video", "url": "u"}), "video"),
        (json!({"no": "type"}), "unknown"),
        (json!(7), "unknown"),
        (json!({"type": "image", "source": {"type": "url", "url": "u"}}), "image"),
    ] {
        let message = parse_message("assistant", json!({"dropped_content_block_types": ["audio"]}), json!([content]));
        let mapped = to_json_value(&map_message(&message, &ConsumerState::default()).unwrap())["message"].clone();
        assert_eq!(mapped["content"], json!([{"type": "text", "text": ""}]));
        assert_eq!(mapped["dropped_content_block_types"], json!(["audio", kind]));
        assert_eq!(mapped["dropped_content_blocks"], json!([content]));
    }
}
