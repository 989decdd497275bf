//! Hand-written sessions and the board events they produce.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::DIALECT;
use crate::test_events::{
    full_session, in_subagent, item_finished, item_started, notice_event, project_events, schema_validator,
    session_ended, session_with_turn, text_appended, whole_item,
};

/// Compares types and payloads of a completed turn.
fn assert_payloads(inner: &[Value], expected: &Value) {
    let messages = project_events(&DIALECT, &session_with_turn(inner));
    let short: Vec<_> = messages.iter().map(|message| json!([message["type"], message["payload"]])).collect();
    assert_eq!(Value::from(short), *expected);
}

#[test]
fn everything_is_valid_and_every_action_has_one_result() {
    let messages = project_events(&DIALECT, &full_session());
    let ids: HashSet<_> = messages.iter().map(|message| message["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), messages.len(), "ids are unique");
    let tools = |kind: &str| -> Vec<_> {
        messages.iter().filter(|m| m["type"] == kind).map(|m| m["payload"]["toolId"].as_str().unwrap()).collect()
    };
    let (mut actions, mut results) = (tools("action"), tools("toolResult"));
    assert!(actions.len() > 60, "{}", actions.len());
    actions.sort_unstable();
    results.sort_unstable();
    assert_eq!(actions, results);
    let ends: Vec<_> = messages.iter().filter(|m| m["type"] == "error" || m["type"] == "cancelled").collect();
    assert_eq!(ends.iter().map(|m| &m["type"]).collect::<Vec<_>>(), ["cancelled", "error"], "one a run");
    assert_eq!(messages.last(), ends.last().copied());
}

#[test]
fn the_envelope_is_the_specifications() {
    let messages = project_events(&DIALECT, &[notice_event("warning", json!({"text": "a\nb"}))]);
    assert_eq!(
        Value::from(messages),
        json!([
            {"id": "08d8ff07-b578-8149-8000-000000100000", "sessionId": "s1", "type": "log", "timestamp": "2026-11-15T10:00:01.000000Z",
             "payload": {"line": "a", "channel": "notice", "level": "info"}},
            {"id": "08d8ff07-b578-8149-8000-000000100001", "sessionId": "s1", "type": "log", "timestamp": "2026-11-15T10:00:01.000000Z",
             "payload": {"line": "b", "channel": "notice", "level": "info"}},
        ])
    );
}

#[test]
fn the_answer_comes_line_by_line() {
    assert_payloads(
        &[
            item_started("m", json!({"type": "agent_message", "text": ""})),
            text_appended("m", "text", "one\n\ntw"),
            text_appended("m", "text", "o\nth"),
            item_finished("m", json!({"type": "agent_message", "text": "one\n\ntwo\nthree"})),
            item_started("n", json!({"type": "agent_message"})),
            item_finished("n", json!({"type": "agent_message", "text": "four\n"})),
        ],
        &json!([
            ["log", {"line": "one"}],
            ["log", {"line": ""}],
            ["log", {"line": "two"}],
            ["log", {"line": "three"}],
            ["log", {"line": "four"}],
        ]),
    );
}

#[test]
fn plans_and_thoughts_are_plans() {
    let plan =
        |status: &str| json!({"type": "plan", "status": "running", "entries": [{"step": "one", "status": status}]});
    let set = |item: Value| json!({"kind": "item.delta", "item": "p", "data": {"op": "set", "patch": item}});
    assert_payloads(
        &[
            item_started("r", json!({"type": "reasoning"})),
            text_appended("r", "text", "hm"),
            item_finished("r", json!({"type": "reasoning", "text": "hmm", "summary": "short"})),
            item_started("p", plan("pending")),
            set(plan("pending")),
            set(plan("in_progress")),
            item_finished("p", plan("completed")),
        ],
        &json!([
            ["plan", {"message": "hmm", "channel": "reasoning"}],
            ["plan", {"message": "[ ] one"}],
            ["plan", {"message": "[~] one"}],
            ["plan", {"message": "[x] one"}],
        ]),
    );
}

#[test]
fn tools_act_and_change_files() {
    let call = json!({"name": "Edit", "kind": "edit", "input": {"file_path": "/src/auth.ts"}});
    let change = json!({"path": "/src/auth.ts", "kind": "modify", "diff": "@@ -1 +1 @@"});
    assert_payloads(
        &[
            item_started("e", json!({"type": "file_change", "changes": [change], "call": call})),
            item_finished(
                "e",
                json!({"type": "file_change", "changes": [change], "output": "File updated", "call": call, "duration_ms": 7}),
            ),
        ],
        &json!([
            ["action", {"tool": "Edit", "args": {"file_path": "/src/auth.ts"}, "toolId": "e"}],
            ["diff", {"file": "/src/auth.ts", "diff": "@@ -1 +1 @@", "change": "modify", "toolId": "e"}],
            ["toolResult", {"tool": "Edit", "success": true, "output": "File updated", "toolId": "e", "durationMs": 7}],
        ]),
    );
    assert_payloads(
        &whole_item("e", &json!({"type": "file_change", "changes": [change]})),
        &json!([["diff", {"file": "/src/auth.ts", "diff": "@@ -1 +1 @@", "change": "modify", "toolId": "e"}]]),
    );
    assert_payloads(
        &whole_item("e", &json!({"type": "file_change", "changes": [change], "status": "declined"})),
        &json!([
            ["action", {"tool": "file_change", "args": {"changes": [{"path": "/src/auth.ts", "kind": "modify"}]}, "toolId": "e"}],
            ["toolResult", {"tool": "file_change", "success": false, "output": "declined", "toolId": "e"}],
        ]),
    );
}

#[test]
fn a_result_says_what_came_out_or_why_not() {
    let call = json!({"name": "Bash", "input": {}, "error": "not here"});
    for (item, success, output) in [
        (json!({"type": "command", "command": "ls", "output": "a\n", "exit_code": 0}), true, "a\n"),
        (json!({"type": "command", "command": "ls", "output": "oh", "exit_code": 2}), false, "oh"),
        (json!({"type": "command", "command": "ls", "exit_code": 2, "status": "failed"}), false, "exit code 2"),
        (json!({"type": "command", "command": "ls", "status": "declined", "call": call}), false, "not here"),
        (json!({"type": "command", "command": "ls", "status": "interrupted"}), false, "interrupted"),
        (
            json!({"type": "file_change", "changes": [{"path": "/a", "kind": "add"}], "status": "failed"}),
            false,
            "failed",
        ),
        (json!({"type": "mcp", "server": "s", "tool": "t", "result": {"content": [{"text": "r"}]}}), true, "r"),
    ] {
        let messages = project_events(&DIALECT, &session_with_turn(&whole_item("t", &item)));
        let result = &messages.iter().find(|m| m["type"] == "toolResult").unwrap()["payload"];
        assert_eq!((&result["success"], &result["output"]), (&json!(success), &json!(output)), "{item}");
    }
}

#[test]
fn what_others_say_has_a_channel() {
    let user = |text: &str| json!({"type": "user_message", "content": [{"type": "text", "text": text}]});
    let mut inner = Vec::new();
    inner.extend(whole_item("u1", &user("the prompt")));
    inner.extend(whole_item("u2", &user("and\nthis")));
    inner.extend(in_subagent("a", "th", whole_item("u3", &user("what the subagent was told"))));
    inner.extend(in_subagent("a", "th", whole_item("m", &json!({"type": "agent_message", "text": "I see"}))));
    assert_payloads(
        &inner,
        &json!([
            ["log", {"line": "and", "channel": "user"}],
            ["log", {"line": "this", "channel": "user"}],
            ["log", {"line": "I see", "channel": "subagent", "parent": "a"}],
        ]),
    );
    let known = [
        json!({"kind": "turn.started", "turn": 1, "data": {"prompt": "the prompt"}}),
        whole_item("u2", &user("more"))[0].clone(),
        whole_item("u2", &user("more"))[1].clone(),
        whole_item("u1", &user("the prompt"))[0].clone(),
        whole_item("u1", &user("the prompt"))[1].clone(),
    ];
    let messages = project_events(&DIALECT, &known);
    assert_eq!(messages.iter().map(|m| &m["payload"]["line"]).collect::<Vec<_>>(), ["more"]);
}

#[test]
fn what_went_wrong_on_the_way_is_a_line() {
    let fault = json!({"code": "rate_limit", "message": "slow down"});
    assert_payloads(
        &[
            notice_event("retry", json!({"error": fault, "level": "warning"})),
            notice_event("stderr", json!({"text": "oh"})),
            notice_event("heartbeat", json!({"text": "here"})),
            notice_event("unknown", json!({"level": "debug"})),
            json!({"kind": "request.opened", "data": {"request": "q", "about": "command", "title": "Run ls?"}}),
            json!({"kind": "turn.completed", "turn": 1, "data": {"status": "failed", "stop": "error", "error": fault}}),
        ],
        &json!([
            ["log", {"line": "slow down", "channel": "notice", "level": "warning"}],
            ["log", {"line": "oh", "channel": "stderr"}],
            ["log", {"line": "Run ls?", "channel": "request", "request": "q"}],
            ["log", {"line": "slow down", "channel": "notice", "level": "error"}],
        ]),
    );
}

#[test]
fn a_run_ends_with_error_or_cancelled_or_nothing() {
    let error = json!({"code": "permission_denied", "message": "not allowed"});
    for (reason, more, expected) in [
        ("completed", json!({}), json!([])),
        (
            "failed",
            json!({"error": error}),
            json!([["error", {"message": "not allowed", "errorType": "permissionDenied"}]]),
        ),
        ("timeout", json!({}), json!([["error", {"message": "the session failed"}]])),
        ("cancelled", json!({}), json!([["cancelled", {}]])),
    ] {
        let messages = project_events(&DIALECT, &[session_ended(reason, more)]);
        let short: Vec<_> = messages.iter().map(|message| json!([message["type"], message["payload"]])).collect();
        assert_eq!(Value::from(short), expected);
    }
}

#[test]
fn the_schema_catches_mistakes() {
    let schema = schema_validator(&DIALECT);
    let good = project_events(&DIALECT, &[notice_event("stdout", json!({"text": "x"}))]).remove(0);
    for (path, wrong) in [
        ("/id", json!("evt_1")),
        ("/type", json!("logs")),
        ("/type", json!("action")),
        ("/timestamp", json!("yesterday")),
        ("/payload", json!("x")),
        ("/payload/line", json!("two\nlines")),
        ("/payload/line", json!(null)),
        ("/payload/channel", json!("other")),
    ] {
        let mut message = good.clone();
        *message.pointer_mut(path).unwrap() = wrong;
        assert!(!schema.is_valid(&message), "{message}");
    }
}
