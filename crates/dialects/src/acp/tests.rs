//! Hand-written sessions and the ACP messages they produce.

use serde_json::{Value, json};
use switchboard_event::{Event, EventBody};

use super::{AcpClientCapabilities, AcpProjection, DIALECT, chosen_label, form_answers};
use crate::{
    MessageBuffer, Projection as _,
    test_events::{
        build_events, completed_turn, in_subagent, item_finished, item_started, notice_event, project_events,
        session_ended, session_with_turn, text_appended, whole_item,
    },
};

/// Returns the session updates of a turn, without the extension notifications around it.
fn session_updates(inner: &[Value]) -> Vec<Value> {
    let messages = project_events(&DIALECT, &session_with_turn(inner));
    messages.iter().filter_map(|message| message.pointer("/params/update").cloned()).collect()
}

fn assert_updates(inner: &[Value], expected: &Value) {
    assert_eq!(Value::from(session_updates(inner)), *expected);
}

/// Returns the messages for a client with the given capabilities.
fn project_for_client(client: AcpClientCapabilities, short: &[Value]) -> Vec<Value> {
    let (mut projection, mut out) = (AcpProjection::for_client(client), MessageBuffer::default());
    build_events(short).iter().for_each(|event| projection.project_event(event, &mut out));
    out.iter().map(|message| serde_json::from_slice(message).unwrap()).collect()
}

const NO_CAPABILITIES: AcpClientCapabilities =
    AcpClientCapabilities { notices: false, compaction: false, forms: false, terminals: false, extensions: false };

fn request_opened(id: &str, item: Option<&str>, data: Value) -> Value {
    let mut data = data;
    data["request"] = json!(id);
    json!({"kind": "request.opened", "turn": 1, "item": item, "data": data})
}

