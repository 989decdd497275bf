//! Threads: stored, listed, resumed with their history, and archived; also those of other processes.

use serde_json::{Value, json};

use super::client::{Client, WIRES, Wire};
use crate::rig::Rig;

fn ids(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|thread| thread["id"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_are_listed_in_pages_newest_first() {
    let rig = Rig::new();
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let mut threads = Vec::new();
    for number in 0..5 {
        let thread = client.thread(json!({})).await;
        client.perform(&thread, &format!("text number {number}")).await;
        threads.insert(0, thread);
    }
    // Every session is a thread, whichever client started it.
    let other = rig.start("echo", "from elsewhere").await;
    threads.insert(0, other);
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let params = match &cursor {
            Some(cursor) => json!({"limit": 4, "cursor": cursor}),
            None => json!({"limit": 4}),
        };
        let page = client.get("thread/list", params).await;
        seen.extend(ids(&page).into_iter().map(str::to_owned));
        cursor = page.get("nextCursor").cloned();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, threads);
    let page = client.get("thread/list", json!({})).await;
    assert_eq!(ids(&page), threads);
    let last = &page["data"][1];
    assert_eq!((&last["preview"], &last["_meta"]["turns"]), (&json!("text number 4"), &json!(1)));
    assert_eq!((&last["_meta"]["agent"], &last["_meta"]["state"]), (&json!("script"), &json!("idle")));
    for wrong in [json!({"cursor": "nonsense"}), json!({"limit": 0}), json!({"limit": "x"})] {
        assert_eq!(client.code("thread/list", wrong).await, -32602);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_away_is_listed_apart_until_it_is_resumed() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let (one, two) = (client.thread(json!({})).await, client.thread(json!({})).await);
        assert_eq!(client.get("thread/archive", json!({"threadId": one})).await, json!({}));
        assert_eq!(ids(&client.get("thread/list", json!({})).await), [&two]);
        assert_eq!(ids(&client.get("thread/list", json!({"archived": true})).await), [&one]);
        client.get("thread/resume", json!({"threadId": one})).await;
        assert_eq!(ids(&client.get("thread/list", json!({})).await), [&two, &one]);
        client.get("thread/archive", json!({"threadId": one})).await;
        client.get("thread/unarchive", json!({"threadId": one})).await;
        assert!(ids(&client.get("thread/list", json!({"archived": true})).await).is_empty());
        for method in ["thread/archive", "thread/unarchive", "thread/resume"] {
            assert_eq!(client.code(method, json!({"threadId": "nope"})).await, -32001, "{method}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_thread_tells_its_history_and_then_goes_on() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut first = Client::ready(&rig, wire).await;
        let thread = first.thread(json!({"approvalPolicy": "always"})).await;
        first.perform(&thread, "think hm\ntext one\nrun ls").await;
        let turn = first.turn(&thread, "approve touch x").await;
        let asked = first.asked(&thread).await;
        first.send(&json!({"id": asked["id"], "result": {"decision": "accept"}})).await;
        first.ended(&thread, &turn).await;
        let told = first.heard.clone();
        drop(first);
        rig.service.cancel(&thread).await.unwrap();
        rig.ended(&thread).await;

        let mut second = Client::ready(&rig, wire).await;
        let result = second.get("thread/resume", json!({"threadId": thread})).await;
        assert_eq!(result["thread"]["id"], *thread);
        second.wait(|message| message["method"] == "switchboard/replayCompleted").await;
        let resumed =
            second.place(|message| message.get("result").is_some() && message["result"].get("thread").is_some());
        let started = second.place(|message| message["method"] == "thread/started");
        assert!(resumed < started);
        let history = &second.heard[started + 1..second.heard.len() - 1];
        assert!(history.iter().all(|message| message["params"]["_meta"]["replay"] == true), "{history:#?}");
        assert!(history.iter().all(|message| message.get("id").is_none()));
        // The same as live, except for the mark and the requests.
        let items = |messages: &[Value]| -> Vec<Value> {
            let items = messages.iter().filter(|message| message["method"] == "item/completed");
            items.map(|message| message["params"]["item"].clone()).collect()
        };
        assert_eq!(items(history), items(&told));
        assert_eq!(second.all("thread/started").len(), 1);
        assert_eq!(second.perform(&thread, "text again").await["id"], "turn_3");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_is_resumed_in_the_middle_of_a_turn() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut first = Client::ready(&rig, wire).await;
        let thread = first.thread(json!({})).await;
        let turn = first.turn(&thread, "text begun\nsleep 60").await;
        first.wait(|message| message["method"] == "switchboard/notice").await;
        let mut second = Client::ready(&rig, wire).await;
        second.get("thread/resume", json!({"threadId": thread})).await;
        second.wait(|message| message["method"] == "switchboard/replayCompleted").await;
        let input = json!([{"type": "text", "text": "x"}]);
        assert_eq!(second.code("turn/start", json!({"threadId": thread, "input": input})).await, -32002);
        second.get("turn/interrupt", json!({"threadId": thread, "turnId": turn})).await;
        for client in [&mut first, &mut second] {
            let done = client.ended(&thread, &turn).await;
            assert_eq!((&done["status"], &done["items"][1]["text"]), (&json!("interrupted"), &json!("begun")));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_can_be_started_while_the_history_is_replayed() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut first = Client::ready(&rig, wire).await;
        let thread = first.thread(json!({})).await;
        first.perform(&thread, "burst 5000").await;
        let mut second = Client::ready(&rig, wire).await;
        second.get("thread/resume", json!({"threadId": thread})).await;
        second.wait(|message| message["method"] == "item/agentMessage/delta").await;
        assert!(second.all("turn/completed").is_empty(), "the history is still being replayed");
        assert_eq!(second.perform(&thread, "text again").await["id"], "turn_2");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_is_open_already_can_be_resumed() {
    let rig = Rig::new();
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let thread = client.thread(json!({})).await;
    client.perform(&thread, "text one").await;
    client.get("thread/resume", json!({"threadId": thread})).await;
    client.wait(|message| message["method"] == "switchboard/replayCompleted").await;
    client.perform(&thread, "text two").await;
    let said: Vec<_> = client
        .all("item/agentMessage/delta")
        .iter()
        .map(|params| params["delta"].as_str().unwrap().to_owned())
        .collect();
    // Once live and once as history; the second turn once.
    assert_eq!(said.concat(), "oneonetwo");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_of_another_process_is_followed_and_steered() {
    let rig = Rig::new();
    rig.listen();
    let mut owner = Client::ready(&rig, Wire::Lines).await;
    let thread = owner.thread(json!({"approvalPolicy": "always"})).await;
    owner.perform(&thread, "text one").await;
    let beside = rig.second_process();
    let mut guest = Client::ready(&beside, Wire::Lines).await;
    guest.get("thread/resume", json!({"threadId": thread})).await;
    guest.wait(|message| message["method"] == "switchboard/replayCompleted").await;
    let turn = guest.turn(&thread, "approve touch x\nsleep 60").await;
    let asked = guest.asked(&thread).await;
    guest.send(&json!({"id": asked["id"], "result": {"decision": "accept"}})).await;
    guest.wait(|message| message["method"] == "switchboard/notice" && message["params"]["name"] == "sleep").await;
    guest.get("turn/interrupt", json!({"threadId": thread, "turnId": turn})).await;
    for client in [&mut owner, &mut guest] {
        let done = client.ended(&thread, &turn).await;
        assert_eq!((&done["status"], &done["items"][1]["status"]), (&json!("interrupted"), &json!("completed")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_thread_is_no_longer_open() {
    let rig = Rig::new();
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let thread = client.thread(json!({})).await;
    client.perform(&thread, "text one").await;
    rig.delete(&format!("/api/sessions/{thread}")).await;
    client.wait(|message| message["params"]["text"].as_str().is_some_and(|text| text.contains("no longer open"))).await;
    let input = json!([{"type": "text", "text": "x"}]);
    assert_eq!(client.code("turn/start", json!({"threadId": thread, "input": input})).await, -32001);
}
