//! Tests of the guarantees for harness clients.

use serde_json::{Value, json};

use super::DIALECT;
use crate::test_sessions::{SampleSession, full_sample_session};

/// Returns the methods of all messages in order.
fn message_methods(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["method"].as_str().unwrap()).collect()
}

/// Returns the `params` of all messages with a method.
fn params_of<'a>(messages: &'a [Value], method: &str) -> Vec<&'a Value> {
    messages.iter().filter(|message| message["method"] == method).map(|message| &message["params"]).collect()
}

/// Removes all `_meta` fields.
fn strip_meta(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter().filter(|(key, _)| *key != "_meta").map(|(k, v)| (k.clone(), strip_meta(v))).collect(),
        ),
        Value::Array(values) => values.iter().map(strip_meta).collect(),
        other => other.clone(),
    }
}

/// Checks the completed thread item for an item of the event model.
fn check_item(given: Value, expected: &Value) {
    let mut samples = SampleSession::in_turn();
    samples.start_item("i", given.clone());
    samples.end_item("i", given);
    let messages = samples.project_to(&DIALECT);
    assert_eq!(&strip_meta(&params_of(&messages, "item/completed")[0]["item"]), expected);
}

#[test]
fn everything_is_valid_and_every_item_ends_once() {
    let messages = full_sample_session().project_to(&DIALECT);
    assert!(messages.iter().all(|message| message.get("jsonrpc").is_none()));
    let ids = |method| {
        let mut ids: Vec<String> = params_of(&messages, method).iter().map(|p| p["item"]["id"].to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("item/started"), ids("item/completed"));
    let open = messages.iter().filter(|message| message.get("id").is_some()).count();
    assert_eq!(open, params_of(&messages, "switchboard/requestResolved").len());
}

#[test]
fn a_turn_streams_and_ends_with_all_its_items() {
    let mut samples = SampleSession::in_turn();
    samples.start_item("u", json!({"type": "user_message", "content": [{"type": "text", "text": "do it"}]}));
    samples.end_item("u", json!({"type": "user_message", "content": [{"type": "text", "text": "do it"}]}));
    samples.start_item("c", json!({"type": "command", "command": "ls", "output": ""}));
    samples.start_item("m", json!({"type": "agent_message", "text": ""}));
    samples.append_text("m", "text", "hel");
    samples.append_text("c", "output", "a\n");
    samples.append_text("m", "text", "lo");
    samples.end_item("m", json!({"type": "agent_message", "text": "hello"}));
    samples
        .end_item("c", json!({"type": "command", "command": "ls", "output": "a\n", "exit_code": 0, "duration_ms": 3}));
    samples.end_turn(json!({"status": "completed", "stop": "end_turn"}));
    let messages = samples.project_to(&DIALECT);
    assert_eq!(
        message_methods(&messages),
        [
            "thread/started",
            "turn/started",
            "item/started",
            "item/completed",
            "item/started",
            "item/started",
            "item/agentMessage/delta",
            "item/commandExecution/outputDelta",
            "item/agentMessage/delta",
            "item/completed",
            "item/completed",
            "turn/completed"
        ]
    );
    assert_eq!(
        strip_meta(&messages[0]["params"]),
        json!({"thread": {"id": "s", "preview": "", "modelProvider": "acme", "createdAt": 1_794_736_801}})
    );
    assert_eq!(
        strip_meta(&messages[1]["params"]),
        json!({"threadId": "s", "turn": {"id": "turn_1", "status": "inProgress", "items": []}})
    );
    assert_eq!(messages[6]["params"], json!({"threadId": "s", "turnId": "turn_1", "itemId": "m", "delta": "hel"}));
    assert_eq!(
        strip_meta(&messages[11]["params"]["turn"]),
        json!({"id": "turn_1", "status": "completed", "items": [
            {"type": "userMessage", "id": "u", "content": [{"type": "text", "text": "do it"}]},
            {"type": "commandExecution", "id": "c", "command": "ls", "cwd": "/repo", "status": "completed",
             "exitCode": 0, "aggregatedOutput": "a\n", "durationMs": 3},
            {"type": "agentMessage", "id": "m", "text": "hello"}
        ]})
    );
}

#[test]
fn items_have_the_shapes_of_the_specification() {
    check_item(
        json!({"type": "reasoning", "text": "long", "summary": "short"}),
        &json!({"type": "reasoning", "id": "i", "summary": "short", "content": "long"}),
    );
    check_item(
        json!({"type": "command", "command": "ls", "cwd": "/tmp", "output": "", "status": "interrupted"}),
        &json!({"type": "commandExecution", "id": "i", "command": "ls", "cwd": "/tmp", "status": "failed", "aggregatedOutput": ""}),
    );
    check_item(
        json!({"type": "file_change", "status": "declined", "changes": [{"path": "/a", "kind": "move", "to": "/b", "diff": "+b"}]}),
        &json!({"type": "fileChange", "id": "i", "status": "declined", "changes": [
            {"path": "/a", "kind": "delete", "diff": ""}, {"path": "/b", "kind": "add", "diff": "+b"}]}),
    );
    check_item(
        json!({"type": "mcp", "server": "s", "tool": "t", "status": "declined", "call": {"name": "s.t", "kind": "other", "input": {"a": 1}}}),
        &json!({"type": "mcpToolCall", "id": "i", "server": "s", "tool": "t", "arguments": {"a": 1}, "status": "failed", "error": "declined"}),
    );
    check_item(
        json!({"type": "web_search", "queries": ["a", "b"]}),
        &json!({"type": "webSearch", "id": "i", "query": "a, b"}),
    );
    check_item(
        json!({"type": "plan", "entries": [{"step": "one", "status": "in_progress"}]}),
        &json!({"type": "plan", "id": "i", "text": "- one", "entries": [{"step": "one", "status": "inProgress"}]}),
    );
    check_item(
        json!({"type": "tool", "output": "out", "call": {"name": "t", "kind": "other", "input": [1], "title": "T"}}),
        &json!({"type": "toolCall", "id": "i", "name": "t", "title": "T", "arguments": {"input": [1]}, "status": "completed", "result": "out"}),
    );
    check_item(
        json!({"type": "unknown", "name": "novelty", "raw": {"n": 1}}),
        &json!({"type": "toolCall", "id": "i", "name": "novelty", "arguments": {}, "status": "completed", "result": {"n": 1}}),
    );
    check_item(
        json!({"type": "subagent", "thread": "child", "name": "helper", "label": "help", "result": "r"}),
        &json!({"type": "subagent", "id": "i", "thread": "child", "name": "helper", "label": "help", "status": "completed", "result": "r"}),
    );
}

#[test]
fn what_the_user_says_is_input() {
    let mut samples = SampleSession::in_turn();
    let content = json!([
        {"type": "text", "text": "look"}, {"type": "image", "media_type": "image/gif", "data": "AAAA"},
        {"type": "image", "url": "https://example.org/a.png"}, {"type": "image", "url": "file:///a.png"},
        {"type": "file", "url": "file:///a.txt"}
    ]);
    samples.start_item("u", json!({"type": "user_message", "content": content}));
    let messages = samples.project_to(&DIALECT);
    assert_eq!(
        params_of(&messages, "item/started")[0]["item"]["content"],
        json!([
            {"type": "text", "text": "look"}, {"type": "image", "url": "data:image/gif;base64,AAAA"},
            {"type": "image", "url": "https://example.org/a.png"}, {"type": "localImage", "path": "/a.png"},
            {"type": "text", "text": "file:///a.txt"}
        ])
    );
}

#[test]
fn a_plan_is_shown_when_it_changes() {
    let plan = |status| json!({"type": "plan", "entries": [{"step": "one", "status": status}], "explanation": "so"});
    let mut samples = SampleSession::in_turn();
    samples.start_item("p", plan("pending"));
    samples.add_item_event(
        "p",
        "item.delta",
        json!({"op": "set", "patch": {"type": "plan", "status": "running", "entries": []}}),
    );
    samples.end_item("p", plan("completed"));
    samples.start_item("q", plan("completed"));
    samples.set_subagent(Some(("p", "child")));
    samples.start_item("r", plan("pending"));
    let messages = samples.project_to(&DIALECT);
    let shown: Vec<_> = params_of(&messages, "turn/plan/updated");
    assert_eq!(shown.len(), 3);
    assert_eq!(shown[1], &json!({"threadId": "s", "turnId": "turn_1", "explanation": "", "plan": []}));
    assert_eq!(shown[2]["plan"], json!([{"step": "one", "status": "completed"}]));
    assert_eq!(shown[2]["explanation"], "so");
}

#[test]
fn usage_adds_up_within_a_turn() {
    let mut samples = SampleSession::in_turn();
    samples.add_event("usage", json!({"input": 10, "output": 5, "cache_read": 3}));
    samples.add_event("usage", json!({"input": 900, "output": 900, "cumulative": true}));
    samples.add_event("usage", json!({"input": 1, "output": 2, "reasoning": 1, "cache_write_5m": 4}));
    samples.end_turn(json!({"status": "completed", "stop": "end_turn"}));
    samples.start_turn("again");
    samples.add_event("usage", json!({"input": 7, "output": 0}));
    let messages = samples.project_to(&DIALECT);
    let shown: Vec<_> = params_of(&messages, "thread/tokenUsage/updated").iter().map(|p| p["usage"].clone()).collect();
    assert_eq!(
        shown,
        [
            json!({"inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 3}),
            json!({"inputTokens": 11, "outputTokens": 7, "thinkingTokens": 1, "cacheReadTokens": 3, "cacheWriteTokens": 4}),
            json!({"inputTokens": 7, "outputTokens": 0}),
        ]
    );
}

#[test]
fn a_failed_turn_says_why_and_an_interrupted_one_is_no_error() {
    let mut samples = SampleSession::in_turn();
    let error = json!({"code": "context_overflow", "message": "too long", "http_status": 400, "info": "own"});
    samples.end_turn(json!({"status": "failed", "stop": "error", "error": error}));
    samples.start_turn("again");
    samples.end_turn(json!({"status": "interrupted", "stop": "cancelled", "error": error}));
    let messages = samples.project_to(&DIALECT);
    let turns: Vec<Value> = params_of(&messages, "turn/completed").iter().map(|p| strip_meta(&p["turn"])).collect();
    assert_eq!(
        turns[0]["error"],
        json!({"message": "too long", "errorInfo": "ContextWindowExceeded", "httpStatusCode": 400})
    );
    assert_eq!(turns[1], json!({"id": "turn_2", "status": "interrupted", "items": []}));
}

#[test]
fn approvals_are_requests_with_an_id() {
    let mut samples = SampleSession::in_turn();
    let command = json!({"request": "r1", "about": "command", "title": "Run ls", "command": "ls", "reason": "why"});
    samples.add_item_event("c", "request.opened", command);
    samples.add_event("request.opened", json!({"request": "r2", "about": "file_change", "title": "", "changes": [{"path": "/a", "kind": "add", "diff": "+a"}]}));
    samples.add_event("request.opened", json!({"request": "r3", "about": "question", "title": "Which?"}));
    samples.add_event("request.resolved", json!({"request": "r1", "outcome": "allowed", "by": "client"}));
    let messages = samples.project_to(&DIALECT);
    let of = |id: &str| strip_meta(messages.iter().find(|message| message["id"] == id).unwrap());
    assert_eq!(
        of("r1"),
        json!({"id": "r1", "method": "item/commandExecution/requestApproval", "params": {"threadId": "s", "turnId": "turn_1",
            "itemId": "c", "command": "ls", "cwd": "/repo", "reason": "why"}})
    );
    assert_eq!(
        of("r2"),
        json!({"id": "r2", "method": "item/fileChange/requestApproval", "params": {"threadId": "s", "turnId": "turn_1",
            "itemId": "r2", "changes": [{"path": "/a", "kind": "add", "diff": "+a"}]}})
    );
    assert_eq!(of("r3")["method"], "switchboard/request");
    assert_eq!(
        *params_of(&messages, "switchboard/requestResolved")[0],
        json!({"threadId": "s", "turnId": "turn_1", "requestId": "r1", "outcome": "allowed", "by": "client"})
    );
}

#[test]
fn an_item_starts_before_its_approval_and_once() {
    let asks = |item: Option<&str>, samples: &mut SampleSession| {
        let command = json!({"request": "r", "about": "command", "title": "Run ls", "command": "ls"});
        match item {
            Some(item) => samples.add_item_event(item, "request.opened", command),
            None => samples.add_event("request.opened", command),
        }
    };
    let resolved = |outcome: &str| json!({"request": "r", "outcome": outcome, "by": "client"});
    let lifecycle = |samples: &SampleSession| {
        let messages = samples.project_to(&DIALECT);
        let told = messages.iter().filter_map(|message| {
            let item = &message["params"]["item"];
            let name = message["method"].as_str()?.rsplit('/').next()?.to_owned();
            let is_told = ["started", "requestApproval", "completed"].contains(&name.as_str());
            let status = item["status"].as_str().unwrap_or_default();
            (is_told && message["params"].get("turn").is_none() && message["params"].get("thread").is_none())
                .then(|| format!("{name} {status}").trim().to_owned())
        });
        told.collect::<Vec<_>>()
    };
    // The agent asks before it reports the call.
    let mut samples = SampleSession::in_turn();
    asks(Some("c"), &mut samples);
    samples.add_event("request.resolved", resolved("allowed"));
    samples.start_item("c", json!({"type": "command", "command": "ls", "output": ""}));
    samples.end_item("c", json!({"type": "command", "command": "ls", "output": "a", "status": "completed"}));
    assert_eq!(lifecycle(&samples), ["started inProgress", "requestApproval", "completed completed"]);
    // The agent never reports the call.
    let mut samples = SampleSession::in_turn();
    asks(Some("c"), &mut samples);
    samples.add_event("request.resolved", resolved("declined"));
    samples.end_turn(json!({"status": "completed", "stop": "end_turn"}));
    assert_eq!(lifecycle(&samples), ["started inProgress", "requestApproval", "completed declined"]);
    let turn = samples.project_to(&DIALECT).pop().unwrap();
    assert_eq!(turn["params"]["turn"]["items"][0]["status"], "declined");
    // The request names no call.
    let mut samples = SampleSession::in_turn();
    asks(None, &mut samples);
    samples.add_event("request.resolved", resolved("allowed"));
    assert_eq!(lifecycle(&samples), ["started inProgress", "requestApproval", "completed completed"]);
    // The agent reports the call first, as most do.
    let mut samples = SampleSession::in_turn();
    samples.start_item("c", json!({"type": "command", "command": "ls", "output": ""}));
    asks(Some("c"), &mut samples);
    assert_eq!(lifecycle(&samples), ["started inProgress", "requestApproval"]);
}

#[test]
fn a_diff_that_grows_is_streamed() {
    let change = |diff: &str| json!({"type": "file_change", "status": "running", "changes": [{"path": "/a", "kind": "modify", "diff": diff}]});
    let mut samples = SampleSession::in_turn();
    samples.start_item("f", change("-a\n"));
    for diff in ["-a\n+b\n", "-a\n+b\n", "+rewritten\n+much\n", "-a\n+b\n+c\n"] {
        samples.add_item_event("f", "item.delta", json!({"op": "set", "patch": change(diff)}));
    }
    samples.end_item("f", change("-a\n+b\n+c\n"));
    let messages = samples.project_to(&DIALECT);
    let deltas: Vec<_> =
        params_of(&messages, "item/fileChange/outputDelta").iter().map(|p| p["delta"].clone()).collect();
    assert_eq!(deltas, ["+b\n", "+c\n"]);
}

#[test]
fn what_only_one_maker_has_goes_by_its_name() {
    let method = |notice: Value| {
        let mut samples = SampleSession::new_started();
        samples.add_event("notice", notice);
        samples.project_to(&DIALECT).pop().unwrap()["method"].as_str().unwrap().to_owned()
    };
    let limits = json!({"topic": "rate_limit", "level": "debug", "vendor": "acme"});
    assert_eq!(method(limits), "acme/rate_limits_updated");
    let status = |name: &str| json!({"topic": "status", "level": "info", "name": name, "vendor": "acme"});
    assert_eq!(method(status("a/b_c")), "acme/a/b_c");
    assert_eq!(method(status("two words")), "switchboard/notice");
    assert_eq!(method(json!({"topic": "rate_limit", "level": "warning"})), "switchboard/notice");
}

#[test]
fn a_subagent_is_marked_and_outlives_the_turn() {
    let mut samples = SampleSession::in_turn();
    samples.set_subagent(Some(("task", "child")));
    samples.start_item("m", json!({"type": "agent_message", "text": ""}));
    samples.append_text("m", "text", "hi");
    samples.end_turn(json!({"status": "completed", "stop": "end_turn"}));
    samples.end_item("m", json!({"type": "agent_message", "text": "hi"}));
    let messages = samples.project_to(&DIALECT);
    let place = json!({"thread": "child", "parentItemId": "task"});
    assert_eq!(params_of(&messages, "switchboard/itemDelta")[0]["_meta"], place);
    assert!(params_of(&messages, "item/agentMessage/delta").is_empty());
    let done = params_of(&messages, "item/completed")[0];
    assert_eq!((&done["item"]["_meta"], &done["turnId"]), (&place, &json!("turn_1")));
}

#[test]
fn what_happens_outside_turns_has_a_turn_id_too() {
    let mut samples = SampleSession::new_started();
    samples.start_item("a", json!({"type": "agent_message", "text": "early"}));
    samples.end_item("a", json!({"type": "agent_message", "text": "early"}));
    samples.start_turn("do it");
    samples.end_turn(json!({"status": "completed", "stop": "end_turn"}));
    samples.start_item("b", json!({"type": "agent_message", "text": "late"}));
    let messages = samples.project_to(&DIALECT);
    let turns: Vec<_> = params_of(&messages, "item/started").iter().map(|p| &p["turnId"]).collect();
    assert_eq!(turns, ["turn_0", "turn_1"]);
    assert_eq!(params_of(&messages, "turn/completed")[0]["turn"]["items"], json!([]));
}

#[test]
fn a_second_run_is_the_same_thread() {
    let mut samples = SampleSession::in_turn();
    samples.end_turn(json!({"status": "completed", "stop": "end_turn"}));
    samples.add_event("session.ended", json!({"reason": "completed", "duration_ms": 1, "by": "agent"}));
    samples.start_run();
    samples.start_turn("go on");
    let messages = samples.project_to(&DIALECT);
    let threads: Vec<Value> = params_of(&messages, "thread/started").iter().map(|p| strip_meta(&p["thread"])).collect();
    assert_eq!(threads[0]["createdAt"], threads[1]["createdAt"]);
    assert_eq!((&threads[0]["preview"], &threads[1]["preview"]), (&json!(""), &json!("do it")));
    assert_eq!(params_of(&messages, "turn/started")[1]["turn"]["id"], "turn_2");
}

#[test]
fn chatter_between_host_and_agent_is_not_told() {
    for topic in crate::test_sessions::NOTICE_TOPICS {
        let mut samples = SampleSession::new_started();
        samples.add_event("notice", json!({"topic": topic, "text": "x"}));
        let told = params_of(&samples.project_to(&DIALECT), "switchboard/notice").len() == 1;
        assert_eq!(told, !["heartbeat", "unknown", "control", "echo"].contains(&topic), "{topic}");
    }
}

#[test]
fn the_schema_is_strict() {
    let item = json!({"type": "commandExecution", "id": "c", "command": "ls", "cwd": "", "status": "completed"});
    let good = json!({"method": "item/started", "params": {"threadId": "s", "turnId": "turn_1", "item": item}});
    let validator = jsonschema::validator_for(&(DIALECT.schema)(&[])).unwrap();
    assert!(validator.is_valid(&good));
    for (pointer, bad) in [
        ("/method", json!("item/novelty")),
        ("/method", json!("turn/started")),
        ("/params", json!({"threadId": "s", "turnId": "turn_1"})),
        ("/params/turnId", json!("1")),
        ("/params/threadId", Value::Null),
        ("/params/item/status", json!("done")),
        ("/params/item/type", json!("novelty")),
        ("/params/item", json!({"type": "commandExecution", "id": "c", "command": "ls", "status": "completed"})),
        ("/params/item/cwd", Value::Null),
    ] {
        let mut message = good.clone();
        *message.pointer_mut(pointer).unwrap() = bad.clone();
        assert!(!validator.is_valid(&message), "{pointer} = {bad}");
    }
    for (key, value) in [("jsonrpc", json!("2.0")), ("id", json!("r1"))] {
        let mut message = good.clone();
        message[key] = value;
        assert!(!validator.is_valid(&message), "with {key}");
    }
}
