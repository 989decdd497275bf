//! Hand-written sessions and the trace events they produce.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::DIALECT;
use crate::test_events::{
    completed_turn, full_session, in_subagent, item_finished, item_started, notice_event, project_events,
    schema_validator, session_ended, session_with_turn, text_appended, whole_item,
};

/// Returns the selected fields of each event as arrays.
fn select_fields(messages: &[Value], names: &[&str]) -> Value {
    messages.iter().map(|message| names.iter().map(|name| message[name].clone()).collect::<Value>()).collect()
}

fn of_type(messages: &[Value], kinds: &[&str]) -> Vec<Value> {
    let is_of = |message: &&Value| kinds.iter().any(|kind| message["event_type"] == *kind);
    messages.iter().filter(is_of).cloned().collect()
}

#[test]
fn everything_is_valid_and_hangs_together() {
    let messages = project_events(&DIALECT, &full_session());
    let ids: HashSet<_> = messages.iter().map(|message| message["event_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), messages.len(), "ids are unique");
    let mut user = Value::Null;
    for message in &messages {
        if message["event_type"] == "user_message" {
            user = message["event_id"].clone();
        } else {
            assert_eq!(message["parent_event_id"], user, "{message}");
        }
    }
    let of = |kind: &str| -> Vec<_> {
        let mut ids: Vec<_> = of_type(&messages, &[kind]).iter().map(|m| m["tool_call_id"].to_string()).collect();
        ids.sort_unstable();
        ids
    };
    assert!(of("tool_call").len() > 60);
    assert_eq!(of("tool_call"), of("tool_result"), "one result a call");
    let kinds: HashSet<_> = messages.iter().map(|m| m["event_type"].as_str().unwrap()).collect();
    assert_eq!(kinds.len(), 10, "every type is there: {kinds:?}");
    assert_eq!(messages.iter().filter_map(|m| m["tokens_output"].as_u64()).sum::<u64>(), 7);
}

#[test]
fn every_event_says_where_it_comes_from() {
    let messages = project_events(&DIALECT, &[&full_session()[..2], &[completed_turn()]].concat());
    assert_eq!(
        select_fields(&messages[..2], &["source", "session_id", "project_root", "model", "raw", "sequence"]),
        json!([
            ["sample_product", "native-1", "/w", null, {"n": 2}, 2],
            ["sample_product", "native-1", "/w", "m1", {"n": 1}, 2],
        ])
    );
    assert_eq!(messages[0]["project_hash"], "d1bb8ca354673cd575d31d952490058c9943aef39d5a9553fb4a21ab7a59a19d");
    let prompt = json!({"kind": "turn.started", "turn": 1, "data": {"prompt": "go"}});
    let start = json!({"kind": "session.started", "data": {"run": 1}});
    let unknown = project_events(&DIALECT, &[start, prompt.clone(), completed_turn()]);
    assert_eq!(
        select_fields(&unknown[1..2], &["source", "session_id", "project_root", "project_hash", "model"]),
        json!([["sample", "s1", null, EMPTY_PROJECT_HASH, null]])
    );
    let named = json!({"kind": "session.started", "data": {"run": 1, "info": {"cwd": "/w", "project_hash": "own"}}});
    let named = project_events(&DIALECT, &[named, prompt, completed_turn()]);
    assert_eq!(select_fields(&named[1..2], &["project_root", "project_hash"]), json!([["/w", "own"]]));
}

/// SHA-256 of the empty string.
const EMPTY_PROJECT_HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn what_is_told_before_the_first_prompt_belongs_to_it() {
    let start = json!({"kind": "session.started", "data": {"run": 1}});
    let update = json!({"kind": "session.updated", "data": {"info": {"model": "m1"}}});
    let prompt = json!({"kind": "turn.started", "turn": 1, "data": {"prompt": "go"}});
    let read = ["event_type", "text", "event_id", "parent_event_id", "sequence"];
    let messages = project_events(&DIALECT, &[start.clone(), update.clone(), prompt, completed_turn()]);
    let user = messages[0]["event_id"].clone();
    assert_eq!(
        select_fields(&messages, &read),
        json!([
            ["user_message", "go", user, null, 3],
            ["meta", "session started", "evt_12bc7704_1", user, 3],
            ["meta", "session updated", "evt_12bc7704_2", user, 3],
            ["meta", "turn completed", "evt_12bc7704_4", user, 4],
        ])
    );
    let times: Vec<_> = messages.iter().map(|message| message["ts"].as_str()).collect();
    assert!(times.is_sorted(), "{times:?}");
    // A session without a prompt.
    let said = whole_item("m", &json!({"type": "agent_message", "text": "hello"}));
    let messages = project_events(&DIALECT, &[vec![start, update], said.to_vec()].concat());
    assert_eq!(
        select_fields(&messages, &["event_type", "parent_event_id"]),
        json!([["meta", null], ["meta", null], ["assistant_message", null]])
    );
}

#[test]
fn all_events_of_a_record_carry_it() {
    let mut events = Vec::new();
    events.extend(whole_item("m", &json!({"type": "agent_message", "text": "a"})));
    events.extend(whole_item("n", &json!({"type": "agent_message", "text": "b"})));
    events.push(item_finished("o", json!({"type": "agent_message", "text": "c"})));
    events[0]["native"] = json!({"record": 1});
    (1..4).for_each(|at| events[at]["cause"] = json!(1));
    let raws = select_fields(&project_events(&DIALECT, &events), &["text", "raw"]);
    assert_eq!(raws, json!([["a", {"record": 1}], ["b", {"record": 1}], ["c", null]]));
    let text = json!({"kind": "notice", "data": {"topic": "stdout", "text": "oh"}, "native": "oh", "enc": "text"});
    let bytes = json!({"kind": "notice", "data": {"topic": "stdout", "text": "?"}, "native": {"base64": "/w=="}, "enc": "base64"});
    assert_eq!(
        select_fields(&project_events(&DIALECT, &[text, bytes]), &["raw"]),
        json!([["oh"], [{"base64": "/w=="}]])
    );
}

#[test]
fn a_prompt_is_one_user_message() {
    let user = |text: &str| json!({"type": "user_message", "content": [{"type": "text", "text": text}]});
    let prompted = |text: &str| json!({"kind": "turn.started", "turn": 1, "data": {"prompt": text}});
    let mut events = vec![notice_event("control", json!({})), prompted("one")];
    events.extend(whole_item("u1", &user("one")));
    events.extend(whole_item("u2", &user("while it ran")));
    events.extend(in_subagent("a", "th", whole_item("u3", &user("you are a subagent"))));
    events.push(completed_turn());
    events.push(json!({"kind": "turn.started", "turn": 2}));
    events.extend(whole_item("u4", &user("two")));
    events.push(completed_turn());
    events.extend([prompted("two"), completed_turn()]);
    let messages = project_events(&DIALECT, &events);
    assert_eq!(
        select_fields(&messages, &["event_type", "text", "sequence", "parent_event_id"]),
        json!([
            ["meta", null, 1, null],
            ["user_message", "one", 4, null],
            ["user_message", "while it ran", 6, null],
            ["user_message", "you are a subagent", 8, null],
            ["meta", "turn completed", 9, "u3"],
            ["meta", "turn started", 10, "u3"],
            ["user_message", "two", 12, null],
            ["meta", "turn completed", 13, "u4"],
            ["user_message", "two", 14, null],
            ["meta", "turn completed", 15, "evt_12bc7704_14"],
        ])
    );
}

#[test]
fn what_a_subagent_is_told_first_is_its_prompt() {
    let put_in = |text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        json!({"type": "user_message", "synthetic": true, "content": content})
    };
    let mut events = in_subagent("a", "th", whole_item("u1", &put_in("look around")));
    events.extend(in_subagent("a", "th", whole_item("u2", &put_in("a reminder"))));
    events.extend(whole_item("u3", &put_in("another reminder")));
    assert_eq!(
        select_fields(&project_events(&DIALECT, &events), &["event_type", "text", "parent_event_id"]),
        json!([
            ["user_message", "look around", null],
            ["meta", "a reminder", "u1"],
            ["meta", "another reminder", "u1"],
        ])
    );
}

#[test]
fn what_is_said_and_thought_comes_when_it_is_whole() {
    let messages = project_events(
        &DIALECT,
        &[
            item_started("r", json!({"type": "reasoning"})),
            text_appended("r", "text", "hm"),
            item_finished("r", json!({"type": "reasoning", "text": "hmm"})),
            item_started("m", json!({"type": "agent_message", "text": ""})),
            text_appended("m", "text", "hel"),
            item_finished("m", json!({"type": "agent_message", "text": "hello"})),
            item_finished("x", json!({"type": "reasoning", "redacted": true})),
        ],
    );
    assert_eq!(
        select_fields(&messages, &["event_type", "role", "channel", "text"]),
        json!([
            ["reasoning", "assistant", "chat", "hmm"],
            ["assistant_message", "assistant", "chat", "hello"],
            ["reasoning", "assistant", "chat", null],
        ])
    );
}

#[test]
fn tools_are_called_and_give_back() {
    let call = json!({"name": "Edit", "kind": "edit", "op": "modify", "input": {"file_path": "/w/a.rs"}});
    let read =
        json!({"name": "Read", "kind": "read", "op": "read", "input": "a.py", "locations": [{"path": "/w/a.py"}]});
    let change = json!({"path": "/w/a.rs", "kind": "add", "diff": "+x"});
    let mut events = Vec::new();
    for (id, item) in [
        ("t1", json!({"type": "file_change", "changes": [change], "call": call, "duration_ms": 5})),
        ("t2", json!({"type": "file_change", "changes": [change]})),
        ("t3", json!({"type": "command", "command": "ls", "output": "a", "exit_code": 2})),
        ("t4", json!({"type": "tool", "output": "text", "call": read})),
        ("t5", json!({"type": "tool", "status": "declined", "call": {"name": "X", "error": "not here"}})),
        ("t6", json!({"type": "tool", "status": "interrupted", "call": {"name": "X"}})),
    ] {
        events.extend(whole_item(id, &item));
    }
    let tool = ["event_type", "role", "channel", "text", "tool_name", "tool_call_id", "tool_status"];
    let messages = project_events(&DIALECT, &events);
    assert_eq!(
        select_fields(&messages, &tool),
        json!([
            ["tool_call", "assistant", "editor", "{\"file_path\":\"/w/a.rs\"}", "Edit", "t1", "in_progress"],
            ["tool_result", "tool", "editor", "added /w/a.rs", "Edit", "t1", "success"],
            ["tool_call", "assistant", "editor", "added /w/a.rs", "file_change", "t2", "in_progress"],
            ["tool_result", "tool", "editor", "added /w/a.rs", "file_change", "t2", "success"],
            ["tool_call", "assistant", "terminal", "{\"command\":\"ls\"}", "command", "t3", "in_progress"],
            ["tool_result", "tool", "terminal", "a", "command", "t3", "error"],
            ["tool_call", "assistant", "filesystem", "a.py", "Read", "t4", "in_progress"],
            ["tool_result", "tool", "filesystem", "text", "Read", "t4", "success"],
            ["tool_call", "assistant", "other", "{}", "X", "t5", "in_progress"],
            ["tool_result", "tool", "other", "not here", "X", "t5", "error"],
            ["tool_call", "assistant", "other", "{}", "X", "t6", "in_progress"],
            ["tool_result", "tool", "other", "interrupted", "X", "t6", "unknown"],
        ])
    );
    let file = ["tool_latency_ms", "tool_exit_code", "file_path", "file_language", "file_op"];
    assert_eq!(
        select_fields(&messages[..8], &file),
        json!([
            [null, null, "/w/a.rs", "rust", "modify"],
            [5, null, "/w/a.rs", "rust", "modify"],
            [null, null, "/w/a.rs", "rust", "create"],
            [null, null, "/w/a.rs", "rust", "create"],
            [null, null, null, null, null],
            [null, 2, null, null, null],
            [null, null, "/w/a.py", "python", "read"],
            [null, null, "/w/a.py", "python", "read"],
        ])
    );
}

#[test]
fn what_the_agent_says_of_a_call_goes_before_what_follows_from_it() {
    let call = json!({"name": "X", "display": "shown", "exit_code": 3});
    let item = json!({"type": "tool", "output": "text", "model": "m2", "reply": "r", "call": call});
    let messages = project_events(&DIALECT, &in_subagent("a", "th", whole_item("t", &item)));
    assert_eq!(
        select_fields(&messages, &["event_type", "text", "tool_exit_code", "model"]),
        json!([["tool_call", "{}", null, "m2"], ["tool_result", "shown", 3, "m2"]])
    );
}

#[test]
fn a_tool_that_never_began_was_called_all_the_same() {
    let messages = project_events(&DIALECT, &[item_finished("t", json!({"type": "command", "command": "ls"}))]);
    assert_eq!(
        select_fields(&messages, &["event_type", "event_id", "tool_call_id"]),
        json!([["tool_call", "t", "t"], ["tool_result", "t:result", "t"]])
    );
}

#[test]
fn a_subagent_works_in_the_same_session() {
    let events = in_subagent("a", "th", whole_item("m", &json!({"type": "agent_message", "text": "I see"})));
    let messages = project_events(&DIALECT, &events);
    assert_eq!(
        select_fields(&messages, &["event_type", "session_id", "agent_id", "thread", "parent_item"]),
        json!([["assistant_message", "s1", "th", "th", "a"]])
    );
}

const TOKEN_FIELDS: [&str; 8] = [
    "event_type",
    "tokens_input",
    "tokens_output",
    "tokens_total",
    "tokens_cached",
    "tokens_thinking",
    "tokens_tool",
    "tokens_cache_write",
];

#[test]
fn tokens_go_with_the_next_event_of_their_reply_or_alone() {
    let usage = |key: &str, output: u64| json!({"kind": "usage", "data": {"key": key, "input": 1, "output": output, "reasoning_in_output": true}});
    let message = |reply: &str| json!({"type": "agent_message", "text": "x", "reply": reply});
    let mut events = vec![usage("r1", 10)];
    events.extend(whole_item("m1", &message("r1")));
    events.extend(whole_item("m2", &message("r1")));
    events.push(usage("r2", 20));
    events.extend(whole_item("m3", &message("other")));
    events.push(usage("r3", 30));
    events.extend(whole_item("t", &json!({"type": "command", "command": "ls", "reply": "r3"})));
    events.push(usage("r4", 40));
    events.extend(in_subagent("a", "th", whole_item("m4", &message("r4"))));
    events.push(usage("r5", 50));
    events.push(completed_turn());
    let messages = project_events(&DIALECT, &events);
    assert_eq!(
        select_fields(&messages, &["event_type", "tokens_output"]),
        json!([
            ["assistant_message", 10],
            ["assistant_message", null],
            ["meta", 20],
            ["assistant_message", null],
            ["tool_call", 30],
            ["tool_result", null],
            ["meta", 40],
            ["assistant_message", null],
            ["meta", 50],
            ["meta", null],
        ])
    );
    let sequence: Vec<_> = messages.iter().map(|message| message["sequence"].as_u64()).collect();
    assert!(sequence.is_sorted(), "{sequence:?}");
}

#[test]
fn figures_are_the_agents_own() {
    let figures = json!({"input": 10, "output": 7, "cache_read": 4, "cache_write_5m": 2, "cache_write_1h": 1, "reasoning": 3, "tool": 5});
    for (flags, expected) in [
        (json!({}), json!([["meta", 10, 4, 29, 4, 3, 5, 3]])),
        (json!({"cached_in_input": true}), json!([["meta", 17, 4, 29, 4, 3, 5, 3]])),
        (json!({"reasoning_in_output": true}), json!([["meta", 10, 7, 29, 4, 3, 5, 3]])),
        (json!({"reasoning_in_output": true, "reasoning": 0}), json!([["meta", 10, 7, 29, 4, null, 5, 3]])),
        (json!({"cumulative": true}), json!([["meta", null, null, null, null, null, null, null]])),
    ] {
        let mut data = figures.clone();
        data.as_object_mut().unwrap().extend(flags.as_object().unwrap().clone());
        let messages = project_events(&DIALECT, &[json!({"kind": "usage", "data": data})]);
        assert_eq!(select_fields(&messages, &TOKEN_FIELDS), expected, "{flags}");
    }
}

#[test]
fn notices_by_topic() {
    let fault = json!({"code": "rate_limit", "message": "slow down"});
    for (event, kind, channel, text) in [
        (notice_event("stdout", json!({"text": "line"})), "log", "terminal", json!("line")),
        (
            notice_event("hook", json!({"name": "PreCommit", "status": "failed", "text": "no"})),
            "log",
            "system",
            json!("PreCommit failed: no"),
        ),
        (
            notice_event("snapshot", json!({"text": "snapshot of 2 files"})),
            "file_snapshot",
            "filesystem",
            json!("snapshot of 2 files"),
        ),
        (notice_event("compaction", json!({"text": "so far"})), "session_summary", "system", json!("so far")),
        (notice_event("compaction", json!({})), "meta", "system", json!(null)),
        (notice_event("tool_summary", json!({"text": "3 calls"})), "meta", "system", json!("3 calls")),
        (notice_event("retry", json!({"error": fault})), "system_message", "system", json!("slow down")),
        (notice_event("warning", json!({"text": "careful"})), "system_message", "system", json!("careful")),
        (notice_event("unknown", json!({"name": "odd"})), "meta", "system", json!("odd")),
    ] {
        let messages = project_events(&DIALECT, &[event]);
        assert_eq!(select_fields(&messages, &["event_type", "channel", "text"]), json!([[kind, channel, text]]));
    }
}

#[test]
fn signs_of_life_are_no_occurrences() {
    let debug = json!({"level": "debug", "name": "init"});
    for event in [notice_event("heartbeat", json!({})), notice_event("echo", json!({})), notice_event("status", debug)]
    {
        assert!(project_events(&DIALECT, &[event]).is_empty());
    }
}

#[test]
fn turns_and_runs_end() {
    let error = json!({"code": "api_error", "message": "no model"});
    let mut events = session_with_turn(&[]);
    events.pop();
    events.extend([
        json!({"kind": "turn.completed", "data": {"status": "failed", "stop": "error", "error": error}}),
        json!({"kind": "turn.completed", "data": {"status": "completed", "stop": "end_turn", "result": "42"}}),
        session_ended("failed", json!({"error": error})),
    ]);
    assert_eq!(
        select_fields(&project_events(&DIALECT, &events), &["event_type", "text"]),
        json!([
            ["meta", "session started"],
            ["meta", "turn started"],
            ["meta", "turn completed"],
            ["system_message", "no model"],
            ["assistant_message", "42"],
            ["meta", "turn completed"],
            ["meta", "session failed: no model"],
        ])
    );
}

#[test]
fn the_schema_catches_mistakes() {
    let schema = schema_validator(&DIALECT);
    let good = project_events(&DIALECT, &whole_item("t", &json!({"type": "command", "command": "ls"}))).remove(0);
    for (field, wrong) in [
        ("schema_version", json!("agtrace.event.v2")),
        ("event_type", json!("tool")),
        ("role", json!("tool")),
        ("ts", json!("2026-11-15T10:00:00+01:00")),
        ("tool_call_id", json!(null)),
        ("tool_status", json!("done")),
        ("tokens_input", json!(-1)),
        ("file_op", json!("touch")),
        ("project_hash", json!("")),
    ] {
        let mut message = good.clone();
        message[field] = wrong;
        assert!(!schema.is_valid(&message), "{field}");
    }
    for field in good.as_object().unwrap().keys().filter(|field| *field != "sequence") {
        let mut message = good.clone();
        message.as_object_mut().unwrap().remove(field);
        assert!(!schema.is_valid(&message), "{field} is missing");
    }
}
