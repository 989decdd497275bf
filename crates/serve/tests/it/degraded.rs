//! A server whose log is damaged, or gone.

use serde_json::json;

use crate::rig::{Rig, text};

/// A session that has ended, one event of which the disk has changed, and a server that has nothing of it in memory.
async fn with_damage(seq: u64) -> (Rig, String) {
    let rig = Rig::new();
    let id = rig.start("script", "text one\ntext two").await;
    rig.ended(&id).await;
    let log = rusqlite::Connection::open(rig.folder.path().join("data/log.db")).unwrap();
    let changed = log.execute(
        "UPDATE events SET body = replace(body, '\"seq\":', '\"seq\": ') WHERE place & 0xffffffffff = ?1",
        [seq],
    );
    assert_eq!(changed, Ok(1));
    (rig.beside(), id)
}

#[tokio::test]
async fn a_damaged_event_is_named_and_the_rest_can_be_read() {
    let (rig, id) = with_damage(2).await;
    let first = rig.get(&format!("/api/sessions/{id}/events?dialect=events&limit=1")).await;
    assert_eq!(first.status, 200, "{first:?}");
    let answer = rig.get(&format!("/api/sessions/{id}/events?dialect=events&after=1")).await;
    assert_eq!((answer.status, answer.code()), (500, "damaged_event"), "{answer:?}");
    assert!(answer.detail().contains(&id) && answer.detail().contains("event 2"), "{answer:?}");
    let rest = text(&rig.service, &format!("/api/sessions/{id}/stream?dialect=events&after=2")).await;
    assert!(rest.contains("id: 3\n") && !rest.contains("closed"), "{rest}");
    let stream = text(&rig.service, &format!("/api/sessions/{id}/stream?dialect=events")).await;
    assert!(stream.contains("id: 1\n") && !stream.contains("id: 2\n"), "{stream}");
    assert!(stream.contains("event: closed") && stream.contains("event 2 is damaged"), "{stream}");
}

#[tokio::test]
async fn exports_leave_damaged_events_out_and_say_so() {
    let (rig, id) = with_damage(2).await;
    let events = text(&rig.service, &format!("/api/page/sessions/{id}/export?format=jsonl")).await;
    assert!(events.contains("{\"damagedEvent\":2}\n") && events.contains("\"seq\":3"), "{events}");
    let story = text(&rig.service, &format!("/api/page/sessions/{id}/export?format=markdown")).await;
    assert!(story.contains("checksums do not match: 2"), "{story}");
}

#[tokio::test]
async fn a_data_directory_that_was_removed_is_noticed() {
    let rig = Rig::new();
    assert_eq!(rig.get("/api/health").await.body["status"], "ok");
    std::fs::remove_dir_all(rig.folder.path().join("data")).unwrap();
    let health = rig.get("/api/health").await;
    assert_eq!((health.status, health.code()), (503, "data_missing"), "{health:?}");
    let refused = rig.post("/api/sessions", json!({ "agentType": "echo", "prompt": "x" })).await;
    assert_eq!((refused.status, refused.code()), (503, "data_missing"), "{refused:?}");
}