fn request_resolved(id: &str, item: Option<&str>, outcome: &str) -> Value {
    let data = json!({"request": id, "outcome": outcome, "by": "client"});
    json!({"kind": "request.resolved", "turn": 1, "item": item, "data": data})
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn text_and_thoughts_are_sent_once() {
    assert_updates(
        &[
            item_started("r", json!({"type": "reasoning"})),
            text_appended("r", "text", "hm"),
            item_finished("r", json!({"type": "reasoning", "text": "hmm"})),
            item_started("m", json!({"type": "agent_message", "text": ""})),
            text_appended("m", "text", "héllo "),
            text_appended("m", "text", "wor"),
            item_finished("m", json!({"type": "agent_message", "text": "héllo world"})),
        ],
        &json!([
            {"sessionUpdate": "agent_thought_chunk", "messageId": "r", "content": text_block("hm")},
            {"sessionUpdate": "agent_thought_chunk", "messageId": "r", "content": text_block("m")},
            {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text_block("héllo ")},
            {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text_block("wor")},
            {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text_block("ld")},
        ]),
    );
}

#[test]
fn a_prompt_is_what_the_user_said_and_its_echo_is_not() {
    let said =
        |words: &str| whole_item("u", &json!({"type": "user_message", "content": [{"type": "text", "text": words}]}));
    let start = json!({"kind": "turn.started", "turn": 1, "data": {"prompt": "do it"}});
    let [echo, more] = ["do it", "and that"].map(said);
    let messages =
        project_events(&DIALECT, &[vec![start], echo.to_vec(), more.to_vec(), vec![completed_turn()]].concat());
    let chunks = messages.iter().filter_map(|message| message.pointer("/params/update"));
    let chunks: Vec<_> = chunks.map(|update| (&update["sessionUpdate"], &update["content"]["text"])).collect();
    let user = json!("user_message_chunk");
    assert_eq!(chunks, [(&user, &json!("do it")), (&user, &json!("and that"))]);
}

#[test]
fn a_command_is_its_own_title_and_its_output_is_shown_as_it_is() {
    let call = json!({"name": "Bash", "title": "List", "kind": "execute", "input": {"command": "ls"}});
    let item = |more: Value| {
        let mut item = json!({"type": "command", "command": "ls", "cwd": "/w", "call": call});
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        item
    };
    assert_updates(
        &[
            item_started("t", item(json!({}))),
            text_appended("t", "output", "a\n"),
            item_finished("t", item(json!({"output": "a\n", "exit_code": 0}))),
        ],
        &json!([
            {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "name": "Bash", "kind": "execute",
             "status": "in_progress", "rawInput": {"command": "ls"},
             "_meta": {"terminal_info": {"terminal_id": "t", "cwd": "/w"}}},
            {"sessionUpdate": "tool_call_update", "toolCallId": "t",
             "_meta": {"terminal_output": {"terminal_id": "t", "data": "a\n"}}},
            {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
             "content": [{"type": "content", "content": text_block("```\na\n```")}],
             "rawOutput": {"output": "a\n", "exitCode": 0},
             "_meta": {"terminal_exit": {"terminal_id": "t", "exit_code": 0}}},
        ]),
    );
}

#[test]
fn a_client_with_terminals_gets_every_byte_once() {
    let command = |output: &str| json!({"type": "command", "command": "ls", "output": output, "exit_code": 1});
    let session = session_with_turn(&[
        item_started("t", command("")),
        text_appended("t", "output", "a\n"),
        item_finished("t", command("a\nb\n")),
    ]);
    let messages = project_for_client(AcpClientCapabilities { terminals: true, ..NO_CAPABILITIES }, &session);
    let data = |message: &Value| {
        let data = message.pointer("/params/update/_meta/terminal_output/data");
        data.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    assert_eq!(messages.iter().map(data).collect::<String>(), "a\nb\n");
    let contents: Vec<_> = messages.iter().filter_map(|message| message.pointer("/params/update/content")).collect();
    assert_eq!(contents, [&json!([{"type": "terminal", "terminalId": "t"}])]);
    assert_eq!(messages.last().unwrap()["params"]["update"]["status"], "failed");
    let beside = |message: &Value| message.pointer("/params/update/_meta").is_some();
    assert!(
        !project_for_client(NO_CAPABILITIES, &session).iter().any(beside),
        "a client without them hears of no terminal"
    );
}

#[test]
fn changes_of_files_are_diffs() {
    let change =
        json!({"path": "/w/a", "kind": "modify", "before": "a\n", "after": "b\n", "diff": "@@ -1 +1 @@\n-a\n+b\n"});
    let diff = json!({"type": "diff", "path": "/w/a", "oldText": "a\n", "newText": "b\n"});
    let shown = session_updates(&whole_item("f", &json!({"type": "file_change", "changes": [change]})));
    assert_eq!((&shown[0]["title"], &shown[0]["kind"]), (&json!("Edit /w/a"), &json!("edit")));
    assert_eq!(shown[0]["locations"], json!([{"path": "/w/a"}]));
    assert_eq!((&shown[0]["content"], &shown[1]["content"]), (&json!([diff]), &json!([diff])));
    let declined = json!({"type": "file_change", "changes": [change], "status": "declined"});
    let shown = session_updates(&whole_item("f", &declined));
    assert_eq!(
        (&shown[1]["status"], &shown[1]["content"]),
        (&json!("failed"), &json!([{"type": "content", "content": text_block("declined")}]))
    );
}

#[test]
fn a_list_of_things_to_do_is_a_plan_and_no_tool() {
    let call = json!({"name": "Todo", "input": {}});
    let plan = |first: &str| json!({"type": "plan", "call": call, "entries": [{"step": "one", "status": first}, {"step": "two"}]});
    let [a, b] = ["in_progress", "completed"].map(|status| whole_item("p", &plan(status)).to_vec());
    let entry = |content: &str, status: &str| json!({"content": content, "priority": "medium", "status": status});
    assert_updates(
        &[a, b.clone(), b].concat(),
        &json!([
            {"sessionUpdate": "plan", "entries": [entry("one", "in_progress"), entry("two", "pending")]},
            {"sessionUpdate": "plan", "entries": [entry("one", "completed"), entry("two", "pending")]},
        ]),
    );
    let refused = json!({"type": "plan", "call": call, "entries": [{"step": "one"}], "status": "declined"});
    let kinds: Vec<_> =
        session_updates(&whole_item("p", &refused)).iter().map(|update| update["sessionUpdate"].clone()).collect();
    assert_eq!(kinds, ["tool_call", "tool_call_update"]);
}

#[test]
fn a_permission_has_the_agents_own_options_and_says_what_it_is_about() {
    let requests = json!({
        "about": "command", "title": "Run it", "reason": "outside", "command": "rm x", "call": {"name": "Bash", "title": "Remove"},
        "options": [
            {"id": "yes", "label": "Yes", "kind": "allow_once"}, {"id": "all", "label": "All", "kind": "allow_session"},
            {"id": "no", "label": "No", "kind": "reject"}, {"id": "stop", "label": "Stop", "kind": "cancel"},
        ],
    });
    let command = json!({"type": "command", "command": "rm x"});
    let messages = project_events(
        &DIALECT,
        &session_with_turn(&[
            item_started("t", command.clone()),
            request_opened("q", Some("t"), requests),
            request_resolved("q", Some("t"), "allowed"),
            item_finished("t", command),
        ]),
    );
    let requests = messages.iter().find(|message| message["method"] == "session/request_permission").unwrap();
    let said = ["Remove", "Run it", "outside"].map(|said| json!({"type": "content", "content": text_block(said)}));
    assert_eq!(requests["id"], "q");
    assert_eq!(
        requests["params"]["toolCall"],
        json!({
            "toolCallId": "t", "title": "rm x",
            "content": said,
        })
    );
    let kinds: Vec<_> =
        requests["params"]["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once", "reject_once"]);
}

#[test]
fn no_comes_first_where_only_a_person_may_answer() {
    let kinds = |requests: Value| -> Vec<Value> {
        let messages = project_events(
            &DIALECT,
            &session_with_turn(&[request_opened("q", None, requests), request_resolved("q", None, "declined")]),
        );
        let requests = messages.iter().find(|message| message["method"] == "session/request_permission").unwrap();
        requests["params"]["options"].as_array().unwrap().iter().map(|option| option["kind"].clone()).collect()
    };
    assert_eq!(kinds(json!({"about": "tool", "title": "x"})), ["allow_once", "reject_once"]);
    let for_a_person = json!({"about": "tool", "title": "x", "requires_person": true});
    assert_eq!(kinds(for_a_person), ["reject_once", "allow_once"]);
}

#[test]
fn a_tool_that_was_only_asked_for_ends_once() {
    let requests =
        || json!({"about": "tool", "title": "Use it", "call": {"name": "Tool", "kind": "fetch", "input": {"a": 1}}});
    let statuses = |inner: &[Value]| {
        let shown = session_updates(inner).into_iter().filter(|update| update["toolCallId"] == "t");
        shown.map(|update| (update["sessionUpdate"] == "tool_call", update["status"].clone())).collect::<Vec<_>>()
    };
    let open = (true, json!("pending"));
    let item = json!({"type": "tool"});
    for (after, want) in [
        (vec![request_resolved("q", Some("t"), "declined")], vec![open.clone(), (false, json!("failed"))]),
        (
            [vec![request_resolved("q", Some("t"), "allowed")], whole_item("t", &item).to_vec()].concat(),
            vec![
                open.clone(),
                (false, json!("in_progress")),
                (false, json!("in_progress")),
                (false, json!("completed")),
            ],
        ),
        (
            vec![request_resolved("q", Some("t"), "allowed")],
            vec![open.clone(), (false, json!("in_progress")), (false, json!("failed"))],
        ),
    ] {
        assert_eq!(statuses(&[vec![request_opened("q", Some("t"), requests())], after].concat()), want);
    }
}

fn two_questions() -> Value {
    json!({"about": "question", "title": "", "questions": [
        {"id": "colour", "question": "Which colour?", "header": "Colour", "free_text": true,
         "choices": [{"label": "red", "description": "like fire"}, {"label": "blue"}]},
        {"id": "sizes", "question": "Which sizes?", "multiple": true, "choices": [{"label": "S"}, {"label": "L"}]},
    ]})
}

#[test]
fn questions_are_a_form() {
    let messages = project_events(
        &DIALECT,
        &session_with_turn(&[request_opened("q", None, two_questions()), request_resolved("q", None, "answered")]),
    );
    let form = messages.iter().find(|message| message["method"] == "elicitation/create").unwrap();
    assert_eq!((&form["id"], &form["params"]["mode"]), (&json!("q"), &json!("form")));
    let schema = &form["params"]["requestedSchema"];
    assert_eq!(schema["required"], json!(["sizes"]));
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["colour", "colour.other", "sizes"]);
    assert_eq!(schema["properties"]["sizes"]["items"]["anyOf"][1], json!({"const": "L", "title": "L"}));
}

