//! A session as it happens.

use std::{collections::BTreeMap, time::Duration};

use axum::http::{HeaderName, header};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::{ask, entries};
use crate::rig::Rig;

const LAST: HeaderName = HeaderName::from_static("last-event-id");

/// What a browser has that follows a session.
pub struct Follower {
    body: axum::body::BodyDataStream,
    rest: String,
    pub id: Option<String>,
    pub entries: BTreeMap<u64, Value>,
    pub session: Value,
    pub resets: usize,
}

impl Follower {
    pub async fn new(rig: &Rig, path: &str, last: Option<&str>) -> Self {
        let headers: Vec<_> = last.into_iter().map(|last| (LAST, last)).collect();
        let response = ask(rig, path, &headers).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        let body = response.into_body().into_data_stream();
        Self { body, rest: String::new(), id: None, entries: BTreeMap::new(), session: Value::Null, resets: 0 }
    }

    /// The next message, whatever it is.
    pub async fn message(&mut self) -> Option<Value> {
        loop {
            if let Some((message, rest)) = self.rest.split_once("\n\n") {
                let (message, rest) = (message.to_owned(), rest.to_owned());
                self.rest = rest;
                self.id =
                    message.lines().find_map(|line| line.strip_prefix("id: ")).map(str::to_owned).or(self.id.take());
                let data = message.lines().find_map(|line| line.strip_prefix("data: "));
                match data {
                    Some(data) => return Some(serde_json::from_str(data).unwrap()),
                    None => continue,
                }
            }
            let more = tokio::time::timeout(Duration::from_secs(60), self.body.next()).await.expect("nothing comes")?;
            self.rest.push_str(std::str::from_utf8(&more.unwrap()).unwrap());
        }
    }

    /// Takes in messages until it is as it should be.
    pub async fn until(&mut self, wanted: impl Fn(&Self) -> bool) {
        while !wanted(self) {
            let message = self.message().await.expect("it ended before");
            self.take(&message);
        }
    }

    fn take(&mut self, message: &Value) {
        let entry = message["n"].as_u64().and_then(|n| self.entries.get_mut(&n));
        match (message["op"].as_str().unwrap(), entry) {
            ("entry", _) => {
                drop(self.entries.insert(message["entry"]["n"].as_u64().unwrap(), message["entry"].clone()))
            }
            ("text", Some(entry)) => add(entry, "tail", &message["text"]),
            ("blocks", Some(entry)) => {
                add(entry, "html", &message["html"]);
                entry["tail"] = message["tail"].clone();
            }
            ("session", _) => self.session = message["session"].clone(),
            ("reset", _) => self.resets += 1,
            _ => {}
        }
    }
}

fn add(entry: &mut Value, field: &str, more: &Value) {
    entry[field] = format!("{}{}", entry[field].as_str().unwrap_or_default(), more.as_str().unwrap()).into();
}

#[tokio::test]
async fn a_stream_tells_what_a_later_look_shows() {
    let rig = Rig::new();
    let id = rig.start("script", "text one\napprove touch x\ntext two\nburst 2000\nrun echo hi").await;
    let request = rig.asked(&id).await;
    let path = format!("/api/page/sessions/{id}/stream");
    let page = rig.get(&format!("/api/page/sessions/{id}")).await.body;
    let mut follower = Follower::new(&rig, &format!("{path}?after={}", page["seq"]), None).await;
    follower.entries =
        page["entries"].as_array().unwrap().iter().map(|entry| (entry["n"].as_u64().unwrap(), entry.clone())).collect();
    rig.post(&format!("/api/sessions/{id}/approvals/{request}"), json!({ "decision": "accept" })).await;
    follower.until(|follower| follower.session["column"] == "done").await;
    let shown = entries(&rig, &id).await;
    assert_eq!(follower.entries.into_values().collect::<Vec<_>>(), shown);
    // A session that has ended may go on: the stream is still open.
    rig.post(&format!("/api/sessions/{id}/prompt"), json!({ "prompt": "text again" })).await;
    let mut back = Follower::new(&rig, &path, follower.id.as_deref()).await;
    back.until(|back| back.session["runs"] == 2 && back.session["column"] == "done").await;
    let shown = entries(&rig, &id).await;
    let heard: Vec<_> = back.entries.into_values().collect();
    assert!(shown.ends_with(&heard) && heard.iter().any(|entry| entry["html"] == "<p>again</p>"), "{heard:?}");
}

#[tokio::test]
async fn who_missed_too_much_begins_anew() {
    let rig = Rig::new();
    let script: Vec<String> = (0..700).map(|n| format!("text number {n}")).collect();
    let id = rig.start("script", &script.join("\n")).await;
    rig.ended(&id).await;
    let mut follower = Follower::new(&rig, &format!("/api/page/sessions/{id}/stream"), Some("1")).await;
    follower.until(|follower| follower.resets == 1).await;
    assert!(follower.entries.is_empty());
}

#[tokio::test]
async fn few_messages_tell_of_many_events() {
    let rig = Rig::new();
    let id = rig.start("script", "approve go\nburst 20000").await;
    let request = rig.asked(&id).await;
    let mut follower = Follower::new(&rig, &format!("/api/page/sessions/{id}/stream"), None).await;
    rig.post(&format!("/api/sessions/{id}/approvals/{request}"), json!({ "decision": "accept" })).await;
    let mut messages = 0;
    while follower.session["column"] != "done" {
        let message = follower.message().await.unwrap();
        follower.take(&message);
        messages += 1;
    }
    assert!(messages < 2_000, "{messages} messages for 20,000 events");
}

#[tokio::test]
async fn a_session_of_another_process_is_followed() {
    let here = Rig::new();
    let there = here.beside();
    there.listen();
    let (id, request) = there.start_asking("text one\napprove touch x\ntext two").await;
    let mut follower = Follower::new(&here, &format!("/api/page/sessions/{id}/stream?after=0"), None).await;
    follower.until(|follower| follower.session["column"] == "waiting").await;
    here.post(&format!("/api/sessions/{id}/approvals/{request}"), json!({ "decision": "accept" })).await;
    follower.until(|follower| follower.session["column"] == "done").await;
    assert_eq!(follower.entries.into_values().collect::<Vec<_>>(), entries(&here, &id).await);
}
