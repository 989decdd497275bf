//! The event stream of a session's page, and that changes of a timeline add up to one that is built at once.

use std::{collections::BTreeMap, time::Duration};

use axum::http::{HeaderName, header};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use switchboard_event::{Event, Kind};
use switchboard_page::timeline::{EventLookup, NoPrices, SkippedText, Timeline, TimelineCursor, TimelineOp};
use switchboard_testkit::random::SeededRng;
use switchboard_testkit::recording::{self, load_recordings};

use super::{ask, entries};
use crate::rig::Rig;

const LAST: HeaderName = HeaderName::from_static("last-event-id");

/// The maximum number of events played of a recording.
const MOST: usize = 1_500;

/// The state of a browser that follows a session.
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

    /// Applies messages until a condition holds.
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
    // A session that has ended may be continued: the stream is still open.
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
    let there = here.second_process();
    there.listen();
    let (id, request) = there.start_asking("text one\napprove touch x\ntext two").await;
    let mut follower = Follower::new(&here, &format!("/api/page/sessions/{id}/stream?after=0"), None).await;
    follower.until(|follower| follower.session["column"] == "waiting").await;
    here.post(&format!("/api/sessions/{id}/approvals/{request}"), json!({ "decision": "accept" })).await;
    follower.until(|follower| follower.session["column"] == "done").await;
    assert_eq!(follower.entries.into_values().collect::<Vec<_>>(), entries(&here, &id).await);
}

struct Played<'a>(&'a [Event]);

impl EventLookup for Played<'_> {
    fn event(&mut self, seq: u64) -> Option<Event> {
        self.0.iter().find(|event| event.seq == seq).cloned()
    }

    fn media(&self) -> &'static str {
        "/media"
    }
}

/// The state of a page.
#[derive(Default)]
struct Reader {
    cursor: TimelineCursor,
    entries: BTreeMap<u32, Value>,
}

impl Reader {
    /// Loads all entries.
    fn load(&mut self, sheet: &Timeline, events: &[Event]) {
        self.entries = all(sheet, events);
        self.cursor = sheet.cursor(sheet.seq());
    }

    /// Reconnects: only the cursor is kept.
    fn reconnect(&mut self, sheet: &Timeline) {
        self.cursor = sheet.cursor(self.cursor.seq);
    }

    fn hear(&mut self, sheet: &Timeline, events: &[Event]) {
        let ops = sheet.changes(&mut self.cursor, |n| shown(sheet, n, events));
        for op in ops {
            match op {
                TimelineOp::Entry { entry } => drop(self.entries.insert(number(&entry), entry)),
                TimelineOp::Text { n, text } => {
                    let tail = &mut self.entries.get_mut(&n).unwrap()["tail"];
                    *tail = format!("{}{text}", tail.as_str().unwrap()).into();
                }
                TimelineOp::Blocks { n, html, tail } => {
                    let entry = self.entries.get_mut(&n).unwrap();
                    entry["html"] = format!("{}{}", entry["html"].as_str().unwrap(), html.as_str()).into();
                    entry["tail"] = tail.into();
                }
                TimelineOp::Reset => return self.load(sheet, events),
            }
        }
    }
}

fn number(entry: &Value) -> u32 {
    u32::try_from(entry["n"].as_u64().unwrap()).unwrap()
}

fn shown(sheet: &Timeline, n: u32, events: &[Event]) -> Option<Value> {
    sheet.entry(n, &mut Played(events)).map(|entry| serde_json::to_value(entry).unwrap())
}

fn all(sheet: &Timeline, events: &[Event]) -> BTreeMap<u32, Value> {
    (0..sheet.len())
        .map(|n| (n, shown(sheet, n, events).unwrap_or_else(|| panic!("entry {n} cannot be shown"))))
        .collect()
}

/// A timeline of the events, read completely or with skipped text.
fn fresh(events: &[Event], hurry: bool) -> Timeline {
    let mut sheet = Timeline::default();
    if !hurry {
        events.iter().for_each(|event| sheet.see(event, &NoPrices));
        return sheet;
    }
    let is_of = |event: &&Event, kinds: &[Kind]| kinds.contains(&event.body.kind());
    let shown = events.iter().filter(|event| is_of(event, Timeline::KINDS_WITHOUT_TEXT));
    shown.for_each(|event| sheet.see(event, &NoPrices));
    let skipped = sheet.skip_text(events.last().map_or(0, |event| event.seq));
    let missing = events.iter().filter(|event| is_of(event, SkippedText::KINDS));
    missing.for_each(|event| sheet.apply_skipped(&skipped, event));
    sheet
}

/// Removes what may differ: for growing text, neither the latest event nor the number of lines is sent.
fn steady(mut entries: BTreeMap<u32, Value>) -> BTreeMap<u32, Value> {
    for entry in entries.values_mut().filter(|entry| entry["status"] == "running") {
        let entry = entry.as_object_mut().unwrap();
        entry.remove("last");
        entry.remove("size");
    }
    entries
}

fn check(name: &str, events: &[Event], seed: u64) {
    let mut dice = SeededRng::new(seed);
    let (mut sheet, mut reader, mut late) = (Timeline::default(), Reader::default(), Reader::default());
    for (at, event) in events.iter().enumerate() {
        sheet.see(event, &NoPrices);
        if dice.next_below(3) > 0 {
            continue;
        }
        let seen = &events[..=at];
        if dice.next_below(8) == 0 {
            reader.reconnect(&sheet);
        }
        reader.hear(&sheet, seen);
        if dice.next_below(20) == 0 {
            late.hear(&sheet, seen);
        }
        if dice.next_below(12) == 0 {
            let fresh = fresh(seen, dice.next_below(2) == 0);
            let expected = steady(all(&fresh, seen));
            assert_eq!(steady(reader.entries.clone()), expected, "{name} at event {} (seed {seed})", event.seq);
        }
    }
    reader.hear(&sheet, events);
    late.hear(&sheet, events);
    let expected = steady(all(&fresh(events, true), events));
    assert_eq!(steady(reader.entries), expected, "{name} at its end (seed {seed})");
    assert_eq!(steady(late.entries), expected, "{name} at its end, for who is late (seed {seed})");
}

#[test]
fn who_watches_has_what_who_comes_later_gets() {
    let mut played = 0;
    for recording in load_recordings().unwrap() {
        let mut events = recording::stream_events(recording.source, &recording.bytes);
        events.truncate(MOST);
        played += events.len();
        for seed in 0..2 {
            check(&recording.to_string(), &events, seed);
        }
    }
    assert!(played > 1_000, "{played}");
}
