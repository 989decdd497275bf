//! Hand-written sessions and the gateway events they produce.

use serde_json::{Value, json};

use super::DIALECT;
use crate::test_events::{
    completed_turn, full_session, in_subagent, item_finished, item_started, notice_event, project_events,
    schema_validator, session_ended, session_with_turn, text_appended, whole_item,
};

/// Compares the messages before the end of a successful run.
fn assert_output(inner: &[Value], expected: &Value) {
    let mut messages = project_events(&DIALECT, &session_with_turn(inner));
    assert_eq!(messages.pop(), Some(json!({"kind": "session_end", "exit_code": 0, "duration_ms": 1500})));
    assert_eq!(Value::from(messages), *expected);
}

fn of_kind(messages: &[Value], kind: &str) -> Vec<Value> {
    messages.iter().filter(|message| message["kind"] == kind).cloned().collect()
}

#[test]
fn everything_is_valid_and_every_tool_ends_once() {
    let messages = project_events(&DIALECT, &full_session());
    let calls = of_kind(&messages, "tool_call");
    let mut ids: Vec<_> = calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert!(ids.len() > 60, "{}", ids.len());
    for id in ids {
        let stages: Vec<_> = calls.iter().filter(|call| call["id"] == id).map(|call| &call["status"]).collect();
        assert!(stages.len() == 2 && stages[0] == "started" && stages[1] != "started", "{id}: {stages:?}");
    }
    let results = of_kind(&messages, "tool_result");
    assert!(results.iter().all(|result| calls.iter().any(|call| call["id"] == result["tool_call_id"])));
    assert_eq!(of_kind(&messages, "session_end").len(), 2, "one a run");
}

#[test]
fn text_is_sent_once() {
    assert_output(
        &[
            item_started("m", json!({"type": "agent_message", "text": ""})),
            text_appended("m", "text", "héllo "),
            text_appended("m", "text", "wor"),
            item_finished("m", json!({"type": "agent_message", "text": "héllo world"})),
        ],
        &json!([
            {"kind": "agent_token", "text": "héllo "},
            {"kind": "agent_token", "text": "wor"},
            {"kind": "agent_token", "text": "ld"},
        ]),
    );
    assert_output(
        &whole_item("m", &json!({"type": "agent_message", "text": "at once"})).map(|mut event| {
            if event["kind"] == "item.started" {
                event["data"]["item"]["text"] = json!("");
            }
            event
        }),
        &json!([{"kind": "agent_token", "text": "at once"}]),
    );
}

#[test]
fn an_answer_beside_the_messages_is_the_answer_only_where_there_is_no_other() {
    let end = |result: &str| json!({"kind": "turn.completed", "data": {"status": "completed", "stop": "end_turn", "result": result}});
    let message = whole_item("m", &json!({"type": "agent_message", "text": "said"}));
    let session = |inner: Vec<Value>| {
        let start =
            [json!({"kind": "session.started", "data": {"run": 1}}), json!({"kind": "turn.started", "turn": 1})];
        of_kind(&project_events(&DIALECT, &start.into_iter().chain(inner).collect::<Vec<_>>()), "agent_token")
    };
    assert_eq!(session(vec![end("42")]), [json!({"kind": "agent_token", "text": "42"})]);
    let both: Vec<_> = message.into_iter().chain([end("said")]).collect();
    assert_eq!(session(both), [json!({"kind": "agent_token", "text": "said"})]);
}

#[test]
fn thoughts_are_their_text_or_else_their_summary() {
    assert_output(
        &[
            item_started("r", json!({"type": "reasoning"})),
            text_appended("r", "text", "hm"),
            text_appended("r", "summary", "not this"),
            item_finished("r", json!({"type": "reasoning", "text": "hmm", "summary": "not this"})),
            item_started("s", json!({"type": "reasoning"})),
            item_finished("s", json!({"type": "reasoning", "summary": "in short"})),
        ],
        &json!([
            {"kind": "thinking", "text": "hm"},
            {"kind": "thinking", "text": "m"},
            {"kind": "thinking", "text": "in short"},
        ]),
    );
}

#[test]
fn tools_with_and_without_a_name() {
    let call = json!({"name": "Bash", "title": "List", "kind": "execute", "input": {"command": "ls", "more": [1]}});
    assert_output(
        &[
            item_started("t1", json!({"type": "command", "command": "ls", "call": call})),
            text_appended("t1", "output", "a\n"),
            item_finished(
                "t1",
                json!({"type": "command", "command": "ls", "output": "a\n", "exit_code": 0, "call": call}),
            ),
            item_started("t2", json!({"type": "command", "command": "false"})),
            item_finished("t2", json!({"type": "command", "command": "false", "exit_code": 1})),
        ],
        &json!([
            {"kind": "tool_call", "id": "t1", "name": "Bash", "status": "started", "detail": "List", "input": {"command": "ls", "more": [1]}},
            {"kind": "tool_call", "id": "t1", "name": "Bash", "status": "completed"},
            {"kind": "tool_result", "tool_call_id": "t1", "output": "a\n", "is_error": false},
            {"kind": "tool_call", "id": "t2", "name": "command", "status": "started", "input": {"command": "false"}},
            {"kind": "tool_call", "id": "t2", "name": "command", "status": "failed", "detail": "exit code 1"},
            {"kind": "tool_result", "tool_call_id": "t2", "output": "", "is_error": true},
        ]),
    );
}

