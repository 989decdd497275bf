//! Prompts, interrupts, ends, and other settings.

use serde_json::json;

use crate::rig::Rig;

/// What was said in a session, as text.
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
    // Whatever moment each comes at: running, ending, ended, or just being continued by another.
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
