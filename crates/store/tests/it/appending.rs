//! Appending: dense, whole, seen when committed.

use std::sync::mpsc::{TryRecvError, channel};

use switchboard_event::{Decider, EndReason, SessionEnded};
use switchboard_store::{Batch, End, Log as _, State, StoreError, Update};

use crate::fixture::{ALL, append, chunk, event, events, new, open, seqs, time, with_session};

#[test]
fn events_come_back_as_they_were() {
    let (_folder, store) = with_session();
    let written = events("s", 1..=3);
    append(&store, "s", written.clone(), Update::default()).unwrap();
    let read = store.page("s", ALL).unwrap();
    let json = |event: &switchboard_event::Event| serde_json::to_string(event).unwrap();
    assert_eq!(read.iter().map(json).collect::<Vec<_>>(), written.iter().map(json).collect::<Vec<_>>());
    assert!(store.rows("s", ALL).unwrap()[0].json.contains(r#""native":{ "n" : 1.0e2, "n":1 }"#));
    let session = store.session("s").unwrap().unwrap();
    assert_eq!((session.head, session.runs, session.turns, session.updated), (3, 1, 1, time(3)));
}

#[test]
fn what_does_not_follow_is_refused_and_changes_nothing() {
    let (_folder, store) = with_session();
    append(&store, "s", events("s", 1..=2), Update::default()).unwrap();
    let title = || Update { title: Some("new".to_owned()), ..Update::default() };
    let gap = vec![event("s", 3, "a"), event("s", 5, "b")];
    for wrong in [events("s", 4..=5), events("s", 2..=3), events("s", 1..=1), gap] {
        let outcome = append(&store, "s", wrong, title());
        assert!(matches!(outcome, Err(StoreError::Gap { .. })), "{outcome:?}");
    }
    let outcome = append(&store, "s", events("t", 3..=3), title());
    assert!(matches!(outcome, Err(StoreError::Misplaced(_))), "{outcome:?}");
    assert_eq!(seqs(&store, "s"), [1, 2]);
    assert_eq!(store.session("s").unwrap().unwrap().title, None);
    append(&store, "s", events("s", 3..=3), title()).unwrap();
    assert_eq!(store.session("s").unwrap().unwrap().title.as_deref(), Some("new"));
}

#[test]
fn nothing_is_seen_before_it_is_committed_and_a_group_is_not_spoilt_by_one() {
    let (folder, store) = with_session();
    store.create(new("t")).unwrap();
    let blocker = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (send, receive) = channel();
    for (name, session, seqs) in [("first", "s", 1..=2), ("wrong", "s", 9..=9), ("other", "t", 1..=1)] {
        let send = send.clone();
        let done = Box::new(move |outcome: Result<(), StoreError>| send.send((name, outcome.is_ok())).unwrap());
        store.append(Batch {
            session: session.into(),
            events: chunk(events(session, seqs)),
            update: Update::default(),
            done,
        });
    }
    assert_eq!(receive.try_recv(), Err(TryRecvError::Empty));
    assert!(seqs(&store, "s").is_empty());
    blocker.execute_batch("COMMIT").unwrap();
    let outcomes: Vec<_> = receive.iter().take(3).collect();
    assert_eq!(outcomes, [("first", true), ("wrong", false), ("other", true)]);
    assert_eq!((seqs(&store, "s"), seqs(&store, "t")), (vec![1, 2], vec![1]));
}

#[test]
fn a_session_ends_and_is_opened_again() {
    let (_folder, store) = with_session();
    let how = SessionEnded {
        reason: EndReason::Timeout,
        error: None,
        exit_code: Some(3),
        signal: None,
        duration_ms: 5,
        by: Decider::Switchboard,
    };
    let carry = serde_json::value::RawValue::from_string(r#"{"input": 12}"#.to_owned()).unwrap();
    let update = Update {
        state: Some(State::Failed),
        end: Some(End { at: time(9), how }),
        agent_session: Some("native".into()),
        carry: Some(carry),
        ..Update::default()
    };
    append(&store, "s", events("s", 1..=1), update).unwrap();
    let session = store.session("s").unwrap().unwrap();
    assert_eq!((session.state, session.ended), (State::Failed, Some(time(9))));
    assert_eq!(session.end().unwrap().unwrap().exit_code, Some(3));
    assert_eq!(session.carry.as_ref().unwrap().get(), r#"{"input": 12}"#);
    assert_eq!(session.config().unwrap(), new("s").config);

    let session = store.claim("s", None).unwrap();
    assert_eq!((session.state, session.ended), (State::Running, None));
    assert!(session.end.is_none());
    assert_eq!(session.agent_session.as_deref(), Some("native"));
    assert!(session.carry.is_some());
    append(&store, "s", events("s", 2..=2), Update::default()).unwrap();
}

#[test]
fn closing_finishes_the_queue() {
    let (folder, store) = with_session();
    for seq in 1..=200 {
        let done = Box::new(|outcome: Result<(), StoreError>| outcome.unwrap());
        store.append(Batch {
            session: "s".into(),
            events: chunk(events("s", seq..=seq)),
            update: Update::default(),
            done,
        });
    }
    drop(store);
    assert!(!folder.path().join("log.db-wal").exists(), "all is in the file");
    assert_eq!(seqs(&open(folder.path()), "s").len(), 200);
}

#[test]
fn what_is_not_there_is_said_so() {
    let (folder, store) = with_session();
    assert!(matches!(append(&store, "x", vec![], Update::default()), Err(StoreError::NoSession(_))));
    assert!(matches!(store.rows("x", ALL), Err(StoreError::NoSession(_))));
    assert!(matches!(store.claim("x", None), Err(StoreError::NoSession(_))));
    assert!(matches!(store.create(new("s")), Err(StoreError::Exists(_))));
    let looking = switchboard_store::Store::open(folder.path(), &switchboard_store::Options::default()).unwrap();
    assert!(matches!(looking.create(new("t")), Err(StoreError::Unregistered)));
    assert_eq!(looking.owner(), None);
}
