//! Clients that ask for a long session and do not read: they cost little, and get all of it when they do read.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    path::Path,
    sync::{Arc, mpsc::channel},
    thread::sleep,
    time::Duration,
};

use switchboard_event::{Event, SessionConfig, Timestamp};
use switchboard_store::{
    EventBatch, EventChunk, LogOwner, NewSession, ProcessIdentity, SessionLog as _, SessionPatch, SessionPhase,
    SqliteStore, StoreOptions,
};

use super::rig::Served;

const EVENTS: u64 = 50_000;
const CLIENTS: usize = 100;
const DIALECTS: [&str; 3] = ["events", "trace", "unified"];

/// What all of them together may take, in kilobytes. Without a common budget it was more than 200 MB.
const MOST_KB: u64 = 120 << 10;

#[test]
fn stalled_readers_of_a_long_session_share_a_memory_budget_and_miss_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fill(&folder.path().join("data"));
    let served = Served::with(folder, &["--rate-limit", "0"]);
    let before = settled_memory(&served);
    for round in 0..2 {
        let mut clients: Vec<_> = (0..CLIENTS).map(|number| connect(&served, DIALECTS[number % 3])).collect();
        let added = settled_memory(&served).saturating_sub(before);
        assert!(added < MOST_KB, "round {round}: {CLIENTS} stalled readers take {added} kB");
        if round == 1 {
            // The first has waited the longest, and what was read for it is long gone.
            read_all(clients.swap_remove(0));
        }
    }
}

fn fill(data: &Path) {
    let owner = LogOwner { process: ProcessIdentity { pid: std::process::id(), start: 1 }, boot: "boot".into() };
    let store = SqliteStore::open(data, &StoreOptions { owner: Some(owner), ..StoreOptions::default() }).unwrap();
    store
        .create_session(NewSession {
            id: "long".into(),
            agent: "echo".into(),
            created: Timestamp::from_millis(1_700_000_000_000).unwrap(),
            config: SessionConfig::default(),
            prompt: "x".to_owned(),
            cwd: "/".to_owned(),
            project: None,
        })
        .unwrap();
    let template = Event::from_json(
        r#"{"v":1,"seq":1,"session":"long","at":"2026-01-01T00:00:00Z","agent":"echo","run":1,"turn":1,"item":"i",
        "kind":"item.delta","data":{"op":"append","field":"text","part":0,"text":"some text that goes on for a while"},
        "dir":"in","native":{"n":1}}"#,
    )
    .unwrap();
    let (send, receive) = channel();
    for first in (1..=EVENTS).step_by(5_000) {
        let events: Vec<_> = (first..first + 5_000).map(|seq| Event { seq, ..template.clone() }).collect();
        let state = (first + 5_000 > EVENTS).then_some(SessionPhase::Done);
        let (send, update) = (send.clone(), SessionPatch { state, ..SessionPatch::default() });
        let done = Box::new(move |outcome| send.send(outcome).unwrap());
        store.append_batch(EventBatch {
            session: "long".into(),
            events: Arc::new(EventChunk::try_from(events).unwrap()),
            update,
            done,
        });
        receive.recv().unwrap().unwrap();
    }
}

fn connect(served: &Served, dialect: &str) -> TcpStream {
    let (port, token) = (served.port, &served.token);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "GET /api/sessions/long/stream?dialect={dialect} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\
         Authorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Every event comes once, in order, and then the stream ends.
fn read_all(stream: TcpStream) {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut seq = 0;
    for line in BufReader::new(stream).lines() {
        if let Some(id) = line.unwrap().strip_prefix("id: ") {
            seq += 1;
            assert_eq!(id, seq.to_string());
        }
    }
    assert_eq!(seq, EVENTS);
}

/// The memory of the server in kilobytes, once it does not change any more.
fn settled_memory(served: &Served) -> u64 {
    let resident = || {
        let statm = fs::read_to_string(format!("/proc/{}/statm", served.child.id())).unwrap();
        statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4
    };
    let mut last = 0;
    for _ in 0..120 {
        sleep(Duration::from_millis(500));
        let now = resident();
        if now.abs_diff(last) < 256 {
            break;
        }
        last = now;
    }
    last
}
