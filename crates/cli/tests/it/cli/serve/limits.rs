//! A server with a full disk, and with many clients that do not read.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    sync::{Arc, mpsc::channel},
    thread::sleep,
    time::Duration,
};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::{Value, json};
use switchboard_event::{Event, SessionConfig, Timestamp};
use switchboard_store::{
    EventBatch, EventChunk, LogOwner, NewSession, ProcessIdentity, SessionLog as _, SessionPatch, SessionPhase,
    SqliteStore, StoreOptions,
};
use tempfile::TempDir;

use super::ServeProcess;

const EVENTS: u64 = 50_000;

const CLIENTS: usize = 100;

const DIALECTS: [&str; 3] = ["events", "trace", "unified"];

/// Memory limit for all clients, in kilobytes. Without a shared budget, more than 200 MB were used.
const MOST_KB: u64 = 120 << 10;

/// A small file system, if mounting is permitted.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn below(folder: &TempDir) -> Option<Self> {
        let path = folder.path().join("data");
        fs::create_dir(&path).unwrap();
        mount("tmpfs", &path, "tmpfs", MountFlags::empty(), c"size=32m,mode=700").ok()?;
        Some(Self(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        unmount(&self.0, UnmountFlags::DETACH).ok();
    }
}

/// Uses up the remaining space.
fn fill(disk: &Path) {
    let mut ballast = fs::OpenOptions::new().create(true).append(true).open(disk.join("ballast")).unwrap();
    for size in (0..=20).rev().map(|power| vec![0; 1 << power]) {
        while ballast.write_all(&size).is_ok() {}
    }
}

fn health(served: &ServeProcess) -> Value {
    serde_json::from_str(&served.ask("GET", "/api/health", None).1).unwrap()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("never: {what}");
}

#[test]
fn with_a_full_disk_sessions_are_read_and_deleted_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::below(&folder) else {
        eprintln!("NOT TESTED: a full disk, since this user may not mount one");
        return;
    };
    let served = ServeProcess::with(folder, &[]);
    let long = "x".repeat(90_000);
    let old = served.session(&json!({ "agentType": "echo", "prompt": long }));
    served.events(&old);
    let running = served.session(&json!({ "agentType": "script", "prompt": "burst 100000000 at 20000" }));
    let state =
        |id: &str| serde_json::from_str::<Value>(&served.ask("GET", &format!("/api/sessions/{id}"), None).1).unwrap();
    until("the session has some megabytes", || state(&running)["events"].as_u64() > Some(10_000));
    fill(&disk.0);
    until("the session that can't be written ends", || state(&running)["state"] == "failed");
    let view = state(&running);
    assert!(view.to_string().contains("no space left on device"), "{view}");
    assert_eq!((&health(&served)["status"], &health(&served)["reason"]), (&json!("degraded"), &json!("disk_full")));
    fill(&disk.0);
    let folder = served.stop();

    fill(&disk.0);
    let served = ServeProcess::with(folder, &[]);
    assert_eq!(health(&served)["reason"], "disk_full");
    assert_eq!(served.sessions().len(), 2);
    assert!(served.events(&old).contains(&long));
    let (status, body) = served.ask("POST", "/api/sessions", Some(&json!({ "agentType": "echo", "prompt": "x" })));
    assert!(status == 507 && body.contains("disk_full"), "{status} {body}");
    let (status, body) = served.ask("DELETE", &format!("/api/sessions/{running}"), None);
    assert_eq!(status, 204, "{body}");
    until("the space comes back", || health(&served)["status"] == "ok");
    let again = served.session(&json!({ "agentType": "echo", "prompt": "again" }));
    assert!(served.events(&again).contains("again"));
}

#[test]
fn stalled_readers_of_a_long_session_share_a_memory_budget_and_miss_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fill_log(&folder.path().join("data"));
    let served = ServeProcess::with(folder, &["--rate-limit", "0"]);
    let before = settled_memory(&served);
    for round in 0..2 {
        let mut clients: Vec<_> = (0..CLIENTS).map(|number| connect(&served, DIALECTS[number % 3])).collect();
        let added = settled_memory(&served).saturating_sub(before);
        assert!(added < MOST_KB, "round {round}: {CLIENTS} stalled readers take {added} kB");
        if round == 1 {
            // The first client has waited longest, and its data was evicted long ago.
            read_all(clients.swap_remove(0));
        }
    }
}

fn fill_log(data: &Path) {
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

fn connect(served: &ServeProcess, dialect: &str) -> TcpStream {
    let (port, token) = (served.port, &served.token);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "GET /api/sessions/long/stream?dialect={dialect} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\
         Authorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Checks that every event arrives once, in order, and that the stream ends.
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

/// Returns the server's memory in kilobytes once it is stable.
fn settled_memory(served: &ServeProcess) -> u64 {
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
