//! Controlling sessions: prompts, settings, approvals, runs, and sessions of another process.

use serde_json::{Value, json};

use crate::rig::Rig;

/// The messages of a session as text.
async fn said(rig: &Rig, id: &str) -> String {
    rig.get(&format!("/api/sessions/{id}/events?dialect=unified&limit=10000")).await.body.to_string()
}

#[tokio::test]
async fn a_prompt_continues_what_has_ended() {
    let rig = Rig::new();
    let config = json!({ "approvalMode": "autoAll", "maxTurns": 7 });
    let id = rig.start_with(json!({ "agentType": "echo", "prompt": "first", "config": config })).await;
    rig.ended(&id).await;
    let answer = rig.post(&format!("/api/sessions/{id}/prompt"), json!({ "prompt": "second" })).await;
    assert_eq!((answer.status, &answer.body["id"]), (202, &json!(id)));
    let view = rig.until(&id, |view| view["runs"] == 2 && view["state"] == "done").await;
    assert_eq!((&view["turns"], &view["config"]["maxTurns"]), (&json!(2), &json!(7)));
    let third = rig.post("/api/sessions", json!({ "agentType": "echo", "prompt": "third", "sessionId": id })).await;
    assert_eq!((third.status, &third.body["id"]), (201, &json!(id)));
    let config = json!({ "maxTurns": 9 });
    rig.until(&id, |view| view["runs"] == 3 && view["state"] == "done").await;
    rig.post(&format!("/api/sessions/{id}/prompt"), json!({ "prompt": "fourth", "config": config })).await;
    let view = rig.until(&id, |view| view["runs"] == 4 && view["state"] == "done").await;
    assert_eq!((&view["config"]["maxTurns"], &view["config"]["approvalMode"]), (&json!(9), &json!("autoAll")));
    let said = said(&rig, &id).await;
    for word in ["first", "second", "third", "fourth"] {
        assert!(said.contains(&format!("\"{word}\"")), "{word}");
    }
}

#[tokio::test]
async fn a_prompt_joins_what_runs() {
    let rig = Rig::new();
    let (id, request) = rig.start_asking("approve touch x").await;
    let answer = rig.post("/api/sessions", json!({ "prompt": "text later", "sessionId": id })).await;
    assert_eq!((answer.status, &answer.body["runs"]), (201, &json!(1)));
    rig.post(&format!("/api/sessions/{id}/approvals/{request}"), json!({ "decision": "accept" })).await;
    let view = rig.ended(&id).await;
    assert_eq!((&view["state"], &view["runs"]), (&json!("done"), &json!(1)));
    assert!(said(&rig, &id).await.contains("later"));
}

#[tokio::test]
async fn many_prompts_at_once_are_all_taken() {
    let rig = Rig::new();
    let id = rig.start("echo", "begin").await;
    let path = format!("/api/sessions/{id}/prompt");
    // Prompts at any time: while the session runs, ends, has ended, or is being continued by another.
    let prompts = (0..12).map(|number| rig.post(&path, json!({ "prompt": format!("word-{number}.") })));
    for answer in futures_util::future::join_all(prompts).await {
        assert_eq!(answer.status, 202, "{answer:?}");
    }
    rig.until(&id, |view| view["turns"] == 13 && view["state"] == "done").await;
    let said = said(&rig, &id).await;
    assert!((0..12).all(|number| said.contains(&format!("\"word-{number}.\""))), "{said}");
}

#[tokio::test]
async fn a_running_session_keeps_its_settings() {
    let rig = Rig::new();
    let (id, _) = rig.start_asking("approve touch x").await;
    let path = format!("/api/sessions/{id}/prompt");
    let other = rig.post(&path, json!({ "prompt": "text x", "config": { "approvalMode": "autoAll" } })).await;
    assert_eq!((other.status, other.code()), (409, "running"));
    let same = rig.post(&path, json!({ "prompt": "text x", "config": { "approvalMode": "ask" } })).await;
    assert_eq!(same.status, 202);
    let agent = rig.post("/api/sessions", json!({ "agentType": "echo", "prompt": "x", "sessionId": id })).await;
    assert_eq!((agent.status, agent.code()), (409, "other_agent"));
    let copy = rig.post("/api/sessions", json!({ "prompt": "x", "sessionId": id, "fork": true })).await;
    assert_eq!((copy.status, copy.code()), (409, "running"));
}

#[tokio::test]
async fn a_copy_of_a_session_is_a_session_of_its_own() {
    let rig = Rig::new();
    let id = rig.start("echo", "first").await;
    let before = rig.ended(&id).await;
    let copy = rig.start_with(json!({ "prompt": "second", "sessionId": id, "fork": true })).await;
    assert_ne!(copy, id);
    assert_eq!(rig.ended(&copy).await["state"], "done");
    assert_eq!(rig.get(&format!("/api/sessions/{id}")).await.body, before);
}

