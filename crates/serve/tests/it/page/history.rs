//! Sessions of the logs as entries.

use serde_json::Value;

use super::kinds;
use crate::{logs::rig, rig::text};

#[tokio::test]
async fn every_session_of_every_agent_is_shown() {
    let (rig, _) = rig();
    let all = rig.get("/api/logs?limit=500").await.body;
    for session in all["sessions"].as_array().unwrap() {
        let path = format!("/api/page/logs/{}", session["id"].as_str().unwrap());
        let page = rig.get(&format!("{path}?from=0&count=300")).await;
        assert_eq!(page.status, 200, "{session}: {page:?}");
        let entries = page.body["entries"].as_array().unwrap();
        let total = page.body["total"].as_u64().unwrap();
        assert_eq!(entries.len() as u64, total.min(300), "{session}");
        assert!(kinds(entries).iter().any(|kind| ["user", "answer"].contains(kind)), "{session}: {:?}", kinds(entries));
        assert_eq!(page.body["session"]["id"], session["id"]);
        let sizes = rig.get(&format!("{path}/outline")).await.body["sizes"].as_array().unwrap().len() as u64;
        assert_eq!(sizes, total, "{session}");
    }
}

#[tokio::test]
async fn an_entry_of_a_log_has_its_records_and_its_text() {
    let (rig, _) = rig();
    let all = rig.get("/api/logs?limit=1").await.body;
    let path = format!("/api/page/logs/{}", all["sessions"][0]["id"].as_str().unwrap());
    let page = rig.get(&path).await.body;
    let entries = page["entries"].as_array().unwrap();
    let answer = entries.iter().rfind(|entry| entry["kind"] == "answer").unwrap();
    let raw: Value =
        serde_json::from_str(&text(&rig.service, &format!("{path}/entries/{}/raw", answer["n"])).await).unwrap();
    let events = raw["events"].as_array().unwrap();
    assert!(events.iter().any(|event| !event["native"].is_null()), "{raw}");
    let said = text(&rig.service, &format!("{path}/entries/{}/text", answer["n"])).await;
    assert!(!said.is_empty() && events.iter().any(|event| event["data"]["item"]["text"] == said), "{said}");
    assert_eq!(rig.get(&format!("{path}/entries/99999/raw")).await.status, 404);
    assert_eq!(rig.get(&format!("{path}/media/1/0")).await.status, 404);
    assert_eq!(rig.get("/api/page/logs/nobody").await.status, 404);
}
