//! `translate --to trace`: what `agtrace.event.v1` asks of the logs of each agent.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::binary;

/// The events of records, which are a file or come on standard input.
fn trace(source: &str, records: &[Value]) -> Vec<Value> {
    let input: String = records.iter().map(|record| format!("{record}\n")).collect();
    parse(&binary::run(&["translate", "--from", source, "--to", "trace"], input.as_bytes()).ok())
}

fn trace_file(source: &str, path: &Path) -> Vec<Value> {
    parse(&binary::run(&["translate", "--from", source, "--to", "trace", path.to_str().unwrap()], b"").ok())
}

fn parse(output: &str) -> Vec<Value> {
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn recording(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/src").join(path)
}

/// The events of these types, each with these fields.
fn fields(events: &[Value], kinds: &[&str], names: &[&str]) -> Value {
    let wanted = events.iter().filter(|event| kinds.iter().any(|kind| event["event_type"] == *kind));
    wanted.map(|event| names.iter().map(|name| event[name].clone()).collect::<Value>()).collect()
}

#[test]
fn gemini_names_its_project_and_counts_on_its_answers() {
    let path = recording("gemini/testdata/log/tmp/gp/chats/session-2026-11-15T19-23-824dc906.jsonl");
    let header: Value = serde_json::from_str(fs::read_to_string(&path).unwrap().lines().next().unwrap()).unwrap();
    let events = trace_file("gemini:log", &path);
    assert!(events.iter().all(|event| event["project_hash"] == header["projectHash"]), "{events:#?}");
    let counted = |kind| fields(&events, &[kind], &["tokens_total", "model"]);
    assert_eq!(counted("assistant_message"), json!([[142, "gemini-2.5-flash"]]));
    assert_eq!(counted("reasoning"), json!([[null, "gemini-2.5-flash"]]));
    let live = trace("gemini", &[json!({"type": "init", "session_id": "s", "model": "m"})]);
    assert!(live.iter().all(|event| event["project_hash"] != ""));
}

#[test]
fn gemini_results_are_what_it_shows() {
    let path = recording("gemini/testdata/log/tmp/gp/chats/session-2026-11-15T19-23-c8a40b5d.jsonl");
    let events = trace_file("gemini:log", &path);
    let results = fields(&events, &["tool_result"], &["tool_name", "text"]);
    assert_eq!(results[0][0], "replace");
    assert!(results[0][1].as_str().unwrap().starts_with("Index: a.txt\n"), "{results}");
    let call = json!({"id": "c1", "name": "mcp_db_query", "args": {}, "status": "success", "resultDisplay": "3 rows",
        "result": [{"functionResponse": {"id": "c1", "name": "mcp_db_query",
            "response": {"output": "row row row\nExit Code: 4"}}}]});
    let events = trace(
        "gemini:log",
        &[
            json!({"sessionId": "s", "projectHash": "p", "startTime": "2026-11-01T10:00:00Z"}),
            json!({"id": "u", "timestamp": "2026-11-01T10:00:00Z", "type": "user", "content": "go"}),
            json!({"id": "g", "timestamp": "2026-11-01T10:00:01Z", "type": "gemini", "content": "", "model": "m",
                "toolCalls": [call], "tokens": {"input": 1, "output": 2, "total": 3}}),
        ],
    );
    assert_eq!(
        fields(&events, &["tool_call", "tool_result"], &["text", "tool_exit_code", "tokens_total", "model"]),
        json!([["{}", null, 3, "m"], ["3 rows", 4, null, "m"]])
    );
}

#[test]
fn codex_tools_name_files_in_their_arguments() {
    let item =
        |payload: Value| json!({"timestamp": "2026-11-01T10:00:00Z", "type": "response_item", "payload": payload});
    let call = |id: &str, name: &str, arguments: &str| {
        item(json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}))
    };
    let output =
        |id: &str, output: &str| item(json!({"type": "function_call_output", "call_id": id, "output": output}));
    let events = trace(
        "codex:log",
        &[
            json!({"timestamp": "2026-11-01T10:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}),
            item(json!({"type": "message", "role": "user", "text": "only a text"})),
            call("c1", "read_file", r#"{"file_path":"src/a.rs"}"#),
            output("c1", "Exit code: 2\nWall time: 0.1 seconds\nOutput:\nno"),
            call("c2", "write_notes", r#"{"path":"/n.md","content":"x"}"#),
            output("c2", "done"),
        ],
    );
    assert_eq!(fields(&events, &["user_message"], &["text"]), json!([["only a text"]]));
    assert_eq!(
        fields(&events, &["tool_call", "tool_result"], &["file_path", "file_op", "file_language", "tool_exit_code"]),
        json!([
            ["/w/src/a.rs", "read", "rust", null],
            ["/w/src/a.rs", "read", "rust", 2],
            ["/n.md", "write", "markdown", null],
            ["/n.md", "write", "markdown", null],
        ])
    );
}

#[test]
fn codex_records_without_a_kind_are_read() {
    let events = trace(
        "codex:log",
        &[
            json!({"timestamp": "2025-06-01T10:00:00Z", "payload": {"id": "s", "cwd": "/w"}}),
            json!({"timestamp": "2025-06-01T10:00:01Z", "payload": {"cwd": "/w", "model": "m", "sandbox_policy": {}}}),
            json!({"timestamp": "2025-06-01T10:00:02Z", "payload": {"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": "list"}]}}),
            json!({"timestamp": "2025-06-01T10:00:03Z", "payload": {"name": "shell", "call_id": "c",
                "arguments": "{\"command\":[\"ls\"]}"}}),
            json!({"timestamp": "2025-06-01T10:00:04Z", "payload": {"status": "completed", "call_id": "c",
                "output": "a.rs"}}),
            json!({"timestamp": "2025-06-01T10:00:05Z", "payload": {"type": "ghost_commit"}}),
            json!({"timestamp": "2025-06-01T10:00:06Z", "payload": {"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": "a.rs"}]}}),
        ],
    );
    let kinds = ["user_message", "tool_call", "tool_result", "assistant_message"];
    assert_eq!(
        fields(&events, &kinds, &["event_type", "session_id", "tool_name", "tool_status", "model"]),
        json!([
            ["user_message", "s", null, null, null],
            ["tool_call", "s", "shell", "in_progress", "m"],
            ["tool_result", "s", "shell", "success", "m"],
            ["assistant_message", "s", null, null, "m"],
        ])
    );
    assert!(
        events.iter().any(|event| event["event_type"] == "meta" && event["raw"]["payload"]["type"] == "ghost_commit")
    );
}

