//! Bodies of items, requests, notices, turns and runs.

use insta::assert_snapshot;
use serde_json::{Value, json};
use switchboard_event::{Item, Notice, RequestOpened, RequestResolved, SessionEnded, SessionStarted, TurnCompleted};
use switchboard_page::EntryBody;
use switchboard_page::body::{began, ended, item, notice, picture, request, turn};

use crate::checker::check;

/// Checks a body and formats it in a few lines.
fn shown(body: &EntryBody) -> String {
    check(body.title.as_str());
    check(body.html.as_str());
    let EntryBody { kind, title, label, html, fold, size, more } = body;
    let marks = [fold.then_some("folded"), more.then_some("more")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let label = label.as_deref().unwrap_or_default();
    format!("[{kind}] {} | {label} | {size} {marks}\n{}\n", title.as_str(), html.as_str())
}

fn read(value: &Value) -> Item {
    serde_json::from_str(&value.to_string()).unwrap()
}

fn show(value: &Value) -> String {
    shown(&item(&read(value), &|n| Some(format!("/api/page/sessions/s/media/7/{n}"))))
}

#[test]
fn messages() {
    assert_snapshot!(
        [
            show(&json!({"type": "user_message", "status": "completed", "content": [
                {"type": "text", "text": "look at **this**"},
                {"type": "image", "media_type": "image/png", "data": "AAAA"},
                {"type": "image", "media_type": "image/svg+xml", "data": "AAAA"},
                {"type": "image", "media_type": "image/gif", "data": "AAAA", "text": "a \"cat\""},
                {"type": "image", "url": "https://evil.example/x.png"},
                {"type": "file", "text": "notes.md"},
                {"type": "code", "text": "let x;", "language": "rust"}]})),
            show(&json!({"type": "user_message", "status": "completed", "synthetic": true, "content": [{"type": "text", "text": "hook says"}]})),
            show(&json!({"type": "agent_message", "status": "completed", "text": "# Hi\n\n<script>x</script>"})),
            show(&json!({"type": "reasoning", "status": "completed", "text": "**Looking around**\n\nI think.", "summary": "**Looking around**"})),
            show(&json!({"type": "reasoning", "status": "completed", "redacted": true})),
        ]
        .join("\n")
    );
}

#[test]
fn work() {
    assert_snapshot!(
        [
            show(&json!({"type": "command", "status": "failed", "command": "cargo test", "cwd": "/p", "exit_code": 1, "output": "\u{1b}[31merror\u{1b}[0m\n"})),
            show(&json!({"type": "command", "status": "completed", "command": "cat <<E\nx\nE", "exit_code": 0, "output": "x\n", "truncated": true})),
            show(&json!({"type": "file_change", "status": "completed", "output": "ok", "changes": [
                {"path": "/p/a.rs", "kind": "modify", "diff": "@@ -1 +1 @@\n-let a = 1;\n+let a = 2;\n"},
                {"path": "/p/b.txt", "kind": "add", "diff": "", "after": "new\n"},
                {"path": "/p/c", "kind": "move", "to": "/p/d", "diff": ""}]})),
            show(&json!({"type": "plan", "status": "completed", "explanation": "why", "entries": [
                {"step": "one", "status": "completed"}, {"step": "two <b>", "status": "in_progress"}, {"step": "three"}]})),
            show(&json!({"type": "subagent", "status": "running", "name": "Explore", "label": "find it", "prompt": "Find **it**.", "result": "Found."})),
        ]
        .join("\n")
    );
}

#[test]
fn tools() {
    let call = |name: &str, input: Value| json!({"name": name, "title": "a title", "kind": "other", "input": input});
    assert_snapshot!(
        [
            show(&json!({"type": "tool", "status": "completed", "call": call("Fetch", json!({"url": "https://a", "n": 3, "deep": {"a": [1]}})), "output": "text\n"})),
            show(&json!({"type": "tool", "status": "failed", "call": {"name": "X", "kind": "read", "error": "not <there>"}, "output": "{\"a\": 1}"})),
            show(&json!({"type": "mcp", "status": "completed", "server": "files", "tool": "list", "call": call("mcp__files__list", json!({})),
                "result": {"content": [{"type": "text", "text": "[1]"}, {"type": "text", "text": "two"}]}})),
            show(&json!({"type": "web_search", "status": "completed", "queries": ["rust"], "results": [
                {"title": "Rust", "url": "https://rust-lang.example"}, {"title": "bad", "url": "javascript:alert(1)"}]})),
            show(&json!({"type": "unknown", "status": "completed", "name": "new_thing", "raw": {"a": "b"}})),
        ]
        .join("\n")
    );
}

#[test]
fn requests_say_what_would_run() {
    let opened = |value: Value| serde_json::from_str::<RequestOpened>(&value.to_string()).unwrap();
    let command = opened(
        json!({"request": "r1", "about": "command", "title": "Run it", "reason": "to test", "command": "rm -rf build\u{202e}", "cwd": "/p",
        "call": {"name": "Bash", "kind": "execute", "input": {"command": "rm -rf build", "timeout": 5}}}),
    );
    let tool = opened(
        json!({"request": "r2", "about": "tool", "call": {"name": "Send", "kind": "other", "input": {"to": "a@b", "text": "x\ny"}}}),
    );
    let change = opened(
        json!({"request": "r3", "about": "file_change", "title": "Edit", "changes": [{"path": "/p/a", "kind": "modify", "diff": "@@ -1 +1 @@\n-a\n+b\n"}]}),
    );
    let plan = opened(
        json!({"request": "r4", "about": "plan", "call": {"name": "Exit", "kind": "mode", "input": {"plan": "1. do\n2. it"}}}),
    );
    let question = opened(json!({"request": "r5", "about": "question", "title": "Which?", "questions": [
        {"id": "q", "question": "Which one?"}, {"id": "p", "question": "Password?", "secret": true}]}));
    let resolved = |value: Value| serde_json::from_str::<RequestResolved>(&value.to_string()).unwrap();
    let declined = resolved(json!({"request": "r1", "outcome": "declined", "by": "client", "message": "not now"}));
    let changed = resolved(json!({"request": "r2", "outcome": "allowed", "by": "policy", "input": {"to": "c@d"}}));
    let answered = resolved(
        json!({"request": "r5", "outcome": "answered", "by": "client", "answers": {"q": ["this", "that"], "p": ["hunter2"]}}),
    );
    assert_snapshot!(
        [
            shown(&request(&command, None)),
            shown(&request(&command, Some(&declined))),
            shown(&request(&tool, None)),
            shown(&request(&tool, Some(&changed))),
            shown(&request(&change, None)),
            shown(&request(&plan, None)),
            shown(&request(&question, Some(&answered))),
        ]
        .join("\n")
    );
}

#[test]
fn notices_that_people_care_about() {
    let shown = |value: Value| {
        let body = notice(&serde_json::from_str::<Notice>(&value.to_string()).unwrap());
        body.as_ref().map_or_else(|| "nothing\n".to_owned(), shown)
    };
    assert_snapshot!(
        [
            shown(json!({"topic": "retry", "level": "warning", "text": "overloaded, attempt 2 of 10", "error": {"code": "api_error", "message": "529"}})),
            shown(json!({"topic": "rate_limit", "level": "info"})),
            shown(json!({"topic": "rate_limit", "level": "warning", "text": "90 % used"})),
            shown(json!({"topic": "stderr", "level": "info", "text": "\u{1b}[33mwarn\u{1b}[0m x"})),
            shown(json!({"topic": "compaction", "level": "info"})),
            shown(json!({"topic": "hook", "level": "info", "name": "pre", "status": "completed"})),
            shown(json!({"topic": "hook", "level": "info", "name": "pre", "status": "failed"})),
            shown(json!({"topic": "heartbeat", "level": "debug"})),
            shown(json!({"topic": "interrupt", "level": "info"})),
        ]
        .join("\n")
    );
}

#[test]
fn turns_and_runs() {
    let completed: TurnCompleted = serde_json::from_value(
        json!({"status": "failed", "stop": "error", "duration_ms": 61_000, "steps": 3, "cost_usd": 0.0123,
        "error": {"code": "api_error", "message": "bad <gateway>"}}),
    )
    .unwrap();
    let usage = serde_json::from_value(json!({"input": 1_200, "output": 34, "cache_read": 100_000})).unwrap();
    let started: SessionStarted = serde_json::from_str(
        &json!({"run": 1, "agent_session": "abc", "info": {"cwd": "/p", "model": "m-1"}}).to_string(),
    )
    .unwrap();
    let over: SessionEnded =
        serde_json::from_value(json!({"reason": "failed", "by": "agent", "exit_code": 2, "duration_ms": 5_000, "error": {"code": "unknown", "message": "gone"}})).unwrap();
    assert_snapshot!(
        [
            shown(&turn(&Default::default(), None, None)),
            shown(&turn(&Default::default(), Some(&completed), Some(&usage))),
            shown(&began(&started)),
            shown(&ended(&over)),
        ]
        .join("\n")
    );
}

#[test]
fn pictures_are_counted_as_they_are_shown() {
    let message = read(&json!({"type": "user_message", "status": "completed", "content": [
        {"type": "image", "media_type": "image/svg+xml", "data": "SVG"},
        {"type": "image", "media_type": "image/png", "data": "ONE"},
        {"type": "image", "media_type": "image/webp", "data": "TWO"}]}));
    let data = |n| picture(&message, n).and_then(|content| content.data.clone());
    assert_eq!([data(0), data(1), data(2)], [Some("ONE".to_owned()), Some("TWO".to_owned()), None]);
    // Only images of this server are shown.
    for address in ["https://evil.example/x", "//evil.example", "javascript:alert(1)", "/x\" onerror=\"y", "x.png"] {
        let body = item(&message, &|_| Some(address.to_owned()));
        assert!(!body.html.as_str().contains("<img"), "{address}");
        check(body.html.as_str());
    }
}

#[test]
fn deep_and_long_values_are_shown_as_they_came() {
    let deep = format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000));
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(3 << 20));
    let lone = r#"{"a":"\ud800"}"#;
    for input in [deep.as_str(), &long, lone] {
        let value: Item = serde_json::from_str(&format!(
            r#"{{"type":"tool","status":"completed","call":{{"name":"x","input":{input}}}}}"#
        ))
        .unwrap();
        let body = item(&value, &|_| None);
        check(body.html.as_str());
        assert!(body.html.as_str().len() < 100_000 && !body.html.is_empty());
    }
}