#[test]
fn what_was_filled_in_answers_the_questions() {
    let requests = build_events(&[request_opened("q", None, two_questions())]);
    let [Event { body: EventBody::RequestOpened(requests), .. }] = requests.as_slice() else { panic!("no request") };
    for (content, want) in [
        (json!({"colour": "red", "sizes": ["S", "L"]}), json!({"colour": ["red"], "sizes": ["S", "L"]})),
        (json!({"colour": "red", "colour.other": "green", "sizes": []}), json!({"colour": ["green"]})),
        (json!({"colour": true, "sizes": null}), json!({"colour": ["true"]})),
        (json!("nothing"), json!({})),
    ] {
        assert_eq!(serde_json::to_value(form_answers(requests, &content)).unwrap(), want);
    }
    assert_eq!(chosen_label(&requests.questions[0], "choice_1"), Some("blue"));
    assert_eq!(chosen_label(&requests.questions[0], "reject"), None);
}

#[test]
fn without_forms_each_question_is_a_permission() {
    let session =
        session_with_turn(&[request_opened("q", None, two_questions()), request_resolved("q", None, "answered")]);
    let messages = project_for_client(NO_CAPABILITIES, &session);
    let requests: Vec<_> =
        messages.iter().filter(|message| message["method"] == "session/request_permission").collect();
    assert_eq!(requests.iter().map(|message| &message["id"]).collect::<Vec<_>>(), ["q.0", "q.1"]);
    let options = requests[0]["params"]["options"].as_array().unwrap();
    assert_eq!(options.iter().map(|option| &option["name"]).collect::<Vec<_>>(), ["red", "blue", "Do not answer"]);
    let card = messages.iter().filter_map(|message| message.pointer("/params/update/status")).collect::<Vec<_>>();
    assert_eq!(card, ["pending", "completed"]);
    let open = json!({"about": "question", "questions": [{"id": "a", "question": "Why?", "free_text": true}]});
    let messages = project_for_client(
        NO_CAPABILITIES,
        &session_with_turn(&[request_opened("q", None, open), request_resolved("q", None, "declined")]),
    );
    assert_eq!(messages, [] as [Value; 0], "it cannot be asked");
}

