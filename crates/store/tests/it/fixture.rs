//! Folders, sessions and events to try things with.

use std::{
    path::Path,
    sync::{Arc, mpsc::channel},
};

use switchboard_event::{Event, Id, SessionConfig, Timestamp};
use switchboard_store::{Batch, Chunk, Log, NewSession, Options, Owner, Page, Process, Store, StoreError, Update};
use tempfile::TempDir;

/// All of a session, whatever its size.
pub const ALL: Page = Page { after: 0, limit: usize::MAX >> 1, max_bytes: usize::MAX };

pub fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub fn owner(pid: u32) -> Owner {
    Owner { process: Process { pid, start: 7 }, boot: "boot".into() }
}

/// Opens the log as a process that runs sessions.
pub fn open(folder: &Path) -> Store {
    Store::open(folder, &Options { owner: Some(owner(1)), ..Options::default() }).unwrap()
}

/// A log of one session, `s`.
pub fn with_session() -> (TempDir, Store) {
    let folder = folder();
    let store = open(folder.path());
    store.create(new("s")).unwrap();
    (folder, store)
}

pub fn time(second: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + second * 1_000).unwrap()
}

pub fn new(id: &str) -> NewSession {
    NewSession {
        id: id.into(),
        agent: "echo".into(),
        created: time(0),
        config: SessionConfig { model: Some("large".to_owned()), ..SessionConfig::default() },
        prompt: "fix the test".to_owned(),
        cwd: "/home/me".to_owned(),
        project: None,
    }
}

/// An event with a text, and with a native record that must come back as it was.
pub fn event(session: &str, seq: u64, text: &str) -> Event {
    let text = format!(
        r#"{{"v":1,"seq":{seq},"session":"{session}","at":"{}","agent":"echo","run":1,"turn":1,"item":"i","parent":null,"thread":null,"kind":"item.delta","data":{{"op":"append","field":"text","part":0,"text":"{text}"}},"dir":"in","native":{{ "n" : 1.0e2, "n":1 }}}}"#,
        time(i64::try_from(seq).unwrap()),
    );
    Event::from_json(&text).unwrap()
}

pub fn events(session: &str, seqs: std::ops::RangeInclusive<u64>) -> Vec<Event> {
    seqs.map(|seq| event(session, seq, "hello")).collect()
}

/// Events as they are appended.
pub fn chunk(events: Vec<Event>) -> Arc<Chunk> {
    Arc::new(Chunk::try_from(events).unwrap())
}

/// Appends, and waits until it is done.
pub fn append(store: &Store, session: &str, events: Vec<Event>, update: Update) -> Result<(), StoreError> {
    let (send, receive) = channel();
    let done = Box::new(move |outcome| send.send(outcome).unwrap());
    store.append(Batch { session: session.into(), events: chunk(events), update, done });
    receive.recv().unwrap()
}

/// The `seq`s that are there.
pub fn seqs(log: &dyn Log, session: &str) -> Vec<u64> {
    log.page(session, ALL).unwrap().iter().map(|event| event.seq).collect()
}

pub fn ids(sessions: &[switchboard_store::Session]) -> Vec<&str> {
    sessions.iter().map(|session| Id::as_str(&session.id)).collect()
}
