//! Sessions, turns, requests and notices.

use serde_json::{Value, json};

use super::{after_start, message_types, messages_of_type, types_and_statuses};
use crate::{
    message::DIALECT,
    test_sessions::{NOTICE_TOPICS, SampleSession},
};

#[test]
fn the_status_follows_turns_and_requests() {
    let mut samples = SampleSession::in_turn();
    samples.start_item(
        "t",
        json!({"type": "tool", "output": "", "call": {"name": "t", "kind": "other", "input": {"a": 1}}}),
    );
    samples.add_item_event("t", "request.opened", json!({"request": "r1", "about": "tool", "title": "May I?"}));
    samples.add_event("request.opened", json!({"request": "r2", "about": "question", "title": "Which?"}));
    samples.add_item_event("t", "request.resolved", json!({"request": "r1", "outcome": "allowed", "by": "client"}));
    samples.add_event("session.updated", json!({"info": {"status": "requires_action"}}));
    samples.add_event("request.resolved", json!({"request": "r2", "outcome": "expired", "by": "timeout"}));
    samples.add_event("session.updated", json!({"info": {"status": "idle"}}));
    samples.end_turn(json!({"status": "completed", "stop": "end_turn"}));
    samples.add_event("session.ended", json!({"reason": "completed", "duration_ms": 1, "by": "agent"}));
    let messages = after_start(&samples);
    assert_eq!(
        types_and_statuses(&messages),
        [
            "tool_progress",
            "permission_request",
            "requires_action",
            "permission_request",
            "permission_response",
            "permission_response",
            "running",
            "idle",
            "result",
            "session_lifecycle"
        ]
    );
    let (asked, answered) =
        (messages_of_type(&messages, "permission_request"), messages_of_type(&messages, "permission_response"));
    let ask = &asked[0]["metadata"];
    assert_eq!(
        [&ask["subtype"], &ask["request_id"], &ask["tool_name"], &ask["tool_use_id"], &ask["input"]],
        [&json!("can_use_tool"), &json!("r1"), &json!("t"), &json!("t"), &json!({"a": 1})]
    );
    assert_eq!(asked[0]["parentId"], messages[0]["id"]);
    assert_eq!(asked[1]["metadata"]["about"], "question");
    assert_eq!(
        [&answered[0]["metadata"]["behavior"], &answered[1]["metadata"]["behavior"]],
        [&json!("allow"), &json!("deny")]
    );
    assert_eq!(answered[0]["role"], "user");
}

#[test]
fn a_tool_that_waits_for_an_answer_is_pending() {
    let mut samples = SampleSession::in_turn();
    samples.add_item_event(
        "t",
        "request.opened",
        json!({"request": "r", "about": "command", "title": "", "command": "ls"}),
    );
    samples.start_item("t", json!({"type": "command", "command": "ls", "output": ""}));
    let messages = samples.project_to(&DIALECT);
    assert_eq!(messages_of_type(&messages, "permission_request")[0]["metadata"]["input"], json!({"command": "ls"}));
    assert_eq!(messages_of_type(&messages, "tool_progress")[0]["metadata"]["status"], "pending");
}

#[test]
fn a_result_has_one_shape() {
    let mut samples = SampleSession::in_turn();
    samples.add_event(
        "usage",
        json!({"input": 10, "output": 5, "cache_read": 3, "cache_write_5m": 2, "reasoning": 1, "cost_usd": 0.25}),
    );
    samples.add_event("usage", json!({"input": 10, "output": 5, "cost_usd": 0.25}));
    samples.add_event("usage", json!({"input": 999, "output": 999, "cumulative": true}));
    samples.end_turn(json!({"status": "completed", "stop": "end_turn", "steps": 2}));
    let messages = samples.project_to(&DIALECT);
    let metadata = &messages_of_type(&messages, "result")[0]["metadata"];
    assert_eq!(
        metadata,
        &json!({"session_id": "s", "turn": 1, "status": "completed", "stop_reason": "end_turn", "is_error": false,
            "model": "m-1", "cost_usd": 0.5, "duration_ms": 4000, "num_turns": 2,
            "usage": {"input_tokens": 20, "output_tokens": 10, "cache_read_tokens": 3, "cache_write_tokens": 2,
                "reasoning_tokens": 1, "total_tokens": 35, "cost_usd": 0.5}})
    );
}

