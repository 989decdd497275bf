//! Directories, sessions and events for tests.

use std::{
    path::Path,
    sync::{Arc, mpsc::channel},
};

use switchboard_event::{Event, Id, SessionConfig, Timestamp};
use switchboard_store::{
    EventBatch, EventChunk, LogOwner, NewSession, PageQuery, ProcessIdentity, SessionLog, SessionPatch, SqliteStore,
    StoreError, StoreOptions,
};
use tempfile::TempDir;

/// All events of a session, regardless of size.
pub const ALL_EVENTS: PageQuery = PageQuery { after: 0, limit: usize::MAX >> 1, max_bytes: usize::MAX, kinds: &[] };

pub fn temp_dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub fn test_owner(pid: u32) -> LogOwner {
    LogOwner { process: ProcessIdentity { pid, start: 7 }, boot: "boot".into() }
}

/// Opens the log as a process that runs sessions.
pub fn open_store(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, &StoreOptions { owner: Some(test_owner(1)), ..StoreOptions::default() }).unwrap()
}

/// Creates a log with one session, `s`.
pub fn store_with_session() -> (TempDir, SqliteStore) {
    let folder = temp_dir();
    let store = open_store(folder.path());
    store.create_session(new_session("s")).unwrap();
    (folder, store)
}

pub fn test_time(second: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + second * 1_000).unwrap()
}

pub fn new_session(id: &str) -> NewSession {
    NewSession {
        id: id.into(),
        agent: "echo".into(),
        created: test_time(0),
        config: SessionConfig { model: Some("large".to_owned()), ..SessionConfig::default() },
        prompt: "fix the test".to_owned(),
        cwd: "/home/me".to_owned(),
        project: None,
    }
}

/// Creates an event with a text and a native record that must be returned verbatim.
pub fn text_event(session: &str, seq: u64, text: &str) -> Event {
    let text = format!(
        r#"{{"v":1,"seq":{seq},"session":"{session}","at":"{}","agent":"echo","run":1,"turn":1,"item":"i","parent":null,"thread":null,"kind":"item.delta","data":{{"op":"append","field":"text","part":0,"text":"{text}"}},"dir":"in","native":{{ "n" : 1.0e2, "n":1 }}}}"#,
        test_time(i64::try_from(seq).unwrap()),
    );
    Event::from_json(&text).unwrap()
}

pub fn text_events(session: &str, seqs: std::ops::RangeInclusive<u64>) -> Vec<Event> {
    seqs.map(|seq| text_event(session, seq, "hello")).collect()
}

/// Converts events to a chunk.
pub fn to_chunk(events: Vec<Event>) -> Arc<EventChunk> {
    Arc::new(EventChunk::try_from(events).unwrap())
}

/// Appends events and waits for the commit.
pub fn append_and_wait(
    store: &SqliteStore,
    session: &str,
    events: Vec<Event>,
    update: SessionPatch,
) -> Result<(), StoreError> {
    let (send, receive) = channel();
    let done = Box::new(move |outcome| send.send(outcome).unwrap());
    store.append_batch(EventBatch { session: session.into(), events: to_chunk(events), update, done });
    receive.recv().unwrap()
}

/// Returns the stored `seq`s.
pub fn stored_seqs(log: &dyn SessionLog, session: &str) -> Vec<u64> {
    log.read_events(session, ALL_EVENTS).unwrap().iter().map(|event| event.seq).collect()
}

pub fn session_ids(sessions: &[switchboard_store::SessionRecord]) -> Vec<&str> {
    sessions.iter().map(|session| Id::as_str(&session.id)).collect()
}
