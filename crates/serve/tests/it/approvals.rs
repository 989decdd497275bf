//! What agents ask, and the answers.

use serde_json::{Value, json};

use crate::rig::Rig;

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
