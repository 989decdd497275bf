//! Group commit, and processes that run no sessions.

use std::sync::mpsc::{TryRecvError, channel};

use switchboard_store::{EventBatch, SessionLog as _, SessionPatch, StoreError};

use crate::fixture::{new_session, open_store, store_with_session, stored_seqs, text_events, to_chunk};

#[test]
fn nothing_is_seen_before_it_is_committed_and_a_group_is_not_spoilt_by_one() {
    let (folder, store) = store_with_session();
    store.create_session(new_session("t")).unwrap();
    let blocker = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (send, receive) = channel();
    for (name, session, seqs) in [("first", "s", 1..=2), ("wrong", "s", 9..=9), ("other", "t", 1..=1)] {
        let send = send.clone();
        let done = Box::new(move |outcome: Result<(), StoreError>| send.send((name, outcome.is_ok())).unwrap());
        store.append_batch(EventBatch {
            session: session.into(),
            events: to_chunk(text_events(session, seqs)),
            update: SessionPatch::default(),
            done,
        });
    }
    assert_eq!(receive.try_recv(), Err(TryRecvError::Empty));
    assert!(stored_seqs(&store, "s").is_empty());
    blocker.execute_batch("COMMIT").unwrap();
    let outcomes: Vec<_> = receive.iter().take(3).collect();
    assert_eq!(outcomes, [("first", true), ("wrong", false), ("other", true)]);
    assert_eq!((stored_seqs(&store, "s"), stored_seqs(&store, "t")), (vec![1, 2], vec![1]));
}

#[test]
fn closing_finishes_the_queue() {
    let (folder, store) = store_with_session();
    for seq in 1..=200 {
        let done = Box::new(|outcome: Result<(), StoreError>| outcome.unwrap());
        store.append_batch(EventBatch {
            session: "s".into(),
            events: to_chunk(text_events("s", seq..=seq)),
            update: SessionPatch::default(),
            done,
        });
    }
    drop(store);
    assert!(!folder.path().join("log.db-wal").exists(), "all is in the file");
    assert_eq!(stored_seqs(&open_store(folder.path()), "s").len(), 200);
}

#[test]
fn a_process_without_an_owner_runs_no_sessions() {
    let (folder, _store) = store_with_session();
    let looking =
        switchboard_store::SqliteStore::open(folder.path(), &switchboard_store::StoreOptions::default()).unwrap();
    assert!(matches!(looking.create_session(new_session("t")), Err(StoreError::Unregistered)));
    assert_eq!(looking.owner_number(), None);
}
