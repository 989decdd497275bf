//! Deleting: at once for everybody, and the space comes back.

use std::fs;

use switchboard_store::{Filter, Log as _, State, StoreError, Update};

use crate::fixture::{ALL, append, event, events, new, open, seqs, with_session};

fn done() -> Update {
    Update { state: Some(State::Done), ..Update::default() }
}

#[test]
fn deleting_gives_the_space_back_and_keeps_the_others() {
    let (folder, store) = with_session();
    store.create(new("keep")).unwrap();
    append(&store, "keep", events("keep", 1..=500), Update::default()).unwrap();
    let long = "x".repeat(20_000);
    append(&store, "s", (1..=400).map(|seq| event("s", seq, &long)).collect(), done()).unwrap();
    append(&store, "keep", events("keep", 501..=1_000), Update::default()).unwrap();
    drop(store);
    let size = || fs::metadata(folder.path().join("log.db")).unwrap().len();
    let before = size();
    assert!(before > 8_000_000);

    let store = open(folder.path());
    store.delete("s").unwrap();
    assert!(store.session("s").unwrap().is_none());
    assert!(matches!(store.rows("s", ALL), Err(StoreError::NoSession(_))));
    store.reclaim().unwrap();
    drop(store);
    assert!(size() < before - 8_000_000, "{} of {before}", size());

    let store = open(folder.path());
    assert_eq!(seqs(&store, "keep"), (1..=1_000).collect::<Vec<_>>());
    store.create(new("s")).unwrap();
    assert!(seqs(&store, "s").is_empty());
    assert!(matches!(store.delete("none"), Err(StoreError::NoSession(_))));
}

#[test]
fn a_deletion_does_not_wait_for_the_events_and_succeeds_once() {
    let (folder, store) = with_session();
    let long = "x".repeat(2_000);
    for first in (1..=20_000).step_by(5_000) {
        let events = (first..first + 5_000).map(|seq| event("s", seq, &long)).collect();
        append(&store, "s", events, Update::default()).unwrap();
    }
    append(&store, "s", vec![], done()).unwrap();
    let log = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    let left = || log.query_row("SELECT count(*) FROM events", [], |row| row.get::<_, i64>(0)).unwrap();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let deleting: Vec<_> = (0..4).map(|_| scope.spawn(|| store.delete("s"))).collect();
        deleting.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(left() > 0, "it waited until all 20,000 events were removed");
    assert!(store.session("s").unwrap().is_none());
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(()) | Err(StoreError::NoSession(_)))), "{outcomes:?}");
    store.reclaim().unwrap();
    assert_eq!(left(), 0);
}

#[test]
fn an_open_session_is_not_deleted() {
    let (_folder, store) = with_session();
    assert!(matches!(store.delete("s"), Err(StoreError::Open(_))));
    append(&store, "s", vec![], done()).unwrap();
    store.delete("s").unwrap();
    assert!(store.sessions(&Filter::default()).unwrap().is_empty());
}

#[test]
fn what_a_crash_left_half_deleted_goes_away_later() {
    let (folder, store) = with_session();
    append(&store, "s", events("s", 1..=100), done()).unwrap();
    let number = store.session("s").unwrap().unwrap().number;
    drop(store);
    let log = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    log.execute("INSERT INTO garbage VALUES (?1)", [number]).unwrap();
    log.execute("DELETE FROM sessions", []).unwrap();
    let store = open(folder.path());
    store.create(new("t")).unwrap();
    append(&store, "t", vec![], done()).unwrap();
    store.delete("t").unwrap();
    store.reclaim().unwrap();
    let count =
        |table| log.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((count("events"), count("garbage")), (0, 0));
}
