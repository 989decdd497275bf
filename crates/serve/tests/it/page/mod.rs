//! The endpoints of the page: entries and their changes, the board, and parts of entries.

mod board;
mod entries;
mod hostile;
mod stream;

use std::sync::Arc;

use axum::{
    body::Body,
    http::{Request, header},
    response::Response,
};
use serde_json::Value;
use switchboard_event::{Event, EventBody as What, Id, SessionConfig, Timestamp};
use switchboard_store::{EventBatch, EventChunk, NewSession, SessionPatch, SessionPhase};
use tower::ServiceExt as _;

use crate::rig::Rig;

/// Returns all entries of a session.
pub async fn entries(rig: &Rig, id: &str) -> Vec<Value> {
    let page = rig.get(&format!("/api/page/sessions/{id}?from=0&count=300")).await;
    assert_eq!(page.status, 200, "{page:?}");
    page.body["entries"].as_array().unwrap().clone()
}

pub fn kinds(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["kind"].as_str().unwrap()).collect()
}

/// Returns a response with its headers.
pub async fn ask(rig: &Rig, path: &str, headers: &[(header::HeaderName, &str)]) -> Response {
    let request = headers.iter().fold(Request::get(path), |request, (name, value)| request.header(name, *value));
    rig.service.router().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

/// Writes an ended session with these events, each with its item.
pub async fn written(rig: &Rig, happened: Vec<(Option<&str>, What)>) -> String {
    let id = Id::from(uuid::Uuid::now_v7().to_string());
    let (log, at) = (rig.service.engine().log().clone(), Timestamp::parse("2026-11-16T10:00:00Z").unwrap());
    let event = |(seq, (item, body)): (u64, (Option<&str>, What))| Event {
        seq,
        session: id.clone(),
        at,
        agent: Id::from("echo"),
        run: 1,
        turn: Some(1),
        item: item.map(Id::from),
        parent: None,
        thread: None,
        body,
        native: None,
        cause: None,
    };
    let events: Vec<Event> = (1..).zip(happened).map(event).collect();
    let new = NewSession {
        id: id.clone(),
        agent: Id::from("echo"),
        created: at,
        config: SessionConfig::default(),
        prompt: "made up".to_owned(),
        cwd: "/made/up".to_owned(),
        project: None,
    };
    log.create_session(new).unwrap();
    let chunk = EventChunk::try_from(events).unwrap();
    let (told, hears) = tokio::sync::oneshot::channel();
    let update = SessionPatch { state: Some(SessionPhase::Done), ..SessionPatch::default() };
    let done = Box::new(move |result| drop(told.send(result)));
    log.append_batch(EventBatch { session: id.clone(), events: Arc::new(chunk), update, done });
    hears.await.unwrap().unwrap();
    id.to_string()
}