#[test]
fn a_subagents_text_is_never_the_answer() {
    let task = json!({"type": "subagent", "thread": "th", "name": "helper", "label": "look around"});
    let inner = [
        item_started("m", json!({"type": "agent_message", "text": ""})),
        text_appended("m", "text", "I look"),
        item_finished("m", json!({"type": "agent_message", "text": "I looked"})),
    ];
    let mut session = vec![item_started("a", task.clone())];
    session.extend(in_subagent("a", "th", inner));
    session.extend(in_subagent("a", "th", whole_item("t", &json!({"type": "command", "command": "ls"}))));
    session.push(item_finished(
        "a",
        json!({"type": "subagent", "thread": "th", "name": "helper", "label": "look around", "result": "done"}),
    ));
    let shown = session_updates(&session);
    assert!(shown.iter().all(|update| update["sessionUpdate"] != "agent_message_chunk"), "{shown:#?}");
    assert_eq!(
        shown[1],
        json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "a",
            "content": [{"type": "content", "content": text_block("I looked")}], "_meta": {"switchboard": {"thread": "th", "item": "m"}},
        })
    );
    assert_eq!(shown[2]["_meta"]["switchboard"], json!({"thread": "th", "parentToolCallId": "a"}));
    let thought = in_subagent("a", "th", whole_item("r", &json!({"type": "reasoning", "text": "hm"})));
    let messages = project_events(&DIALECT, &session_with_turn(&thought));
    assert!(
        messages
            .iter()
            .any(|message| message["method"] == "_switchboard/subagent" && message["params"]["role"] == "thought")
    );
}

#[test]
fn what_an_agent_offers_is_told_when_it_changes() {
    let info = |info: Value| json!({"kind": "session.updated", "data": {"info": info}});
    let modes = json!([{"id": "ask", "name": "Ask"}, {"id": "plan", "name": "Plan"}]);
    let session = [
        info(json!({"modes": modes, "mode": "ask", "models": [{"id": "m1", "name": "One"}], "model": "m9",
            "options": [{"id": "effort", "name": "Effort", "value": "low", "values": [{"id": "low", "name": "Low"}]}]})),
        info(json!({"mode": "plan"})),
        info(json!({"mode": "plan", "status": "idle"})),
        info(json!({"commands": [{"name": "/init"}], "title": "A title", "context": {"used": 5, "size": 10}})),
    ];
    let shown = project_events(&DIALECT, &session);
    let shown: Vec<_> = shown.iter().map(|message| &message["params"]["update"]).collect();
    let kinds: Vec<_> = shown.iter().map(|update| update["sessionUpdate"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "current_mode_update",
            "config_option_update",
            "current_mode_update",
            "config_option_update",
            "available_commands_update",
            "session_info_update",
            "usage_update",
        ]
    );
    let options = shown[3]["configOptions"].as_array().unwrap();
    let summary: Vec<_> =
        options.iter().map(|option| (&option["id"], &option["category"], &option["currentValue"])).collect();
    assert_eq!(
        json!(summary),
        json!([["mode", "mode", "plan"], ["model", "model", "m9"], ["effort", "thought_level", "low"]])
    );
    assert_eq!(options[1]["options"][0]["value"], "m9", "the value is one of the values");
    assert_eq!(shown[4]["availableCommands"], json!([{"name": "init", "description": ""}]));
    assert_eq!(shown[6], &json!({"sessionUpdate": "usage_update", "used": 5, "size": 10}));
}

