//! What clients of the harness protocol rely on.

use serde_json::{Value, json};

use super::DIALECT;
use crate::test_sessions::{Samples, everything};

/// The methods of all messages, in their order.
fn methods(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["method"].as_str().unwrap()).collect()
}

/// The `params` of all messages of one method.
fn params<'a>(messages: &'a [Value], method: &str) -> Vec<&'a Value> {
    messages.iter().filter(|message| message["method"] == method).map(|message| &message["params"]).collect()
}

/// Without what is ours.
fn bare(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            Value::Object(map.iter().filter(|(key, _)| *key != "_meta").map(|(k, v)| (k.clone(), bare(v))).collect())
        }
        Value::Array(values) => values.iter().map(bare).collect(),
        other => other.clone(),
    }
}

/// The finished item that an item of the event model becomes.
fn check_item(given: Value, expected: &Value) {
    let mut samples = Samples::in_turn();
    samples.starts("i", given.clone());
    samples.ends("i", given);
    let messages = samples.in_dialect(&DIALECT);
    assert_eq!(&bare(&params(&messages, "item/completed")[0]["item"]), expected);
}

#[test]
fn everything_is_valid_and_every_item_ends_once() {
    let messages = everything().in_dialect(&DIALECT);
    assert!(messages.iter().all(|message| message.get("jsonrpc").is_none()));
    let ids = |method| {
        let mut ids: Vec<String> = params(&messages, method).iter().map(|p| p["item"]["id"].to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("item/started"), ids("item/completed"));
    let open = messages.iter().filter(|message| message.get("id").is_some()).count();
    assert_eq!(open, params(&messages, "switchboard/requestResolved").len());
}

#[test]
fn a_turn_streams_and_ends_with_all_its_items() {
    let mut samples = Samples::in_turn();
    samples.starts("u", json!({"type": "user_message", "content": [{"type": "text", "text": "do it"}]}));
    samples.ends("u", json!({"type": "user_message", "content": [{"type": "text", "text": "do it"}]}));
    samples.starts("c", json!({"type": "command", "command": "ls", "output": ""}));
    samples.starts("m", json!({"type": "agent_message", "text": ""}));
    samples.grows("m", "text", "hel");
    samples.grows("c", "output", "a\n");
    samples.grows("m", "text", "lo");
    samples.ends("m", json!({"type": "agent_message", "text": "hello"}));
    samples.ends("c", json!({"type": "command", "command": "ls", "output": "a\n", "exit_code": 0, "duration_ms": 3}));
    samples.turn_ends(json!({"status": "completed", "stop": "end_turn"}));
    let messages = samples.in_dialect(&DIALECT);
    assert_eq!(
        methods(&messages),
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
        bare(&messages[0]["params"]),
        json!({"thread": {"id": "s", "preview": "", "modelProvider": "acme", "createdAt": 1_794_736_801}})
    );
    assert_eq!(
        bare(&messages[1]["params"]),
        json!({"threadId": "s", "turn": {"id": "turn_1", "status": "inProgress", "items": []}})
    );
    assert_eq!(messages[6]["params"], json!({"threadId": "s", "turnId": "turn_1", "itemId": "m", "delta": "hel"}));
    assert_eq!(
        bare(&messages[11]["params"]["turn"]),
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
    let mut samples = Samples::in_turn();
    let content = json!([
        {"type": "text", "text": "look"}, {"type": "image", "media_type": "image/gif", "data": "AAAA"},
        {"type": "image", "url": "https://example.org/a.png"}, {"type": "image", "url": "file:///a.png"},
        {"type": "file", "url": "file:///a.txt"}
    ]);
    samples.starts("u", json!({"type": "user_message", "content": content}));
    let messages = samples.in_dialect(&DIALECT);
    assert_eq!(
        params(&messages, "item/started")[0]["item"]["content"],
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
    let mut samples = Samples::in_turn();
    samples.starts("p", plan("pending"));
    samples.item(
        "p",
        "item.delta",
        json!({"op": "set", "patch": {"type": "plan", "status": "running", "entries": []}}),
    );
    samples.ends("p", plan("completed"));
    samples.starts("q", plan("completed"));
    samples.within(Some(("p", "child")));
    samples.starts("r", plan("pending"));
    let messages = samples.in_dialect(&DIALECT);
    let shown: Vec<_> = params(&messages, "turn/plan/updated");
    assert_eq!(shown.len(), 3);
    assert_eq!(shown[1], &json!({"threadId": "s", "turnId": "turn_1", "explanation": "", "plan": []}));
    assert_eq!(shown[2]["plan"], json!([{"step": "one", "status": "completed"}]));
    assert_eq!(shown[2]["explanation"], "so");
}

#[test]
fn usage_adds_up_within_a_turn() {
    let mut samples = Samples::in_turn();
    samples.add("usage", json!({"input": 10, "output": 5, "cache_read": 3}));
    samples.add("usage", json!({"input": 900, "output": 900, "cumulative": true}));
    samples.add("usage", json!({"input": 1, "output": 2, "reasoning": 1, "cache_write_5m": 4}));
    samples.turn_ends(json!({"status": "completed", "stop": "end_turn"}));
    samples.turn("again");
    samples.add("usage", json!({"input": 7, "output": 0}));
    let messages = samples.in_dialect(&DIALECT);
    let shown: Vec<_> = params(&messages, "thread/tokenUsage/updated").iter().map(|p| p["usage"].clone()).collect();
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
    let mut samples = Samples::in_turn();
    let error = json!({"code": "context_overflow", "message": "too long", "http_status": 400, "info": "own"});
    samples.turn_ends(json!({"status": "failed", "stop": "error", "error": error}));
    samples.turn("again");
    samples.turn_ends(json!({"status": "interrupted", "stop": "cancelled", "error": error}));
    let messages = samples.in_dialect(&DIALECT);
    let turns: Vec<Value> = params(&messages, "turn/completed").iter().map(|p| bare(&p["turn"])).collect();
    assert_eq!(
        turns[0]["error"],
        json!({"message": "too long", "errorInfo": "ContextWindowExceeded", "httpStatusCode": 400})
    );
    assert_eq!(turns[1], json!({"id": "turn_2", "status": "interrupted", "items": []}));
}

#[test]
fn approvals_are_requests_with_an_id() {
    let mut samples = Samples::in_turn();
    let command = json!({"request": "r1", "about": "command", "title": "Run ls", "command": "ls", "reason": "why"});
    samples.item("c", "request.opened", command);
    samples.add("request.opened", json!({"request": "r2", "about": "file_change", "title": "", "changes": [{"path": "/a", "kind": "add", "diff": "+a"}]}));
    samples.add("request.opened", json!({"request": "r3", "about": "question", "title": "Which?"}));
    samples.add("request.resolved", json!({"request": "r1", "outcome": "allowed", "by": "client"}));
    let messages = samples.in_dialect(&DIALECT);
    let of = |id: &str| bare(messages.iter().find(|message| message["id"] == id).unwrap());
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
        *params(&messages, "switchboard/requestResolved")[0],
        json!({"threadId": "s", "turnId": "turn_1", "requestId": "r1", "outcome": "allowed", "by": "client"})
    );
}

#[test]
fn an_item_starts_before_its_approval_and_once() {
    let asks = |item: Option<&str>, samples: &mut Samples| {
        let command = json!({"request": "r", "about": "command", "title": "Run ls", "command": "ls"});
        match item {
            Some(item) => samples.item(item, "request.opened", command),
            None => samples.add("request.opened", command),
        }
    };
    let resolved = |outcome: &str| json!({"request": "r", "outcome": outcome, "by": "client"});
    let lifecycle = |samples: &Samples| {
        let messages = samples.in_dialect(&DIALECT);
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
    // The agent asks before it tells of the call.
    let mut samples = Samples::in_turn();
    asks(Some("c"), &mut samples);
    samples.add("request.resolved", resolved("allowed"));
    samples.starts("c", json!({"type": "command", "command": "ls", "output": ""}));
    samples.ends("c", json!({"type": "command", "command": "ls", "output": "a", "status": "completed"}));
    assert_eq!(lifecycle(&samples), ["started inProgress", "requestApproval", "completed completed"]);
    // It never tells of it.
    let mut samples = Samples::in_turn();
    asks(Some("c"), &mut samples);
    samples.add("request.resolved", resolved("declined"));
    samples.turn_ends(json!({"status": "completed", "stop": "end_turn"}));
    assert_eq!(lifecycle(&samples), ["started inProgress", "requestApproval", "completed declined"]);
    let turn = samples.in_dialect(&DIALECT).pop().unwrap();
    assert_eq!(turn["params"]["turn"]["items"][0]["status"], "declined");
    // It names no call at all.
    let mut samples = Samples::in_turn();
    asks(None, &mut samples);
    samples.add("request.resolved", resolved("allowed"));
    assert_eq!(lifecycle(&samples), ["started inProgress", "requestApproval", "completed completed"]);
    // It tells first, as most do.
    let mut samples = Samples::in_turn();
    samples.starts("c", json!({"type": "command", "command": "ls", "output": ""}));
    asks(Some("c"), &mut samples);
    assert_eq!(lifecycle(&samples), ["started inProgress", "requestApproval"]);
}

#[test]
fn a_diff_that_grows_is_streamed() {
    let change = |diff: &str| json!({"type": "file_change", "status": "running", "changes": [{"path": "/a", "kind": "modify", "diff": diff}]});
    let mut samples = Samples::in_turn();
    samples.starts("f", change("-a\n"));
    for diff in ["-a\n+b\n", "-a\n+b\n", "+rewritten\n+much\n", "-a\n+b\n+c\n"] {
        samples.item("f", "item.delta", json!({"op": "set", "patch": change(diff)}));
    }
    samples.ends("f", change("-a\n+b\n+c\n"));
    let messages = samples.in_dialect(&DIALECT);
    let deltas: Vec<_> = params(&messages, "item/fileChange/outputDelta").iter().map(|p| p["delta"].clone()).collect();
    assert_eq!(deltas, ["+b\n", "+c\n"]);
}

#[test]
fn what_only_one_maker_has_goes_by_its_name() {
    let method = |notice: Value| {
        let mut samples = Samples::begun();
        samples.add("notice", notice);
        samples.in_dialect(&DIALECT).pop().unwrap()["method"].as_str().unwrap().to_owned()
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
    let mut samples = Samples::in_turn();
    samples.within(Some(("task", "child")));
    samples.starts("m", json!({"type": "agent_message", "text": ""}));
    samples.grows("m", "text", "hi");
    samples.turn_ends(json!({"status": "completed", "stop": "end_turn"}));
    samples.ends("m", json!({"type": "agent_message", "text": "hi"}));
    let messages = samples.in_dialect(&DIALECT);
    let place = json!({"thread": "child", "parentItemId": "task"});
    assert_eq!(params(&messages, "switchboard/itemDelta")[0]["_meta"], place);
    assert!(params(&messages, "item/agentMessage/delta").is_empty());
    let done = params(&messages, "item/completed")[0];
    assert_eq!((&done["item"]["_meta"], &done["turnId"]), (&place, &json!("turn_1")));
}

#[test]
fn what_happens_outside_turns_has_a_turn_id_too() {
    let mut samples = Samples::begun();
    samples.starts("a", json!({"type": "agent_message", "text": "early"}));
    samples.ends("a", json!({"type": "agent_message", "text": "early"}));
    samples.turn("do it");
    samples.turn_ends(json!({"status": "completed", "stop": "end_turn"}));
    samples.starts("b", json!({"type": "agent_message", "text": "late"}));
    let messages = samples.in_dialect(&DIALECT);
    let turns: Vec<_> = params(&messages, "item/started").iter().map(|p| &p["turnId"]).collect();
    assert_eq!(turns, ["turn_0", "turn_1"]);
    assert_eq!(params(&messages, "turn/completed")[0]["turn"]["items"], json!([]));
}

#[test]
fn a_second_run_is_the_same_thread() {
    let mut samples = Samples::in_turn();
    samples.turn_ends(json!({"status": "completed", "stop": "end_turn"}));
    samples.add("session.ended", json!({"reason": "completed", "duration_ms": 1, "by": "agent"}));
    samples.rerun();
    samples.turn("go on");
    let messages = samples.in_dialect(&DIALECT);
    let threads: Vec<Value> = params(&messages, "thread/started").iter().map(|p| bare(&p["thread"])).collect();
    assert_eq!(threads[0]["createdAt"], threads[1]["createdAt"]);
    assert_eq!((&threads[0]["preview"], &threads[1]["preview"]), (&json!(""), &json!("do it")));
    assert_eq!(params(&messages, "turn/started")[1]["turn"]["id"], "turn_2");
}

#[test]
fn chatter_between_host_and_agent_is_not_told() {
    for topic in crate::test_sessions::TOPICS {
        let mut samples = Samples::begun();
        samples.add("notice", json!({"topic": topic, "text": "x"}));
        let told = params(&samples.in_dialect(&DIALECT), "switchboard/notice").len() == 1;
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
