//! Requests of agents, and the responses of clients.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_engine::SessionTimeouts;

use super::client::{Client, WIRES, Wire};
use crate::rig::Rig;

/// Starts a thread whose agent asks before it acts.
async fn asking(rig: &Rig, wire: Wire, script: &str) -> (Client, String, String, Value) {
    let mut client = Client::ready(rig, wire).await;
    let thread = client.thread(json!({"approvalPolicy": "always"})).await;
    let turn = client.turn(&thread, script).await;
    let asked = client.asked(&thread).await;
    (client, thread, turn, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_accepted_or_declined() {
    for wire in WIRES {
        for (decision, status, turn_status) in [
            ("accept", "completed", "completed"),
            ("acceptForSession", "completed", "completed"),
            ("decline", "declined", "completed"),
            ("cancel", "declined", "interrupted"),
        ] {
            let rig = Rig::new();
            let (mut client, thread, turn, asked) = asking(&rig, wire, "approve touch x").await;
            assert_eq!(asked["method"], "item/commandExecution/requestApproval");
            assert_eq!(asked["params"]["command"], "touch x");
            client.send(&json!({"id": asked["id"], "result": {"decision": decision}})).await;
            let done = client.ended(&thread, &turn).await;
            assert_eq!(
                (&done["status"], &done["items"][1]["status"]),
                (&json!(turn_status), &json!(status)),
                "{decision}"
            );
            let resolved = client.all("switchboard/requestResolved");
            assert_eq!((resolved.len(), &resolved[0]["requestId"]), (1, &asked["id"]));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_accepted_for_the_session_is_not_asked_again() {
    for wire in WIRES {
        let rig = Rig::new();
        let script = "approve touch x\napprove touch x\napprove-edit a.txt\napprove-edit a.txt\napprove touch y";
        let (mut client, thread, turn, asked) = asking(&rig, wire, script).await;
        assert_eq!(asked["params"]["command"], "touch x");
        client.send(&json!({"id": asked["id"], "result": {"decision": "acceptForSession"}})).await;
        let edit = client.wait(|message| message["method"] == "item/fileChange/requestApproval").await;
        client.send(&json!({"id": edit["id"], "result": {"decision": "acceptForSession"}})).await;
        let other = client.wait(|message| message["params"]["command"] == "touch y").await;
        client.send(&json!({"id": other["id"], "result": {"decision": "accept"}})).await;
        let done = client.ended(&thread, &turn).await;
        assert_eq!(done["status"], "completed");
        let by = |resolved: &Value| resolved["by"].as_str().unwrap().to_owned();
        let deciders: Vec<_> = client.all("switchboard/requestResolved").iter().map(by).collect();
        assert_eq!(deciders, ["client", "policy", "client", "policy", "client"]);
        // An approval for once does not apply to the session; another turn belongs to the same session.
        let turn = client.turn(&thread, "approve touch x\napprove touch y").await;
        let again =
            client.wait(|message| message["id"].is_string() && message["params"]["turnId"] == json!(turn)).await;
        assert_eq!(again["params"]["command"], "touch y");
        client.send(&json!({"id": again["id"], "result": {"decision": "decline"}})).await;
        client.ended(&thread, &turn).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_files_is_accepted_and_a_question_answered() {
    for wire in WIRES {
        let rig = Rig::new();
        let (mut client, thread, turn, asked) = asking(&rig, wire, "approve-edit a.txt\nask Why? | A | B").await;
        assert_eq!(asked["method"], "item/fileChange/requestApproval");
        assert!(asked["params"]["changes"][0]["path"].as_str().unwrap().ends_with("/a.txt"));
        client.send(&json!({"id": asked["id"], "result": {"decision": "acceptForSession"}})).await;
        let question = client.wait(|message| message["method"] == "switchboard/request").await;
        assert_eq!(question["params"]["request"]["questions"][0]["question"], "Why?");
        let answers = json!({"answer": ["B"]});
        client.send(&json!({"id": question["id"], "result": {"outcome": "answered", "answers": answers}})).await;
        let done = client.ended(&thread, &turn).await;
        assert_eq!(done["status"], "completed");
        let resolved = client.all("switchboard/requestResolved");
        assert_eq!((&resolved[1]["outcome"], &resolved[1]["answers"]), (&json!("answered"), &answers));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_a_no_and_nonsense_is_no_answer() {
    for wire in WIRES {
        let rig = Rig::new();
        let (mut client, thread, turn, asked) = asking(&rig, wire, "approve touch x").await;
        for nonsense in [json!({"decision": "perhaps"}), json!({}), json!("accept"), json!(null)] {
            client.raw(json!({"id": asked["id"], "result": nonsense}).to_string().as_bytes()).await;
            let count = client.all("switchboard/notice").len();
            while client.all("switchboard/notice").len() == count {
                client.hear().await;
            }
            let notice = client.all("switchboard/notice").pop().unwrap();
            assert_eq!((&notice["threadId"], &notice["topic"]), (&json!(thread), &json!("warning")));
            assert!(notice["text"].as_str().unwrap().contains("still open"), "{notice}");
        }
        // A response without a request is ignored.
        client.send(&json!({"id": "nobody", "result": {"decision": "accept"}})).await;
        assert!(client.all("switchboard/requestResolved").is_empty());
        client.send(&json!({"id": asked["id"], "error": {"code": 1, "message": "not now"}})).await;
        let done = client.ended(&thread, &turn).await;
        assert_eq!(done["items"][1]["status"], "declined");
        let resolved = client.all("switchboard/requestResolved");
        assert_eq!((&resolved[0]["outcome"], &resolved[0]["message"]), (&json!("declined"), &json!("not now")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn never_asks_nobody() {
    let rig = Rig::new();
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let thread = client.thread(json!({"approvalPolicy": "never"})).await;
    assert_eq!(client.perform(&thread, "approve touch x").await["status"], "completed");
    assert!(client.heard.iter().all(|message| message.get("id").is_none() || message.get("method").is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_connections_the_first_answer_counts() {
    let rig = Rig::new();
    let (mut first, thread, turn, asked) = asking(&rig, Wire::Socket, "approve touch x").await;
    let mut second = Client::ready(&rig, Wire::Socket).await;
    second.get("thread/resume", json!({"threadId": thread})).await;
    let again = second.asked(&thread).await;
    assert_eq!(again["id"], asked["id"]);
    second.send(&json!({"id": again["id"], "result": {"decision": "accept"}})).await;
    for client in [&mut first, &mut second] {
        let resolved = client.wait(|message| message["method"] == "switchboard/requestResolved").await;
        assert_eq!(
            (&resolved["params"]["requestId"], &resolved["params"]["outcome"]),
            (&asked["id"], &json!("allowed"))
        );
    }
    first.send(&json!({"id": asked["id"], "result": {"decision": "decline"}})).await;
    assert_eq!(first.ended(&thread, &turn).await["items"][1]["status"], "completed");
    second.ended(&thread, &turn).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_two_threads_are_told_apart() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let mut open = Vec::new();
        for name in ["one", "two", "three"] {
            let thread = client.thread(json!({"approvalPolicy": "always"})).await;
            let turn = client.turn(&thread, &format!("approve touch {name}")).await;
            let asked = client.asked(&thread).await;
            assert_eq!(asked["params"]["command"], format!("touch {name}"));
            open.push((thread, turn, asked["id"].clone()));
        }
        assert!(open[0].2 != open[1].2 && open[1].2 != open[2].2 && open[0].2 != open[2].2, "{open:?}");
        for ((thread, turn, id), decision) in open.iter().zip(["decline", "accept", "decline"]).rev() {
            client.send(&json!({"id": id, "result": {"decision": decision}})).await;
            let done = client.ended(thread, turn).await;
            let status = if decision == "accept" { "completed" } else { "declined" };
            assert_eq!(done["items"][1]["status"], status);
            assert_eq!(client.all("switchboard/requestResolved").pop().unwrap()["requestId"], *id);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_while_it_is_asked_has_said_no() {
    let limits = SessionTimeouts { approval: Duration::from_millis(300), ..SessionTimeouts::default() };
    let rig = Rig::limited(limits);
    let (client, thread, turn, _) = asking(&rig, Wire::Socket, "approve touch x").await;
    drop(client);
    rig.until(&thread, |view| view["activity"] == "idle").await;
    // The thread continues for the next client.
    let mut next = Client::ready(&rig, Wire::Socket).await;
    next.get("thread/resume", json!({"threadId": thread})).await;
    next.wait(|message| message["method"] == "switchboard/replayCompleted").await;
    let ended = next.all("turn/completed").remove(0);
    assert_eq!((&ended["turn"]["id"], &ended["turn"]["items"][1]["status"]), (&json!(turn), &json!("declined")));
    let resolved = next.all("switchboard/requestResolved").remove(0);
    assert_eq!((&resolved["outcome"], &resolved["by"]), (&json!("expired"), &json!("timeout")));
    assert!(next.heard.iter().all(|message| message.get("id").is_none() || message.get("method").is_none()));
    assert_eq!(next.perform(&thread, "text on").await["status"], "completed");
}
