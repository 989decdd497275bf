//! The board: all sessions of all processes, and their changes.

use serde_json::{Value, json};
use switchboard_event::{EventBody, TurnCompleted, Usage};

use super::{stream::Follower, written};
use crate::rig::Rig;

fn ids(body: &Value) -> Vec<&str> {
    body["cards"].as_array().unwrap().iter().map(|card| card["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn sessions_are_cards_the_newest_first() {
    let rig = Rig::new();
    let done = rig.start("script", "text one").await;
    rig.ended(&done).await;
    let failed = rig.start_with(json!({ "agentType": "script", "prompt": "fail badly", "projectId": "mine" })).await;
    rig.ended(&failed).await;
    let (waiting, _) = rig.start_asking("approve touch x").await;
    let board = rig.get("/api/page/board").await.body;
    assert_eq!(ids(&board), [&waiting, &failed, &done]);
    let columns: Vec<_> =
        board["cards"].as_array().unwrap().iter().map(|card| card["column"].as_str().unwrap()).collect();
    assert_eq!(columns, ["waiting", "failed", "done"]);
    let card = &board["cards"][0];
    assert_eq!((&card["waitingFor"], &card["model"]), (&json!("Run touch x"), &json!("script-1")));
    assert_eq!((&board["agents"], &board["cards"][1]["project"]), (&json!(["script"]), &json!("mine")));
    assert!(board["projects"].as_array().unwrap().contains(&json!("mine")));
    assert!(board["cards"][2]["tokens"]["total"].as_u64().unwrap() > 0, "{board}");
    assert_eq!(ids(&rig.get("/api/page/board?project=mine").await.body), [&failed]);
    assert_eq!(ids(&rig.get("/api/page/board?text=TEXT").await.body), [&done]);
    assert_eq!(ids(&rig.get("/api/page/board?agent=echo").await.body), Vec::<&str>::new());
    let first = rig.get("/api/page/board?limit=1&agent=script&text=a").await.body;
    assert_eq!((ids(&first), first["next"].is_string()), (vec![&*waiting], true));
    let next = rig.get(&format!("/api/page/board?limit=1&before={}", first["next"].as_str().unwrap())).await.body;
    assert_eq!(ids(&next), [&failed]);
    assert_eq!(rig.get("/api/page/board?before=x").await.code(), "bad_field");
    rig.post(&format!("/api/sessions/{done}/archive"), json!({ "archived": true })).await;
    assert_eq!(ids(&rig.get("/api/page/board").await.body), [&waiting, &failed]);
}

#[tokio::test]
async fn each_reply_counts_once_and_what_the_agent_says_counts_first() {
    let rig = Rig::new();
    let used = |input: u64, cost: Option<f64>, cumulative: bool| {
        let usage = Usage { input, output: 1, cost_usd: cost, cumulative, ..Usage::default() };
        (None, EventBody::Usage(Box::new(Usage { model: Some("gpt-5".to_owned()), ..usage })))
    };
    let ended = |cost: Option<f64>| {
        (None, EventBody::TurnCompleted(Box::new(TurnCompleted { cost_usd: cost, ..TurnCompleted::default() })))
    };
    let began = || (None, EventBody::TurnStarted(Box::default()));
    let happened = vec![
        began(),
        used(100, Some(0.5), false),
        used(5_000, Some(9.0), true),
        used(10, Some(0.25), false),
        ended(None),
        began(),
        used(1_000_000, None, false),
        ended(Some(2.0)),
        began(),
        used(1_000_000, None, false),
        ended(None),
    ];
    let id = written(&rig, happened).await;
    let by_price = 1.25 + 0.00001;
    for _ in 0..2 {
        let card = rig.get("/api/page/board").await.body["cards"][0].clone();
        assert_eq!((&card["tokens"]["input"], &card["tokens"]["output"]), (&json!(2_000_110), &json!(4)));
        let cost = card["costUsd"].as_f64().unwrap();
        assert!((cost - (0.75 + 2.0 + by_price)).abs() < 1e-9, "{cost}");
        let page = rig.get(&format!("/api/page/sessions/{id}")).await.body;
        assert_eq!((&page["session"]["tokens"], &page["session"]["costUsd"]), (&card["tokens"], &card["costUsd"]));
    }
    // Another process, or this one after a restart, has the same state.
    let card = rig.second_process().get("/api/page/board").await.body["cards"][0].clone();
    assert_eq!(card["tokens"]["input"], 2_000_110);
}

#[tokio::test]
async fn the_board_sees_what_another_process_does() {
    let here = Rig::new();
    let there = here.second_process();
    there.listen();
    let board = here.get("/api/page/board").await.body;
    let path = format!("/api/page/board/stream?after={}", board["at"].as_str().unwrap());
    let mut follower = Follower::new(&here, &path, None).await;
    let card = async |follower: &mut Follower, wanted: &dyn Fn(&Value) -> bool| loop {
        let message = follower.message().await.unwrap();
        if wanted(&message) {
            return message;
        }
    };
    let (id, request) = there.start_asking("approve touch x\ntext after").await;
    let seen = card(&mut follower, &|message| message["card"]["column"] == "waiting").await;
    assert_eq!(
        (&seen["op"], &seen["card"]["id"], &seen["card"]["waitingFor"]),
        (&json!("card"), &json!(id), &json!("Run touch x"))
    );
    there.post(&format!("/api/sessions/{id}/approvals/{request}"), json!({ "decision": "accept" })).await;
    let seen = card(&mut follower, &|message| message["card"]["column"] == "done").await;
    assert!(seen["card"]["tokens"]["total"].as_u64().unwrap() > 0, "{seen}");
    // A client that reconnects gets what it missed.
    let last = follower.id.clone().unwrap();
    drop(follower);
    assert_eq!(there.delete(&format!("/api/sessions/{id}")).await.status, 204);
    let mut follower = Follower::new(&here, "/api/page/board/stream", Some(&last)).await;
    let gone = card(&mut follower, &|message| message["op"] == "gone").await;
    assert_eq!(gone["id"], json!(id));
}