fn claude(kind: &str, uuid: &str, message: &Value) -> Value {
    json!({"type": kind, "uuid": uuid, "sessionId": "s", "cwd": "/w", "version": "2.1.197", "isSidechain": true,
        "agentId": "a1", "timestamp": "2026-11-01T10:00:00Z", "message": message})
}

#[test]
fn a_subagents_log_has_a_root_and_its_own_model() {
    let path = recording("claude/testdata/log/projects/recorded/i_taskfg/subagents/agent-a3b358c380133ac1c.jsonl");
    let events = trace_file("claude:log", &path);
    assert_eq!(events[0]["event_type"], "user_message");
    let root = &events[0]["event_id"];
    assert!(events[1..].iter().all(|event| event["parent_event_id"] == *root), "{events:#?}");
    let block = |uuid: &str, block: Value| {
        claude(
            "assistant",
            uuid,
            &json!({"id": "m", "role": "assistant", "model": "small", "content": [block],
            "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}}),
        )
    };
    let main = json!({"type": "assistant", "uuid": "u0", "sessionId": "s", "cwd": "/w", "timestamp": "2026-11-01T10:00:00Z",
        "message": {"id": "m0", "role": "assistant", "model": "large", "content": "hi", "stop_reason": "end_turn"}});
    let events = trace(
        "claude:log",
        &[
            main,
            claude("user", "u1", &json!({"role": "user", "content": "look around"})),
            block("u2", json!({"type": "thinking", "thinking": "hm"})),
            block("u3", json!({"type": "text", "text": "I see"})),
        ],
    );
    assert_eq!(
        fields(&events, &["user_message", "assistant_message", "reasoning"], &["event_type", "text", "model"]),
        json!([
            ["assistant_message", "hi", "large"],
            ["user_message", "look around", null],
            ["reasoning", "hm", "small"],
            ["assistant_message", "I see", "small"],
        ])
    );
}

#[test]
fn the_text_blocks_of_a_record_are_one_message() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}});
    let record = claude(
        "assistant",
        "u",
        &json!({"id": "m", "role": "assistant", "model": "x", "stop_reason": "tool_use",
        "content": [text("one "), text("two"), call, text(" three")]}),
    );
    let events = trace("claude:log", &[record]);
    assert_eq!(fields(&events, &["assistant_message"], &["text"]), json!([["one two three"]]));
}

#[test]
fn what_switchboard_adds_comes_after_the_first_prompt() {
    for path in [
        "claude/testdata/log/projects/recorded/a_text.jsonl",
        "codex/testdata/log/shell.jsonl",
        "gemini/testdata/log/tmp/gp/chats/session-2026-11-15T19-23-824dc906.jsonl",
    ] {
        let source = format!("{}:log", path.split('/').next().unwrap());
        let events = trace_file(&source, &recording(path));
        let own = |event: &&Value| {
            let text = event["text"].as_str().unwrap_or_default();
            event["event_type"] == "meta" && ["session started", "session updated", "turn started"].contains(&text)
        };
        assert!(events.iter().any(|event| own(&event)), "{path}");
        for event in events.iter().filter(own) {
            assert!(event["parent_event_id"].is_string(), "{path}: {event}");
        }
    }
}

#[test]
fn a_session_without_an_id_is_called_like_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rollout-2025-05-01.jsonl");
    fs::write(&path, "{\"type\":\"message\",\"role\":\"user\",\"content\":\"hello\"}\n").unwrap();
    let first = trace_file("codex:log", &path);
    assert!(first.iter().all(|event| event["session_id"] == "rollout-2025-05-01"), "{first:#?}");
    let ids = |events: &[Value]| fields(events, &["user_message", "meta"], &["event_id", "parent_event_id"]);
    assert_eq!(ids(&first), ids(&trace_file("codex:log", &path)));
}

#[test]
fn records_that_share_a_line_are_each_an_event() {
    let user = |uuid: &str, text: &str| {
        json!({"type": "user", "uuid": uuid, "sessionId": "s", "cwd": "/w", "timestamp": "2026-11-01T10:00:00Z",
            "message": {"role": "user", "content": text}})
        .to_string()
    };
    let (one, two, three) = (user("u1", "one"), user("u2", "two"), user("u3", "three"));
    let torn = two.get(..two.len() / 2).unwrap();
    let input = format!("{one}{two}\n{torn}{three}\n");
    let events = binary::run(&["translate", "--from", "claude:log", "--to", "events"], input.as_bytes()).ok();
    let natives: Vec<Value> =
        parse(&events).into_iter().filter_map(|mut event| event.as_object_mut()?.remove("native")).collect();
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(natives, [parsed(&one), parsed(&two), json!(torn), parsed(&three)]);
    let events = binary::run(&["translate", "--from", "claude:log", "--to", "trace"], input.as_bytes()).ok();
    assert_eq!(fields(&parse(&events), &["user_message"], &["text"]), json!([["one"], ["two"], ["three"]]));
}
