//! Pages of messages.

use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::Rig;

/// All messages, page by page.
async fn all(rig: &Rig, id: &str, dialect: &str, limit: usize) -> Vec<Value> {
    let (mut messages, mut offset) = (Vec::new(), 0);
    loop {
        let path = format!("/api/sessions/{id}/events?dialect={dialect}&offset={offset}&limit={limit}");
        let page = rig.get(&path).await.body;
        let events = page["events"].as_array().unwrap().clone();
        assert!(events.len() <= limit);
        assert_eq!(page["nextOffset"], json!(offset + events.len()));
        if events.is_empty() {
            return messages;
        }
        offset += events.len();
        messages.extend(events);
    }
}

#[tokio::test]
async fn pages_of_any_size_say_the_same() {
    let rig = Rig::new();
    let id = rig.start("script", "text one two three\nthink why\nrun ls\nedit a.txt\nplan a, b").await;
    rig.ended(&id).await;
    for dialect in switchboard_dialects::DIALECTS {
        let whole = all(&rig, &id, dialect.name, 10_000).await;
        assert!(whole.len() > 3, "{}: {whole:?}", dialect.name);
        for limit in [1, 2, 7] {
            assert_eq!(all(&rig, &id, dialect.name, limit).await, whole, "{} by {limit}", dialect.name);
        }
    }
}

#[tokio::test]
async fn the_usual_dialect_is_that_of_a_board() {
    let rig = Rig::new();
    let id = rig.start("echo", "hello there").await;
    rig.ended(&id).await;
    let page = rig.get(&format!("/api/sessions/{id}/events")).await.body;
    let events = page["events"].as_array().unwrap();
    for field in ["id", "sessionId", "type", "payload", "timestamp"] {
        assert!(events.iter().all(|event| event.get(field).is_some()), "{field}");
    }
    assert!(page.to_string().contains("hello there"));
}

#[tokio::test]
async fn after_counts_events() {
    let rig = Rig::new();
    let id = rig.start("echo", "hello").await;
    let head = rig.ended(&id).await["events"].as_u64().unwrap();
    let path = |rest: &str| format!("/api/sessions/{id}/events?dialect=events{rest}");
    let page = rig.get(&path("&after=3")).await.body;
    let seqs: Vec<_> = page["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (4..=head).collect::<Vec<_>>());
    assert_eq!((page["nextOffset"].as_u64(), page["lastSeq"].as_u64()), (Some(head), Some(head)));
    let beyond = rig.get(&path(&format!("&offset={}", head + 10))).await.body;
    assert_eq!((&beyond["events"], &beyond["nextOffset"]), (&json!([]), &json!(head + 10)));
    let part = rig.get(&path("&offset=1&limit=2")).await.body;
    assert_eq!((part["nextOffset"].as_u64(), part["lastSeq"].as_u64()), (Some(3), Some(3)));
}

#[tokio::test]
async fn waiting_ends_with_the_first_message_or_with_the_session() {
    let rig = Rig::new();
    let (id, request) = rig.start_asking("approve touch x").await;
    let head = rig.get(&format!("/api/sessions/{id}")).await.body["events"].clone();
    let path = format!("/api/sessions/{id}/events?dialect=events&after={head}&wait=60");
    let waiting = rig.get(&path);
    let answering = async {
        // The one who waits is asked first, and is not answered by itself.
        tokio::task::yield_now().await;
        rig.post(&format!("/api/sessions/{id}/approvals/{request}"), json!({ "decision": "decline" })).await
    };
    let (page, answered) = tokio::join!(waiting, answering);
    assert_eq!(answered.status, 200);
    assert!(!page.body["events"].as_array().unwrap().is_empty(), "{page:?}");
    let head = rig.ended(&id).await["events"].clone();
    let path = format!("/api/sessions/{id}/events?dialect=events&after={head}&wait=60");
    let over = tokio::time::timeout(Duration::from_secs(30), rig.get(&path)).await.expect("nothing can come any more");
    assert_eq!(over.body["events"], json!([]));
}

#[tokio::test]
async fn waiting_ends_with_time() {
    let rig = Rig::new();
    let (id, _) = rig.start_asking("approve touch x").await;
    let head = rig.get(&format!("/api/sessions/{id}")).await.body["events"].clone();
    let page = rig.get(&format!("/api/sessions/{id}/events?dialect=events&after={head}&wait=0.05")).await.body;
    assert_eq!(page["events"], json!([]));
}

#[tokio::test]
async fn who_counts_events_gets_past_one_of_several_messages() {
    let rig = Rig::new();
    let id = rig.start("script", "text a\nrun ls\nedit f\nplan A, B").await;
    rig.ended(&id).await;
    for dialect in switchboard_dialects::DIALECTS {
        let whole = all(&rig, &id, dialect.name, 10_000).await;
        let (mut got, mut after) = (Vec::new(), 0);
        loop {
            let path = format!("/api/sessions/{id}/events?dialect={}&after={after}&limit=1", dialect.name);
            let page = rig.get(&path).await.body;
            let events = page["events"].as_array().unwrap().clone();
            if events.is_empty() {
                break;
            }
            got.extend(events);
            after = page["lastSeq"].as_u64().unwrap();
        }
        assert_eq!(got, whole, "{}", dialect.name);
    }
}