#[test]
fn costs_add_up() {
    let end = |cost: f64| json!({"kind": "turn.completed", "turn": 1, "data": {"status": "completed", "stop": "end_turn", "cost_usd": cost}});
    let context = json!({"kind": "session.updated", "data": {"info": {"context": {"used": 5, "size": 10}}}});
    let messages = project_events(&DIALECT, &[context, end(0.25), end(0.5)]);
    let costs: Vec<_> = messages.iter().filter_map(|message| message.pointer("/params/update/cost/amount")).collect();
    assert_eq!(costs, [&json!(0.25), &json!(0.75)]);
}

#[test]
fn how_a_turn_ends_is_what_the_prompt_is_answered() {
    for (status, stop, reason) in [
        ("completed", "end_turn", json!("end_turn")),
        ("completed", "max_tokens", json!("max_tokens")),
        ("failed", "max_turns", json!("max_turn_requests")),
        ("completed", "refusal", json!("refusal")),
        ("interrupted", "cancelled", json!("cancelled")),
        ("failed", "error", Value::Null),
    ] {
        let end = json!({"kind": "turn.completed", "turn": 1, "data": {"status": status, "stop": stop}});
        let messages = project_events(&DIALECT, &[json!({"kind": "turn.started", "turn": 1}), end]);
        let last = &messages.last().unwrap()["params"];
        assert_eq!(last["stopReason"], reason);
        assert_eq!(last.get("error").is_some(), reason.is_null());
    }
}

#[test]
fn notices_are_for_those_who_show_them() {
    let session = session_with_turn(&[
        notice_event("warning", json!({"level": "warning", "text": "careful"})),
        notice_event("control", json!({"text": "nobody cares"})),
        notice_event("compaction", json!({"status": "started"})),
        notice_event("compaction", json!({"status": "completed", "text": "in short"})),
    ]);
    let of = |client| {
        let messages = project_for_client(client, &session);
        messages.iter().filter_map(|message| message.pointer("/params/update").cloned()).collect::<Vec<_>>()
    };
    assert_eq!(of(NO_CAPABILITIES), [] as [Value; 0]);
    assert_eq!(
        Value::from(of(AcpClientCapabilities::default())),
        json!([
            {"sessionUpdate": "notice", "severity": "warning", "title": "careful"},
            {"sessionUpdate": "compaction_update", "compactionId": "compaction_1", "status": "in_progress"},
            {"sessionUpdate": "compaction_update", "compactionId": "compaction_1", "status": "completed", "summary": [text_block("in short")]},
        ])
    );
}

#[test]
fn a_client_without_our_extensions_gets_none() {
    let session = [
        vec![json!({"kind": "session.started", "data": {"run": 1}})],
        session_with_turn(&[]),
        vec![session_ended("completed", json!({}))],
    ]
    .concat();
    assert_eq!(project_for_client(NO_CAPABILITIES, &session), [] as [Value; 0]);
}

#[test]
fn a_message_that_was_taken_back_is_named() {
    let messages = project_events(
        &DIALECT,
        &session_with_turn(&[
            item_started("a", json!({"type": "agent_message", "text": ""})),
            text_appended("a", "text", "going the "),
            item_finished("a", json!({"type": "agent_message", "text": "going the wrong way", "status": "superseded"})),
            item_started("b", json!({"type": "agent_message", "text": ""})),
            item_finished("b", json!({"type": "agent_message", "text": "never sent", "status": "superseded"})),
        ]),
    );
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": text_block("going the "), "messageId": "a"});
    let updates: Vec<_> = messages.iter().filter_map(|message| message.pointer("/params/update")).collect();
    assert_eq!(updates, [&chunk]);
    let retracted = messages.iter().filter(|message| message["method"] == "_switchboard/message_retracted");
    let retracted: Vec<_> = retracted.map(|message| &message["params"]).collect();
    assert_eq!(retracted, [&json!({"sessionId": "s1", "messageId": "a"})]);
}
