//! One task, one stream.

use serde_json::{Value, json};

use crate::rig::Rig;

/// Runs a task to its end, and gives the messages of the stream.
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
