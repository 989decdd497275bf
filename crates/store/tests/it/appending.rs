//! Appends are dense and atomic, and visible once committed.

use std::sync::mpsc::{TryRecvError, channel};

use switchboard_event::{Decider, EndReason, SessionEnded};
use switchboard_store::{EventBatch, SessionEnd, SessionLog as _, SessionPatch, SessionPhase, StoreError};

use crate::fixture::{
    ALL_EVENTS, append_and_wait, new_session, open_store, store_with_session, stored_seqs, test_time, text_event,
    text_events, to_chunk,
};

#[test]
fn events_come_back_as_they_were() {
    let (_folder, store) = store_with_session();
    let written = text_events("s", 1..=3);
    append_and_wait(&store, "s", written.clone(), SessionPatch::default()).unwrap();
    let read = store.read_events("s", ALL_EVENTS).unwrap();
    let json = |event: &switchboard_event::Event| serde_json::to_string(event).unwrap();
    assert_eq!(read.iter().map(json).collect::<Vec<_>>(), written.iter().map(json).collect::<Vec<_>>());
    assert!(store.read_rows("s", ALL_EVENTS).unwrap()[0].json.contains(r#""native":{ "n" : 1.0e2, "n":1 }"#));
    let session = store.get_session("s").unwrap().unwrap();
    assert_eq!((session.head, session.runs, session.turns, session.updated), (3, 1, 1, test_time(3)));
}

#[test]
fn what_does_not_follow_is_refused_and_changes_nothing() {
    let (_folder, store) = store_with_session();
    append_and_wait(&store, "s", text_events("s", 1..=2), SessionPatch::default()).unwrap();
    let title = || SessionPatch { title: Some("new".to_owned()), ..SessionPatch::default() };
    let gap = vec![text_event("s", 3, "a"), text_event("s", 5, "b")];
    for wrong in [text_events("s", 4..=5), text_events("s", 2..=3), text_events("s", 1..=1), gap] {
        let outcome = append_and_wait(&store, "s", wrong, title());
        assert!(matches!(outcome, Err(StoreError::Gap { .. })), "{outcome:?}");
    }
    let outcome = append_and_wait(&store, "s", text_events("t", 3..=3), title());
    assert!(matches!(outcome, Err(StoreError::Misplaced(_))), "{outcome:?}");
    assert_eq!(stored_seqs(&store, "s"), [1, 2]);
    assert_eq!(store.get_session("s").unwrap().unwrap().title, None);
    append_and_wait(&store, "s", text_events("s", 3..=3), title()).unwrap();
    assert_eq!(store.get_session("s").unwrap().unwrap().title.as_deref(), Some("new"));
}

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
fn a_session_ends_and_is_opened_again() {
    let (_folder, store) = store_with_session();
    let how = SessionEnded {
        reason: EndReason::Timeout,
        error: None,
        exit_code: Some(3),
        signal: None,
        duration_ms: 5,
        by: Decider::Switchboard,
    };
    let carry = serde_json::value::RawValue::from_string(r#"{"input": 12}"#.to_owned()).unwrap();
    let update = SessionPatch {
        state: Some(SessionPhase::Failed),
        end: Some(SessionEnd { at: test_time(9), how }),
        agent_session: Some("native".into()),
        carry: Some(carry),
        ..SessionPatch::default()
    };
    append_and_wait(&store, "s", text_events("s", 1..=1), update).unwrap();
    let session = store.get_session("s").unwrap().unwrap();
    assert_eq!((session.state, session.ended), (SessionPhase::Failed, Some(test_time(9))));
    assert_eq!(session.parse_end().unwrap().unwrap().exit_code, Some(3));
    assert_eq!(session.carry.as_ref().unwrap().get(), r#"{"input": 12}"#);
    assert_eq!(session.parse_config().unwrap(), new_session("s").config);

    let session = store.claim_session("s", None).unwrap();
    assert_eq!((session.state, session.ended), (SessionPhase::Running, None));
    assert!(session.end.is_none());
    assert_eq!(session.agent_session.as_deref(), Some("native"));
    assert!(session.carry.is_some());
    append_and_wait(&store, "s", text_events("s", 2..=2), SessionPatch::default()).unwrap();
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
fn what_is_not_there_is_said_so() {
    let (folder, store) = store_with_session();
    assert!(matches!(append_and_wait(&store, "x", vec![], SessionPatch::default()), Err(StoreError::NoSession(_))));
    assert!(matches!(store.read_rows("x", ALL_EVENTS), Err(StoreError::NoSession(_))));
    assert!(matches!(store.claim_session("x", None), Err(StoreError::NoSession(_))));
    assert!(matches!(store.create_session(new_session("s")), Err(StoreError::Exists(_))));
    let looking =
        switchboard_store::SqliteStore::open(folder.path(), &switchboard_store::StoreOptions::default()).unwrap();
    assert!(matches!(looking.create_session(new_session("t")), Err(StoreError::Unregistered)));
    assert_eq!(looking.owner_number(), None);
}