#[tokio::test]
async fn cancelling_ends_a_session_once_and_for_all() {
    let rig = Rig::new();
    let id = rig.start("script", "sleep 60").await;
    let path = format!("/api/sessions/{id}/cancel");
    assert_eq!(rig.send("POST", &path, None).await.status, 202);
    let view = rig.ended(&id).await;
    assert_eq!((&view["state"], &view["reason"]), (&json!("cancelled"), &json!("cancelled")));
    let again = rig.send("POST", &path, None).await;
    assert_eq!((again.status, &again.body["state"]), (202, &json!("cancelled")));
}

#[tokio::test]
async fn an_interrupt_stops_the_turn_only() {
    let rig = Rig::new();
    let id = rig.start_with(json!({ "agentType": "script", "prompt": "sleep 60", "stay": true })).await;
    rig.until(&id, |view| view["turns"] == 1).await;
    assert_eq!(rig.send("POST", &format!("/api/sessions/{id}/interrupt"), None).await.status, 202);
    let view = rig.until(&id, |view| view["activity"] == "idle").await;
    assert_eq!(view["state"], "running");
    rig.send("POST", &format!("/api/sessions/{id}/cancel"), None).await;
    rig.ended(&id).await;
    let late = rig.send("POST", &format!("/api/sessions/{id}/interrupt"), None).await;
    assert_eq!((late.status, late.code()), (409, "ended"));
}

#[tokio::test]
async fn models_and_modes_are_changed_where_the_agent_can() {
    let rig = Rig::new();
    let id = rig.start_with(json!({ "agentType": "echo", "prompt": "x", "stay": true })).await;
    for (operation, body) in [
        ("model", json!({ "model": "m" })),
        ("mode", json!({ "mode": "m" })),
        ("option", json!({ "id": "o", "value": "v" })),
    ] {
        let answer = rig.post(&format!("/api/sessions/{id}/{operation}"), body).await;
        assert_eq!((answer.status, answer.code()), (409, "unsupported"), "{operation}");
        let empty = rig.post(&format!("/api/sessions/{id}/{operation}"), json!({})).await;
        assert_eq!((empty.status, empty.code()), (400, "bad_field"), "{operation}");
    }
    let script = rig.start_with(json!({ "agentType": "script", "prompt": "text x", "stay": true })).await;
    let answer = rig.post(&format!("/api/sessions/{script}/model"), json!({ "model": "large" })).await;
    assert_eq!(answer.status, 202, "{answer:?}");
}

fn path(id: &str, request: &str) -> String {
    format!("/api/sessions/{id}/approvals/{}", request.replace(':', "%3A").replace('/', "%2F"))
}

