//! A session as entries.

use serde_json::json;

use super::{entries, kinds};
use crate::rig::Rig;

const SCRIPT: &str =
    "think about it\ntext **Hello**, world.\nrun echo hi\nedit src/main.rs\nplan look, act\nsubagent research";

#[tokio::test]
async fn things_are_in_the_order_in_which_they_began() {
    let rig = Rig::new();
    let id = rig.start("script", SCRIPT).await;
    rig.ended(&id).await;
    let entries = entries(&rig, &id).await;
    let found = kinds(&entries);
    let expected = ["session", "turn", "user", "reasoning", "answer", "command", "change", "plan", "subagent"];
    assert_eq!(&found[..expected.len()], expected, "{found:?}");
    assert_eq!(found.last(), Some(&"session"));
    for (n, entry) in entries.iter().enumerate() {
        assert_eq!(entry["n"], n, "{entry}");
        assert!(entry["first"].as_u64() <= entry["last"].as_u64() && entry["live"].is_null(), "{entry}");
    }
    let answer = &entries[4];
    assert_eq!(answer["html"], "<p><strong>Hello</strong>, world.</p>", "{answer}");
    let command = &entries[5];
    assert!(command["html"].as_str().unwrap().contains("pretending to run: echo hi"), "{command}");
    assert!(entries[2]["html"].as_str().unwrap().contains("think about it"), "{}", entries[2]);
    assert_eq!((&entries[1]["status"], &entries[3]["fold"]), (&json!("completed"), &json!(true)));
}

#[tokio::test]
async fn what_a_subagent_does_is_below_it() {
    let rig = Rig::new();
    let id = rig.start("script", SCRIPT).await;
    rig.ended(&id).await;
    let entries = entries(&rig, &id).await;
    let subagent = entries.iter().find(|entry| entry["kind"] == "subagent").unwrap();
    let below: Vec<_> = entries.iter().filter(|entry| entry["parent"] == subagent["n"]).collect();
    assert!(!below.is_empty() && below.iter().all(|entry| entry["depth"] == 1), "{entries:?}");
}

#[tokio::test]
async fn entries_come_in_windows() {
    let rig = Rig::new();
    let script: Vec<String> = (0..100).map(|n| format!("text number {n}")).collect();
    let id = rig.start("script", &script.join("\n")).await;
    rig.ended(&id).await;
    let path = format!("/api/page/sessions/{id}");
    let tail = rig.get(&path).await.body;
    let total = tail["total"].as_u64().unwrap();
    assert!(total >= 103, "{total}");
    let numbers = |body: &serde_json::Value| -> Vec<u64> {
        body["entries"].as_array().unwrap().iter().map(|entry| entry["n"].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&tail), (total - 60..total).collect::<Vec<_>>());
    assert_eq!(tail["from"], total - 60);
    assert_eq!(tail["seq"], tail["session"]["events"]);
    let middle = rig.get(&format!("{path}?from=10&count=7")).await.body;
    assert_eq!(numbers(&middle), (10..17).collect::<Vec<_>>());
    let end = rig.get(&format!("{path}?from={}&count=7", total - 2)).await.body;
    assert_eq!(numbers(&end), (total - 2..total).collect::<Vec<_>>());
    assert_eq!(numbers(&rig.get(&format!("{path}?from=100000")).await.body), Vec::<u64>::new());
    let outline = rig.get(&format!("{path}/outline")).await.body;
    assert_eq!((outline["total"].as_u64().unwrap(), outline["sizes"].as_array().unwrap().len() as u64), (total, total));
    for (path, status) in [
        (format!("{path}?count=0"), 400),
        (format!("{path}?count=301"), 400),
        ("/api/page/sessions/no".to_owned(), 404),
    ] {
        assert_eq!(rig.get(&path).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn a_request_is_where_it_was_asked_and_says_what_became_of_it() {
    let rig = Rig::new();
    let (id, request) = rig.start_asking("approve touch x\ntext after").await;
    let page = rig.get(&format!("/api/page/sessions/{id}")).await.body;
    let asked = page["entries"].as_array().unwrap().iter().find(|entry| entry["kind"] == "request").unwrap();
    assert_eq!((&asked["status"], &asked["request"]["id"]), (&json!("open"), &json!(request)));
    assert_eq!((&asked["request"]["open"], &asked["request"]["about"]), (&json!(true), &json!("command")));
    assert_eq!(asked["request"]["options"][0]["kind"], "allow_once");
    let card = &page["session"];
    assert_eq!(
        (&card["column"], &card["waitingFor"], &card["approvals"]),
        (&json!("waiting"), &json!("Run touch x"), &json!(1))
    );
    rig.post(&format!("/api/sessions/{id}/approvals/{request}"), json!({ "decision": "decline" })).await;
    rig.ended(&id).await;
    let entries = entries(&rig, &id).await;
    let asked = &entries[asked["n"].as_u64().unwrap() as usize];
    assert_eq!((&asked["status"], &asked["request"]["open"]), (&json!("declined"), &json!(false)), "{asked}");
}

#[tokio::test]
async fn what_can_be_chosen_is_said() {
    let rig = Rig::new();
    let id = rig.start("script", "text hi").await;
    rig.ended(&id).await;
    let choices = rig.get(&format!("/api/page/sessions/{id}")).await.body["choices"].clone();
    assert_eq!(choices["models"][0]["id"], "script-1");
    assert_eq!((&choices["modes"][0]["id"], &choices["options"][0]["id"]), (&json!("perform"), &json!("pace")));
    assert_eq!((&choices["model"], &choices["commands"][0]["name"]), (&json!("script-1"), &json!("compact")));
}
