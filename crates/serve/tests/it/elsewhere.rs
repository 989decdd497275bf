//! Sessions that another process runs.

use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn what_another_process_runs_is_steered_through_it() {
    let here = Rig::new();
    let there = here.beside();
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
    // It has ended, so it may go on in any process.
    here.post(&format!("{path}/prompt"), json!({ "prompt": "text here" })).await;
    here.until(&id, |view| view["runs"] == 2 && view["state"] == "done").await;
}

#[tokio::test]
async fn what_another_process_runs_is_ended_and_deleted_through_it() {
    let here = Rig::new();
    let there = here.beside();
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
    let there = here.beside();
    let id = there.start("script", "sleep 60").await;
    let answer = here.send("POST", &format!("/api/sessions/{id}/cancel"), None).await;
    assert_eq!((answer.status, answer.code()), (503, "unreachable"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_that_continue_a_session_at_once_lose_nothing() {
    let here = Rig::new();
    let there = here.beside();
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
