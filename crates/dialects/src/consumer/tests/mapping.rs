//! The router and the mapper: every type has an answer.

use serde_json::{Value, json};

use super::{
    super::{
        map::map,
        route::{Broadcast, Handling, ROUTES, SPECIFIED, route},
        unified::MessageType,
    },
    State, message, one_of_each, sample, written,
};

/// What consumers get of a message.
fn mapped(kind: &str, metadata: Value, content: Value) -> Value {
    written(&map(&message(kind, metadata, content), &State::default()))
}

/// It has at least this.
fn check(mapped: &Value, expected: &Value) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&mapped[name], value, "{name} in {mapped:#}");
    }
}

#[test]
fn the_tables_have_every_type_once() {
    for table in [SPECIFIED, ROUTES] {
        let kinds: Vec<_> = table.iter().map(|route| route.kind).collect();
        let all: Vec<_> = MessageType::ALL.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, all);
    }
    let handled = |handling| !matches!(handling, Handling::Outbound | Handling::Taxonomy | Handling::Traced);
    assert_eq!(SPECIFIED.iter().filter(|route| handled(route.handling)).count(), 12);
    let mapped = |handling| matches!(handling, Handling::Mapped | Handling::Filtered);
    assert_eq!(SPECIFIED.iter().filter(|route| mapped(route.handling)).count(), 9);
}

#[test]
fn the_mapper_gives_what_the_router_says() {
    for message in one_of_each() {
        let is_mapped = map(&message, &State::default()).is_some();
        match route(message.kind) {
            Handling::Mapped | Handling::Filtered => assert!(is_mapped, "{:?}", message.kind),
            _ => assert!(!is_mapped, "{:?}", message.kind),
        }
    }
    let told = ROUTES.iter().filter(|route| route.broadcast == Broadcast::Yes).map(|route| route.handling);
    assert!(told.into_iter().all(|handling| matches!(handling, Handling::Mapped | Handling::Direct)));
}

#[test]
fn every_type_has_the_shape_that_consumers_know() {
    let state = State { model: "m-1".to_owned(), total_cost_usd: 2.5, ..State::default() };
    for (kind, expected) in [
        (
            MessageType::Assistant,
            json!({"type": "assistant", "parent_tool_use_id": null, "message": {"id": "m", "type": "message",
                "role": "assistant", "model": "m-1", "content": [{"type": "text", "text": "hello"}], "stop_reason": null,
                "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 0, "reasoning_tokens": 0, "total_tokens": 0}, "item_id": "i"}}),
        ),
        (
            MessageType::StreamEvent,
            json!({"type": "stream_event", "parent_tool_use_id": null,
                "event": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "he"}}}),
        ),
        (
            MessageType::PermissionRequest,
            json!({"type": "permission_request", "request": {"request_id": "r", "subtype": "can_use_tool",
                "tool_name": "t", "input": {"a": 1}, "tool_use_id": "", "timestamp": 7}}),
        ),
        (
            MessageType::PermissionResponse,
            json!({"type": "permission_cancelled", "request_id": "r", "behavior": "allow"}),
        ),
        (
            MessageType::ToolProgress,
            json!({"type": "tool_progress", "tool_use_id": "t", "tool_name": "n", "elapsed_time_seconds": 0.0, "status": "running"}),
        ),
        (
            MessageType::ToolUseSummary,
            json!({"type": "tool_use_summary", "summary": "done", "tool_use_ids": ["t"], "tool_use_id": "t",
                "tool_name": "n", "is_error": false, "output": "out"}),
        ),
        (
            MessageType::AuthStatus,
            json!({"type": "auth_status", "isAuthenticating": true, "output": ["log in"],
                "metadata": {"text": "log in", "stage": "started"}}),
        ),
        (
            MessageType::ConfigurationChange,
            json!({"type": "configuration_change", "subtype": "model", "metadata": {"subtype": "model", "model": "m-2"}}),
        ),
        (
            MessageType::SessionLifecycle,
            json!({"type": "session_lifecycle", "subtype": "session_compacted", "metadata": {"subtype": "session_compacted"}}),
        ),
        (MessageType::UserMessage, json!({"type": "user_message", "content": "do it", "item_id": "u"})),
    ] {
        assert_eq!(written(&map(&sample(kind), &state).unwrap()), expected, "{kind:?}");
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
        check(&mapped("result", metadata, json!([]))["data"], &expected);
    }
}

#[test]
fn what_is_no_question_about_a_tool_has_a_type_of_its_own() {
    for subtype in ["auth", "permissions", "elicitation", "hook", "other"] {
        let told = mapped("permission_request", json!({"subtype": subtype, "request_id": "r"}), json!([]));
        assert_eq!((&told["type"], &told["request"]["subtype"]), (&json!("agent_request"), &json!(subtype)));
    }
}

#[test]
fn names_that_others_have_are_understood() {
    let progress = mapped("tool_progress", json!({"part_id": "p", "tool": "bash"}), json!([]));
    check(&progress, &json!({"tool_use_id": "p", "tool_name": "bash"}));
    check(&mapped("tool_progress", json!({}), json!([])), &json!({"tool_use_id": "unknown", "tool_name": "tool"}));
    let event = json!({"type": "message_start"});
    check(&mapped("stream_event", json!({"event": event}), json!([])), &json!({"event": event}));
    let several = mapped("tool_use_summary", json!({"tool_use_ids": ["a", "b"]}), json!("read two files"));
    check(&several, &json!({"summary": "read two files", "tool_use_ids": ["a", "b"]}));
}

#[test]
fn what_the_process_printed_is_passed_on() {
    for (subtype, expected) in
        [("stderr", json!({"stream": "stderr", "data": "oh"})), ("stdout", json!({"stream": "stdout"}))]
    {
        check(&mapped("unknown", json!({"subtype": subtype, "text": "oh"}), json!([])), &expected);
    }
    assert_eq!(mapped("unknown", json!({"subtype": "snapshot", "text": "oh"}), json!([])), Value::Null);
}
