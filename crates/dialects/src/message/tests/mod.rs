//! Tests of the guarantees for clients of the unified message protocol.

mod session;

use serde_json::{Value, json};

use super::DIALECT;
use crate::test_sessions::{SampleSession, full_sample_session};

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
fn messages_have_unique_ids_and_the_session_id() {
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
fn the_schema_rejects_invalid_messages() {
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

#[test]
fn every_tool_call_has_one_start_and_one_result() {
    let messages = full_sample_session().project_to(&DIALECT);
    // Only the first message of a tool has an input and no parent.
    let begins = |m: &&Value| m["type"] == "tool_progress" && m["metadata"].get("input").is_some();
    let progress = messages.iter().filter(begins).map(|m| &m["metadata"]["tool_use_id"]);
    let blocks: Vec<_> = messages.iter().flat_map(|m| m["content"].as_array().unwrap()).collect();
    let called = blocks.iter().filter(|block| block["type"] == "tool_use").map(|block| &block["id"]);
    let ended = blocks.iter().filter(|block| block["type"] == "tool_result").map(|block| &block["tool_use_id"]);
    let sorted = |ids: Vec<&Value>| {
        let mut ids: Vec<String> = ids.into_iter().map(Value::to_string).collect();
        ids.sort();
        ids
    };
    assert_eq!(sorted(progress.chain(called).collect()), sorted(ended.collect()));
}

#[test]
fn streamed_text_is_followed_by_the_complete_message() {
    let mut samples = SampleSession::in_turn();
    samples.start_item("m", json!({"type": "agent_message", "text": ""}));
    samples.append_text("m", "text", "hel");
    samples.append_text("m", "text", "lo");
    samples.end_item("m", json!({"type": "agent_message", "text": "hello", "reply": "r"}));
    let messages = samples.project_to(&DIALECT);
    assert_eq!(types_and_statuses(&messages), ["session_init", "running", "stream_event", "stream_event", "assistant"]);
    assert_eq!(
        messages[2],
        json!({"id": format!("{}", messages[2]["id"].as_str().unwrap()), "timestamp": 1_794_736_804_500_u64,
            "type": "stream_event", "role": "assistant", "content": [{"type": "text", "text": "hel"}],
            "metadata": {"session_id": "s", "turn": 1, "item_id": "m", "event_type": "text_delta"}})
    );
    assert_eq!(messages[4]["content"], json!([{"type": "text", "text": "hello"}]));
    assert_eq!(
        messages[4]["metadata"],
        json!({"session_id": "s", "turn": 1, "item_id": "m", "message_id": "r", "model": "m-1", "status": "completed"})
    );
}

#[test]
fn only_the_first_reasoning_field_is_streamed() {
    let mut samples = SampleSession::in_turn();
    samples.start_item("r", json!({"type": "reasoning"}));
    samples.append_text("r", "summary", "short");
    samples.append_text("r", "text", "long");
    samples.end_item("r", json!({"type": "reasoning", "text": "long", "summary": "short"}));
    let messages = after_start(&samples);
    assert_eq!(message_types(&messages), ["stream_event", "assistant"]);
    assert_eq!(messages[0]["content"], json!([{"type": "thinking", "thinking": "short"}]));
    assert_eq!(messages[1]["content"], json!([{"type": "thinking", "thinking": "long"}]));
    assert_eq!(messages[1]["metadata"]["summary"], "short");
}

#[test]
fn block_calls_start_as_assistant_messages_and_others_as_tool_progress() {
    for (is_block, first) in [(true, "assistant"), (false, "tool_progress")] {
        let call = json!({"name": "sh", "kind": "execute", "input": {"cmd": "ls"}, "is_block": is_block});
        let mut samples = SampleSession::in_turn();
        samples.start_item("c", json!({"type": "command", "command": "ls", "output": "", "call": call}));
        samples.end_item("c", json!({"type": "command", "command": "ls", "output": "", "call": call}));
        let messages = after_start(&samples);
        assert_eq!(message_types(&messages), [first, "tool_use_summary"]);
        assert_eq!(messages[1]["parentId"], messages[0]["id"]);
    }
}

#[test]
fn tool_call_start_progress_and_result() {
    let call = json!({"name": "sh", "kind": "execute", "input": {"cmd": "ls"}, "team": "message", "is_block": true});
    let mut samples = SampleSession::in_turn();
    samples.start_item("c", json!({"type": "command", "command": "ls", "output": "", "call": call}));
    samples.append_text("c", "output", "a\n");
    samples.add_item_event("c", "item.delta", json!({"op": "progress", "elapsed_ms": 1500}));
    samples.end_item("c", json!({"type": "command", "command": "ls", "output": "a\n", "exit_code": 2, "call": call}));
    let messages = after_start(&samples);
    assert_eq!(message_types(&messages), ["assistant", "tool_progress", "tool_progress", "tool_use_summary"]);
    assert_eq!(messages[0]["content"], json!([{"type": "tool_use", "id": "c", "name": "sh", "input": {"cmd": "ls"}}]));
    assert!(messages.iter().all(|message| message["metadata"]["team_type"] == "team_message"));
    assert!(
        messages.iter().skip(1).all(|message| message["parentId"] == messages[0]["id"] && message["role"] == "tool")
    );
    assert_eq!(messages[1]["metadata"]["status"], "running");
    assert_eq!(messages[1]["metadata"]["output_delta"], "a\n");
    assert_eq!(messages[2]["metadata"]["elapsed_time_seconds"], 1.5);
    assert_eq!(
        messages[3]["content"],
        json!([{"type": "tool_result", "tool_use_id": "c", "content": "a\n", "is_error": true}])
    );
    let metadata = &messages[3]["metadata"];
    assert_eq!(
        [
            &metadata["status"],
            &metadata["is_error"],
            &metadata["error"],
            &metadata["error_code"],
            &metadata["exit_code"]
        ],
        [&json!("completed"), &json!(true), &json!("exit code 2"), &json!("execution_error"), &json!(2)]
    );
}

#[test]
fn the_result_of_a_tool_that_did_not_run_is_its_status() {
    for (status, code) in [("failed", "execution_error"), ("declined", "execution_error"), ("interrupted", "aborted")] {
        let mut samples = SampleSession::in_turn();
        samples.start_item("t", json!({"type": "tool", "output": "", "call": {"name": "t", "kind": "other"}}));
        samples.end_item(
            "t",
            json!({"type": "tool", "output": "", "status": status, "call": {"name": "t", "kind": "other"}}),
        );
        let messages = samples.project_to(&DIALECT);
        let end = messages_of_type(&messages, "tool_use_summary")[0];
        assert_eq!((&end["metadata"]["status"], &end["metadata"]["error_code"]), (&json!(status), &json!(code)));
        assert_eq!(end["content"][0]["content"], status);
    }
}

#[test]
fn unknown_blocks_are_preserved_in_metadata() {
    let mut samples = SampleSession::in_turn();
    samples.start_item("x", json!({"type": "unknown", "name": "novelty", "raw": {"n": 1}}));
    samples.end_item("x", json!({"type": "unknown", "name": "novelty", "raw": {"n": 1}}));
    let video = r#"{"type":"video","x":1}"#;
    samples.start_item("u", json!({"type": "user_message", "content": []}));
    samples.end_item(
        "u",
        json!({"type": "user_message", "content": [{"type": "text", "text": "see"}, {"type": "other", "text": video}]}),
    );
    let messages = after_start(&samples);
    assert_eq!(message_types(&messages), ["assistant", "user_message"]);
    assert_eq!(messages[0]["content"], json!([{"type": "text", "text": ""}]));
    assert_eq!(messages[0]["metadata"]["dropped_content_block_types"], json!(["novelty"]));
    assert_eq!(messages[0]["metadata"]["dropped_content_blocks"], json!([{"n": 1}]));
    assert_eq!(messages[1]["content"], json!([{"type": "text", "text": "see"}, {"type": "text", "text": ""}]));
    assert_eq!(messages[1]["metadata"]["dropped_content_block_types"], json!(["video"]));
    assert_eq!(messages[1]["metadata"]["dropped_content_blocks"], json!([{"type": "video", "x": 1}]));
}

#[test]
fn refusal_image_and_code_content() {
    let content = json!([
        {"type": "image", "media_type": "image/gif", "data": "AAAA"}, {"type": "image", "url": "data:image/png;base64,BBBB"},
        {"type": "image", "url": "https://example.org/a.png"}, {"type": "code", "text": "1", "language": "c"},
    ]);
    let mut samples = SampleSession::in_turn();
    samples.start_item("m", json!({"type": "agent_message", "text": ""}));
    samples.end_item("m", json!({"type": "agent_message", "text": "no", "refusal": true, "content": content}));
    assert_eq!(
        after_start(&samples)[0]["content"],
        json!([
            {"type": "refusal", "refusal": "no"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AAAA"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "BBBB"}},
            {"type": "text", "text": "https://example.org/a.png"},
            {"type": "code", "language": "c", "code": "1"}
        ])
    );
}

#[test]
fn a_plan_without_a_call_is_a_status_change() {
    let plan = json!({"type": "plan", "entries": [{"step": "one", "status": "pending"}]});
    let mut called = plan.clone();
    called["call"] = json!({"name": "todo", "kind": "think", "input": {}});
    let mut samples = SampleSession::in_turn();
    samples.start_item("p", plan.clone());
    samples.end_item("p", plan);
    samples.start_item("q", called.clone());
    samples.end_item("q", called);
    let messages = after_start(&samples);
    assert_eq!(message_types(&messages), ["status_change", "tool_progress", "tool_use_summary"]);
    assert_eq!(messages[0]["metadata"]["plan"], json!([{"step": "one", "status": "pending"}]));
    assert_eq!(messages[0]["metadata"]["status"], "running");
}

#[test]
fn subagent_messages_refer_to_their_tool_call() {
    let task = json!({"type": "subagent", "name": "helper", "label": "help"});
    let mut samples = SampleSession::in_turn();
    samples.start_item("task", task);
    samples.set_subagent(Some(("task", "child")));
    samples.start_item("m", json!({"type": "agent_message", "text": ""}));
    samples.append_text("m", "text", "hi");
    samples.end_item("m", json!({"type": "agent_message", "text": "hi"}));
    let messages = after_start(&samples);
    assert_eq!(message_types(&messages), ["tool_progress", "stream_event", "assistant"]);
    for message in &messages[1..] {
        assert_eq!(message["parentId"], messages[0]["id"]);
        assert_eq!(
            (&message["metadata"]["thread_id"], &message["metadata"]["parent_tool_use_id"]),
            (&json!("child"), &json!("task"))
        );
        assert_eq!(message["metadata"].get("model"), None);
    }
}

#[test]
fn superseded_and_retracted_items_are_removed() {
    let mut samples = SampleSession::in_turn();
    samples.start_item("m", json!({"type": "agent_message", "text": ""}));
    samples.append_text("m", "text", "half");
    samples.end_item("m", json!({"type": "agent_message", "text": "half", "status": "superseded"}));
    samples.add_event("notice", json!({"topic": "retracted", "name": "message.part.removed"}));
    let messages = after_start(&samples);
    assert_eq!(message_types(&messages), ["stream_event", "session_lifecycle", "session_lifecycle"]);
    let subtypes: Vec<_> = messages.iter().skip(1).map(|message| &message["metadata"]["subtype"]).collect();
    assert_eq!(subtypes, ["message_removed", "message_part_removed"]);
}

#[test]
fn call_updates_omit_streamed_output() {
    let item = |title: &str| json!({"type": "tool", "status": "running", "output": "long", "call": {"name": "t", "kind": "other", "title": title}});
    let mut samples = SampleSession::in_turn();
    samples.start_item("t", item("one"));
    samples.add_item_event("t", "item.delta", json!({"op": "set", "patch": item("one")}));
    samples.add_item_event("t", "item.delta", json!({"op": "set", "patch": item("two")}));
    let messages = after_start(&samples);
    assert_eq!(message_types(&messages), ["tool_progress", "tool_progress"]);
    assert_eq!(messages[1]["metadata"]["title"], "two");
}

#[test]
fn an_item_that_becomes_a_tool_emits_its_call_first() {
    let tool = json!({"type": "tool", "status": "running", "output": "", "call": {"name": "t", "kind": "other"}});
    let mut samples = SampleSession::in_turn();
    samples.start_item("a", json!({"type": "unknown", "name": "novelty"}));
    samples.add_item_event("a", "item.delta", json!({"op": "set", "patch": tool}));
    samples.append_text("a", "output", "ignored until it is called");
    samples.end_item("a", json!({"type": "tool", "output": "done", "call": {"name": "t", "kind": "other"}}));
    samples.start_item("b", tool);
    samples.end_item("b", json!({"type": "unknown", "name": "novelty"}));
    let called = ["tool_progress", "tool_use_summary"];
    assert_eq!(message_types(&after_start(&samples)), [called, called].concat());
}