async fn open(rig: &Rig, id: &str) -> Vec<Value> {
    rig.get(&format!("/api/sessions/{id}/approvals")).await.body["approvals"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_approval_waits_and_the_first_answer_counts() {
    let rig = Rig::new();
    for (decision, outcome) in
        [("accept", "allowed"), ("acceptForSession", "allowed"), ("decline", "declined"), ("cancel", "cancelled")]
    {
        let (id, request) = rig.start_asking("approve touch x").await;
        let asked = open(&rig, &id).await;
        assert_eq!((&asked[0]["sessionId"], &asked[0]["command"]), (&json!(id), &json!("touch x")));
        let path = path(&id, &request);
        let (first, second) = tokio::join!(
            rig.post(&path, json!({ "decision": decision })),
            rig.post(&path, json!({ "decision": decision, "reason": "me too" })),
        );
        let (taken, late) = if first.status == 200 { (first, second) } else { (second, first) };
        assert_eq!((taken.status, &taken.body["outcome"]), (200, &json!(outcome)), "{taken:?}");
        assert_eq!((late.status, late.code()), (409, "not_open"));
        rig.ended(&id).await;
        assert!(open(&rig, &id).await.is_empty());
        let after = rig.post(&path, json!({ "decision": "accept" })).await;
        assert_eq!((after.status, after.code()), (409, "not_open"));
        let never = rig.post(&format!("/api/sessions/{id}/approvals/never"), json!({ "decision": "accept" })).await;
        assert_eq!((never.status, never.code()), (404, "no_request"));
    }
}

#[tokio::test]
async fn a_yes_for_the_session_is_remembered_unless_the_tool_is_blocked() {
    let rig = Rig::new();
    let (id, request) = rig.start_asking("approve touch x\napprove touch x\ntext done").await;
    let answer = json!({ "decision": "accept", "option": "acceptForSession" });
    assert_eq!(rig.post(&path(&id, &request), answer).await.status, 200);
    assert_eq!(rig.ended(&id).await["state"], "done");
    let events = rig.get(&format!("/api/sessions/{id}/events?dialect=events&limit=1000")).await.body;
    let events = events["events"].as_array().unwrap();
    let resolved: Vec<_> = events.iter().filter(|event| event["kind"] == "request.resolved").collect();
    assert_eq!(resolved.len(), 2);
    assert_eq!((&resolved[0]["data"]["by"], &resolved[1]["data"]["by"]), (&json!("client"), &json!("policy")));
    assert_eq!(resolved[1]["data"]["outcome"], "allowed");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_leaves_the_question_open() {
    let rig = Rig::new();
    let (id, request) = rig.start_asking("ask Which? | Red | Blue").await;
    let question = open(&rig, &id).await[0]["questions"][0]["id"].as_str().unwrap().to_owned();
    for (body, code) in [
        (json!({ "decision": "perhaps" }), "bad_field"),
        (json!({}), "bad_field"),
        (json!({ "decision": "accept", "answers": "Red" }), "bad_field"),
        (json!({ "decision": "accept" }), "bad_answer"),
        (json!({ "decision": "accept", "answers": { "other": ["Red"] } }), "bad_answer"),
        (json!({ "decision": "accept", "option": "none", "answers": { (question.clone()): ["Red"] } }), "bad_answer"),
    ] {
        let answer = rig.post(&path(&id, &request), body.clone()).await;
        assert_eq!((answer.status, answer.code()), (400, code), "{body}: {answer:?}");
        assert_eq!(open(&rig, &id).await.len(), 1, "{body}");
    }
    let never = rig.post(&path(&id, "never"), json!({ "decision": "decline" })).await;
    assert_eq!((never.status, never.code()), (404, "no_request"));
    let good = json!({ "decision": "accept", "answers": { (question): ["Blue"] } });
    let answer = rig.post(&path(&id, &request), good).await;
    assert_eq!((answer.status, &answer.body["outcome"]), (200, &json!("answered")));
    assert_eq!(rig.ended(&id).await["state"], "done");
}

#[tokio::test]
async fn nobody_answering_is_a_no() {
    let rig = Rig::new();
    let request = json!({ "agentType": "script", "prompt": "approve touch x", "approvalTimeoutSeconds": 0.05 });
    let id = rig.start_with(request).await;
    rig.ended(&id).await;
    let events = rig.get(&format!("/api/sessions/{id}/events?dialect=events&limit=1000")).await.body;
    let resolved =
        events["events"].as_array().unwrap().iter().find(|event| event["kind"] == "request.resolved").unwrap();
    assert_eq!(resolved["data"]["by"], "timeout", "{resolved}");
}

#[tokio::test]
async fn settings_decide_what_needs_no_answer() {
    let rig = Rig::new();
    let config = json!({ "approvalMode": "autoAll" });
    let id = rig.start_with(json!({ "agentType": "script", "prompt": "approve touch x", "config": config })).await;
    assert_eq!(rig.ended(&id).await["state"], "done");
}

/// Runs a task to its end, and returns the messages of the stream.
async fn run(rig: &Rig, request: Value) -> Vec<Value> {
    let answer = rig.post("/api/run", request).await;
    assert_eq!((answer.status, &*answer.media_type), (200, "text/event-stream"), "{answer:?}");
    let data = answer.body.as_str().unwrap().lines().filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    data.map(|json| serde_json::from_str(&json).unwrap()).collect()
}

#[tokio::test]
async fn a_task_is_streamed_to_its_one_end() {
    let rig = Rig::new();
    let messages = run(&rig, json!({ "driver": "echo", "task": "say it verbatim" })).await;
    let kinds: Vec<_> = messages.iter().map(|message| message["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["agent_token", "session_end"]);
    assert_eq!((&messages[0]["text"], &messages[1]["exit_code"]), (&json!("say it verbatim"), &json!(0)));
    let again = rig.get("/api/sessions").await.body["sessions"][0]["id"].clone();
    let messages = run(&rig, json!({ "driver": "echo", "task": "and again", "sessionId": again })).await;
    assert_eq!(messages.iter().filter(|message| message["kind"] == "session_end").count(), 1);
    assert!(!json!(messages).to_string().contains("verbatim"), "only the new run is streamed");
}

#[tokio::test]
async fn what_must_be_asked_is_declined_at_once() {
    let rig = Rig::new();
    let messages = run(&rig, json!({ "driver": "script", "task": "approve touch x\ntext went on" })).await;
    let said = json!(messages).to_string();
    assert!(said.contains("declined"), "{said}");
    let answer: String = messages
        .iter()
        .filter(|message| message["kind"] == "agent_token")
        .filter_map(|message| message["text"].as_str())
        .collect();
    assert_eq!(answer, "went on");
    assert_eq!(messages.last().unwrap()["kind"], "session_end");
}

#[tokio::test]
async fn a_run_that_makes_no_sense_is_refused_in_its_own_words() {
    let rig = Rig::new();
    for (body, status, code, field) in [
        (json!({ "task": "x" }), 400, "bad_field", "driver"),
        (json!({ "driver": "echo" }), 400, "bad_field", "task"),
        (json!({ "driver": "echo", "task": "" }), 400, "bad_field", "task"),
        (json!({ "driver": "nobody", "task": "x" }), 400, "unknown_agent", "driver"),
        (json!({ "driver": "echo", "task": "x", "cwd": "here" }), 400, "bad_field", "cwd"),
        (json!({ "driver": "echo", "task": "x", "sessionId": "none" }), 404, "no_session", ""),
    ] {
        let answer = rig.post("/api/run", body.clone()).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{body}: {answer:?}");
        assert!(answer.detail().contains(field), "{body}: {}", answer.detail());
    }
}

#[tokio::test]
async fn what_another_process_runs_is_steered_through_it() {
    let here = Rig::new();
    let there = here.second_process();
    there.listen();
    let (id, request) = there.start_asking("approve touch x").await;
    let path = format!("/api/sessions/{id}");
    let view = here.get(&path).await.body;
    assert_eq!((&view["here"], &view["approvals"], &view["activity"]), (&json!(false), &json!(1), &json!("waiting")));
    assert_eq!(there.get(&path).await.body["here"], true);
    let open = here.get(&format!("{path}/approvals")).await.body;
    assert_eq!(open["approvals"][0]["id"], json!(request));
    let bad = here.post(&format!("{path}/approvals/{request}"), json!({ "decision": "accept", "option": "?" })).await;
    assert_eq!((bad.status, bad.code()), (400, "bad_answer"));
    let more = here.post(&format!("{path}/prompt"), json!({ "prompt": "text more" })).await;
    assert_eq!(more.status, 202, "{more:?}");
    let answer = here.post(&format!("{path}/approvals/{request}"), json!({ "decision": "accept" })).await;
    assert_eq!((answer.status, &answer.body["outcome"]), (200, &json!("allowed")));
    let view = here.ended(&id).await;
    assert_eq!((&view["state"], &view["turns"]), (&json!("done"), &json!(2)));
    // It has ended, so any process may continue it.
    here.post(&format!("{path}/prompt"), json!({ "prompt": "text here" })).await;
    here.until(&id, |view| view["runs"] == 2 && view["state"] == "done").await;
}

#[tokio::test]
async fn what_another_process_runs_is_ended_and_deleted_through_it() {
    let here = Rig::new();
    let there = here.second_process();
    there.listen();
    let id = there.start("script", "sleep 60").await;
    let interrupted = here.send("POST", &format!("/api/sessions/{id}/interrupt"), None).await;
    assert_eq!(interrupted.status, 202, "{interrupted:?}");
    let id = there.start("script", "sleep 60").await;
    assert_eq!(here.send("POST", &format!("/api/sessions/{id}/cancel"), None).await.status, 202);
    assert_eq!(here.ended(&id).await["state"], "cancelled");
    let id = there.start("script", "sleep 60").await;
    assert_eq!(here.delete(&format!("/api/sessions/{id}")).await.status, 204);
    assert_eq!(there.get(&format!("/api/sessions/{id}")).await.status, 404);
    assert!(there.service.engine().session(&id).is_none());
}

#[tokio::test]
async fn a_process_that_does_not_listen_is_said_to() {
    let here = Rig::new();
    let there = here.second_process();
    let id = there.start("script", "sleep 60").await;
    let answer = here.send("POST", &format!("/api/sessions/{id}/cancel"), None).await;
    assert_eq!((answer.status, answer.code()), (503, "unreachable"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_that_continue_a_session_at_once_lose_nothing() {
    let here = Rig::new();
    let there = here.second_process();
    here.listen();
    there.listen();
    let id = here.start("script", "text first").await;
    here.ended(&id).await;
    let path = format!("/api/sessions/{id}/prompt");
    for round in 0..8 {
        let say = |who: &str| json!({ "prompt": format!("text round {round} by {who}") });
        let (one, other) = tokio::join!(here.post(&path, say("one")), there.post(&path, say("another")));
        assert_eq!((one.status, other.status), (202, 202), "{one:?} {other:?}");
        let view = here.until(&id, |view| view["turns"] == 3 + 2 * round && view["state"] != "running").await;
        assert_eq!(view["state"], "done", "{view}");
    }
}