#[test]
fn what_tools_give_back() {
    let change = json!({"path": "/a", "kind": "add", "diff": "+x"});
    for (item, output) in [
        (json!({"type": "mcp", "server": "s", "tool": "t", "result": {"n": 1}}), json!({"n": 1})),
        (json!({"type": "mcp", "server": "s", "tool": "t", "error": "down", "status": "failed"}), json!("down")),
        (json!({"type": "tool", "output": "text"}), json!("text")),
        (json!({"type": "tool", "output": "text", "result": [1]}), json!([1])),
        (json!({"type": "file_change", "changes": [change]}), json!([change])),
        (json!({"type": "file_change", "changes": [change], "output": "written"}), json!("written")),
        (json!({"type": "web_search", "queries": ["q"]}), json!("")),
        (json!({"type": "subagent", "name": "n", "label": "l", "result": "done"}), json!("done")),
        (json!({"type": "plan", "entries": [{"step": "one"}]}), json!("[ ] one")),
    ] {
        let results = of_kind(&project_events(&DIALECT, &session_with_turn(&whole_item("t", &item))), "tool_result");
        assert_eq!(results.iter().map(|result| &result["output"]).collect::<Vec<_>>(), [&output], "{item}");
    }
}

#[test]
fn a_tool_that_did_not_run_says_why() {
    let item = |status: &str, error: Option<&str>| {
        let call = json!({"name": "Bash", "input": {}, "error": error});
        json!({"type": "command", "command": "ls", "status": status, "call": call})
    };
    for (item, detail, result) in [
        (item("declined", None), "declined", json!("declined")),
        (item("interrupted", None), "interrupted", json!("interrupted")),
        (item("declined", Some("not here")), "not here", json!("not here")),
    ] {
        let messages = project_events(&DIALECT, &session_with_turn(&whole_item("t", &item)));
        let end = &of_kind(&messages, "tool_call")[1];
        assert_eq!((&end["status"], &end["detail"]), (&json!("failed"), &json!(detail)));
        let results = of_kind(&messages, "tool_result");
        assert_eq!(results[0]["output"], result);
        assert!(results.iter().all(|result| result["is_error"] == true));
    }
}

#[test]
fn a_subagents_text_is_never_the_answer() {
    let task = json!({"type": "subagent", "thread": "th", "name": "helper", "label": "look around"});
    let inner = [
        item_started("m", json!({"type": "agent_message", "text": ""})),
        text_appended("m", "text", "I look"),
        item_finished("m", json!({"type": "agent_message", "text": "I looked"})),
    ];
    let mut events = vec![item_started("a", task.clone())];
    events.extend(in_subagent("a", "th", inner.clone()));
    events.extend(in_subagent("a", "th", whole_item("r", &json!({"type": "reasoning", "text": "hm"}))));
    events.push(item_finished(
        "a",
        json!({"type": "subagent", "thread": "th", "name": "helper", "label": "look around", "result": "done"}),
    ));
    // The subagent continues in the background and is only known by its thread.
    events.extend(inner.map(|mut event| {
        event["thread"] = json!("th");
        event
    }));
    assert_output(
        &events,
        &json!([
            {"kind": "tool_call", "id": "a", "name": "subagent", "status": "started", "input": {"label": "look around"}},
            {"kind": "subagent", "id": "a", "status": "started", "label": "look around"},
            {"kind": "subagent", "id": "a", "status": "running", "label": "look around", "text": "I looked"},
            {"kind": "thinking", "text": "hm", "parent": "a"},
            {"kind": "subagent", "id": "a", "status": "completed", "label": "look around"},
            {"kind": "tool_call", "id": "a", "name": "subagent", "status": "completed"},
            {"kind": "tool_result", "tool_call_id": "a", "output": "done", "is_error": false},
            {"kind": "subagent", "id": "a", "status": "running", "label": "look around", "text": "I looked"},
        ]),
    );
}

#[test]
fn hooks_are_paired_and_those_of_the_lifecycle_are_not_shown() {
    let hook = |name: &str, status: &str| notice_event("hook", json!({"name": name, "status": status}));
    let named = |status: &str| notice_event("hook", json!({"name": "A", "status": status, "detail": {"id": "h7"}}));
    let messages = project_events(
        &DIALECT,
        &session_with_turn(&[
            hook("SessionStart:startup", "started"),
            hook("PreCommit", "started"),
            hook("Stop", "completed"),
            hook("PreCommit", "failed"),
            named("started"),
        ]),
    );
    let hooks = of_kind(&messages, "hook");
    assert_eq!(hooks.len(), 3);
    assert_eq!((&hooks[0]["name"], &hooks[0]["status"]), (&json!("PreCommit"), &json!("started")));
    assert_eq!((&hooks[1]["id"], &hooks[1]["status"]), (&hooks[0]["id"], &json!("failed")));
    assert_eq!(hooks[2]["id"], "h7");
}

