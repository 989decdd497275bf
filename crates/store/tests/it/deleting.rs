//! Deletions take effect at once for all processes, and free the space.

use std::fs;

use switchboard_store::{SessionLog as _, SessionPatch, StoreError};

use crate::fixture::{
    ALL_EVENTS, append_and_wait, done_patch, new_session, open_store, store_with_session, stored_seqs, text_event,
    text_events,
};

#[test]
fn deleting_gives_the_space_back_and_keeps_the_others() {
    let (folder, store) = store_with_session();
    store.create_session(new_session("keep")).unwrap();
    append_and_wait(&store, "keep", text_events("keep", 1..=500), SessionPatch::default()).unwrap();
    let long = "x".repeat(20_000);
    append_and_wait(&store, "s", (1..=400).map(|seq| text_event("s", seq, &long)).collect(), done_patch()).unwrap();
    append_and_wait(&store, "keep", text_events("keep", 501..=1_000), SessionPatch::default()).unwrap();
    drop(store);
    let size = || fs::metadata(folder.path().join("log.db")).unwrap().len();
    let before = size();
    assert!(before > 8_000_000);

    let store = open_store(folder.path());
    store.delete_session("s").unwrap();
    assert!(store.get_session("s").unwrap().is_none());
    assert!(matches!(store.read_rows("s", ALL_EVENTS), Err(StoreError::NoSession(_))));
    store.reclaim_space().unwrap();
    drop(store);
    assert!(size() < before - 8_000_000, "{} of {before}", size());

    let store = open_store(folder.path());
    assert_eq!(stored_seqs(&store, "keep"), (1..=1_000).collect::<Vec<_>>());
    store.create_session(new_session("s")).unwrap();
    assert!(stored_seqs(&store, "s").is_empty());
    assert!(matches!(store.delete_session("none"), Err(StoreError::NoSession(_))));
}

#[test]
fn a_deletion_does_not_wait_for_the_events_and_succeeds_once() {
    let (folder, store) = store_with_session();
    let long = "x".repeat(2_000);
    for first in (1..=20_000).step_by(5_000) {
        let events = (first..first + 5_000).map(|seq| text_event("s", seq, &long)).collect();
        append_and_wait(&store, "s", events, SessionPatch::default()).unwrap();
    }
    append_and_wait(&store, "s", vec![], done_patch()).unwrap();
    let log = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    let left = || log.query_row("SELECT count(*) FROM events", [], |row| row.get::<_, i64>(0)).unwrap();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let deleting: Vec<_> = (0..4).map(|_| scope.spawn(|| store.delete_session("s"))).collect();
        deleting.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(left() > 0, "it waited until all 20,000 events were removed");
    assert!(store.get_session("s").unwrap().is_none());
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(()) | Err(StoreError::NoSession(_)))), "{outcomes:?}");
    store.reclaim_space().unwrap();
    assert_eq!(left(), 0);
}

#[test]
fn what_a_crash_left_half_deleted_goes_away_later() {
    let (folder, store) = store_with_session();
    append_and_wait(&store, "s", text_events("s", 1..=100), done_patch()).unwrap();
    let number = store.get_session("s").unwrap().unwrap().number;
    drop(store);
    let log = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    log.execute("INSERT INTO garbage VALUES (?1)", [number]).unwrap();
    log.execute("DELETE FROM sessions", []).unwrap();
    let store = open_store(folder.path());
    store.create_session(new_session("t")).unwrap();
    append_and_wait(&store, "t", vec![], done_patch()).unwrap();
    store.delete_session("t").unwrap();
    store.reclaim_space().unwrap();
    let count =
        |table| log.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((count("events"), count("garbage")), (0, 0));
}