#[test]
fn failed_and_interrupted_turns_differ() {
    let mut samples = SampleSession::in_turn();
    samples.add_event("notice", json!({"topic": "warning", "error": {"code": "api_error", "message": "first"}}));
    samples.end_turn(
        json!({"status": "failed", "stop": "error", "error": {"code": "provider_auth", "message": "no key"}}),
    );
    samples.start_turn("again");
    samples.end_turn(json!({"status": "interrupted", "stop": "cancelled"}));
    let messages = after_start(&samples);
    assert_eq!(
        types_and_statuses(&messages),
        ["running", "auth_status", "result", "idle", "running", "result", "idle"]
    );
    let metadata: Vec<_> = messages_of_type(&messages, "result").iter().map(|message| &message["metadata"]).collect();
    assert_eq!(
        [&metadata[0]["is_error"], &metadata[0]["error"], &metadata[0]["error_code"], &metadata[0]["errors"]],
        [&json!(true), &json!("no key"), &json!("provider_auth"), &json!(["first", "no key"])]
    );
    assert_eq!(
        [&metadata[1]["is_error"], &metadata[1]["status"], &metadata[1]["error_code"], &metadata[1]["errors"]],
        [&json!(false), &json!("interrupted"), &json!("aborted"), &Value::Null]
    );
}

#[test]
fn what_a_session_says_about_itself_has_a_type() {
    let mut samples = SampleSession::new_started();
    for info in [
        json!({"mode": "plan"}),
        json!({"commands": [{"name": "c"}]}),
        json!({"model": "m-2", "title": "t"}),
        json!({"status": "compacting"}),
        json!({"context": {"used": 1, "size": 2}}),
    ] {
        samples.add_event("session.updated", json!({"info": info}));
    }
    samples.add_event("notice", json!({"topic": "compaction", "status": "completed"}));
    let messages = samples.project_to(&DIALECT).split_off(1);
    assert_eq!(
        types_and_statuses(&messages),
        [
            "configuration_change",
            "configuration_change",
            "configuration_change",
            "compacting",
            "compacting",
            "session_lifecycle",
            "idle"
        ]
    );
    let subtypes: Vec<_> = messages.iter().map(|message| message["metadata"]["subtype"].clone()).collect();
    let expected = ["mode", "commands", "several", "", "context", "session_compacted", "compaction"];
    assert_eq!(subtypes, expected.map(|name| if name.is_empty() { Value::Null } else { json!(name) }));
    assert_eq!(
        (&messages[3]["metadata"]["is_compacting"], &messages[6]["metadata"]["is_compacting"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn every_topic_has_its_type() {
    let expected = [
        "status_change",
        "status_change",
        "status_change",
        "status_change",
        "status_change",
        "auth_status",
        "session_lifecycle",
        "",
        "interrupt",
        "session_lifecycle",
        "unknown",
        "",
        "status_change",
        "tool_use_summary",
        "configuration_change",
        "status_change",
        "unknown",
        "configuration_change",
        "unknown",
        "unknown",
        "",
        "unknown",
    ];
    for (topic, kind) in NOTICE_TOPICS.into_iter().zip(expected) {
        let mut samples = SampleSession::in_turn();
        samples.add_event("notice", json!({"topic": topic, "text": "told", "name": "named"}));
        let messages = after_start(&samples);
        assert_eq!(message_types(&messages), if kind.is_empty() { vec![] } else { vec![kind] }, "{topic}");
    }
}

#[test]
fn only_answers_of_the_agent_are_control_responses() {
    let mut samples = SampleSession::in_turn();
    samples.add_event("notice", json!({"topic": "control", "name": "initialize"}));
    samples.add_event("notice", json!({"topic": "control", "name": "initialize", "status": "answered"}));
    assert_eq!(message_types(&after_start(&samples)), ["control_response"]);
}

#[test]
fn an_agent_that_goes_on_no_longer_retries() {
    let mut samples = SampleSession::in_turn();
    samples.add_event("notice", json!({"topic": "retry", "error": {"code": "rate_limit", "message": "slow down"}}));
    samples.start_item("m", json!({"type": "agent_message", "text": "here"}));
    let messages = after_start(&samples);
    assert_eq!(types_and_statuses(&messages), ["retrying", "running", "stream_event"]);
    assert_eq!(
        (&messages[0]["metadata"]["error_code"], &messages[0]["metadata"]["is_error"]),
        (&json!("rate_limit"), &json!(true))
    );
}

#[test]
fn the_end_of_a_run_says_why() {
    let mut samples = SampleSession::new_started();
    samples.add_event(
        "session.ended",
        json!({"reason": "failed", "duration_ms": 1, "by": "agent", "exit_code": 1,
        "error": {"code": "api_error", "message": "broken"}}),
    );
    samples.start_run();
    let messages = samples.project_to(&DIALECT);
    assert_eq!(message_types(&messages), ["session_init", "session_lifecycle", "session_init"]);
    assert_eq!(
        messages[1]["metadata"],
        json!({"session_id": "s", "subtype": "session_ended", "reason": "failed", "exit_code": 1, "duration_ms": 1,
            "is_error": true, "error": "broken", "error_code": "api_error"})
    );
    assert_eq!(
        (&messages[2]["metadata"]["run"], &messages[2]["metadata"]["agent_session"]),
        (&json!(2), &json!("own-1"))
    );
}