#[test]
fn a_turn_is_counted_once() {
    let usage = |more: Value| json!({"kind": "usage", "data": more});
    let full =
        json!({"input": 10, "output": 5, "cache_read": 3, "cache_write_5m": 2, "cache_write_1h": 1, "reasoning": 4});
    assert_output(
        &[usage(full.clone()), usage(full)],
        &json!([{"kind": "usage", "input_tokens": 20, "output_tokens": 10, "cache_read": 6, "cache_write": 6}]),
    );
    assert_output(&[], &json!([]));
    let none = json!({"input_tokens": 0, "output_tokens": 0, "cache_read": 0, "cache_write": 0});
    let mut expected = json!({"kind": "usage", "cumulative": {"input_tokens": 7, "output_tokens": 1, "cache_read": 0, "cache_write": 0}});
    expected.as_object_mut().unwrap().extend(none.as_object().unwrap().clone());
    assert_output(&[usage(json!({"input": 7, "output": 1, "cumulative": true}))], &json!([expected]));
}

#[test]
fn lines_that_are_no_records() {
    let lines = [
        notice_event("stdout", json!({"text": "hello"})),
        notice_event("stderr", json!({"text": "oh"})),
        notice_event("unknown", json!({"text": "x"})),
    ];
    assert_output(&lines, &json!([{"kind": "stdout", "line": "hello"}]));
    let failed = [&lines[..], &[session_ended("completed", json!({"exit_code": 3}))]].concat();
    assert_eq!(of_kind(&project_events(&DIALECT, &failed), "stderr"), [json!({"kind": "stderr", "line": "oh"})]);
}

#[test]
fn a_run_ends_with_its_code_and_never_with_zero_if_it_failed() {
    let error = json!({"code": "api_error", "message": "no model"});
    for (reason, more, code, message) in [
        ("completed", json!({}), 0, None),
        ("completed", json!({"exit_code": 2}), 2, None),
        ("failed", json!({"error": error}), 1, Some("no model")),
        ("failed", json!({"exit_code": 0}), 1, Some("the session failed")),
        ("failed", json!({"exit_code": 7, "error": error}), 7, Some("no model")),
        ("failed", json!({"signal": 9}), 137, Some("the session failed")),
        ("cancelled", json!({}), 130, None),
        ("cancelled", json!({"exit_code": 0}), 130, None),
        ("timeout", json!({"error": error}), 124, Some("no model")),
    ] {
        let messages = project_events(&DIALECT, &[session_ended(reason, more)]);
        let end = json!({"kind": "session_end", "exit_code": code, "duration_ms": 1500});
        let error = message.map(|message| json!({"kind": "error", "message": message}));
        assert_eq!(messages, error.into_iter().chain([end]).collect::<Vec<_>>(), "{reason}");
    }
}

#[test]
fn what_went_wrong_on_the_way_is_no_error() {
    let fault = json!({"code": "rate_limit", "message": "slow down"});
    let events = [
        notice_event("retry", json!({"error": fault, "level": "error"})),
        json!({"kind": "turn.completed", "turn": 1, "data": {"status": "failed", "stop": "error", "error": fault}}),
        json!({"kind": "turn.started", "turn": 2}),
        completed_turn(),
    ];
    assert_output(&events, &json!([]));
}

#[test]
fn the_schema_catches_mistakes() {
    let schema = schema_validator(&DIALECT);
    for wrong in [
        json!({"kind": "agent_token"}),
        json!({"kind": "agent_tokens", "text": "x"}),
        json!({"kind": "tool_call", "id": "t", "name": "n", "status": "running"}),
        json!({"kind": "tool_result", "tool_call_id": "t", "is_error": false}),
        json!({"kind": "usage", "input_tokens": 1, "output_tokens": 1, "cache_read": 1, "cache_write": -1}),
        json!({"kind": "session_end", "exit_code": "0", "duration_ms": 1}),
        json!({"text": "x"}),
        json!("x"),
    ] {
        assert!(!schema.is_valid(&wrong), "{wrong}");
    }
    assert!(schema.is_valid(&json!({"kind": "stdout", "line": "", "more": 1})));
}

#[test]
fn text_that_was_taken_back_is_named() {
    assert_output(
        &[
            item_started("a", json!({"type": "agent_message", "text": ""})),
            text_appended("a", "text", "going the "),
            item_finished("a", json!({"type": "agent_message", "text": "going the wrong way", "status": "superseded"})),
            item_started("r", json!({"type": "reasoning"})),
            text_appended("r", "text", "hm"),
            item_finished("r", json!({"type": "reasoning", "text": "hm", "status": "superseded"})),
            item_started("b", json!({"type": "agent_message", "text": ""})),
            item_finished("b", json!({"type": "agent_message", "text": "never sent", "status": "superseded"})),
        ],
        &json!([
            {"kind": "agent_token", "text": "going the "},
            {"kind": "agent_token", "text": "", "retracted": "going the "},
            {"kind": "thinking", "text": "hm"},
            {"kind": "thinking", "text": "", "retracted": "hm"},
        ]),
    );
}
