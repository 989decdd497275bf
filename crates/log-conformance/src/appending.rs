//! Appends are dense and atomic, and visible once committed.

use std::{sync::mpsc::channel, thread};

use serde_json::value::RawValue;
use switchboard_event::{Decider, EndReason, SessionEnded};
use switchboard_store::{EventBatch, SessionEnd, SessionLog, SessionPatch, SessionPhase, StoreError};

use crate::{
    LogStorage,
    fixture::{
        ALL_EVENTS, append_and_wait, log_with_session, new_session, stored_seqs, test_time, text_event, text_events,
        to_chunk, wait_for_head,
    },
};

/// Returns the patch of a new title.
fn title_patch(title: &str) -> SessionPatch {
    SessionPatch { title: Some(title.to_owned()), ..SessionPatch::default() }
}

pub fn events_are_returned_verbatim(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    let written = text_events("s", 1..=3);
    append_and_wait(&*log, "s", written.clone(), SessionPatch::default()).unwrap();
    let read = log.read_events("s", ALL_EVENTS).unwrap();
    let json = |event: &switchboard_event::Event| serde_json::to_string(event).unwrap();
    assert_eq!(read.iter().map(json).collect::<Vec<_>>(), written.iter().map(json).collect::<Vec<_>>());
    let rows = log.read_rows("s", ALL_EVENTS).unwrap();
    let chunk = to_chunk(written);
    for (row, (event, json)) in rows.iter().zip(chunk.iter_from(0)) {
        assert_eq!((row.seq, row.json.as_bytes()), (event.seq, &json[..]));
    }
    assert!(rows.iter().all(|row| row.json.contains(r#""native":{ "n" : 1.0e2, "n":1 }"#)));
    let session = log.get_session("s").unwrap().unwrap();
    assert_eq!((session.head, session.runs, session.turns, session.updated), (3, 1, 1, test_time(3)));
    let other = storage.open_log();
    wait_for_head(&*other, "s", 3);
    assert_eq!(other.read_rows("s", ALL_EVENTS).unwrap(), rows);
}

pub fn a_batch_that_does_not_follow_changes_nothing(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    append_and_wait(&*log, "s", text_events("s", 1..=2), SessionPatch::default()).unwrap();
    let gap = vec![text_event("s", 3, "a"), text_event("s", 5, "b")];
    for wrong in [text_events("s", 4..=5), text_events("s", 2..=3), text_events("s", 1..=1), gap] {
        let outcome = append_and_wait(&*log, "s", wrong, title_patch("new"));
        assert!(matches!(outcome, Err(StoreError::Gap { .. })), "{outcome:?}");
    }
    let outcome = append_and_wait(&*log, "s", text_events("t", 3..=3), title_patch("new"));
    assert!(matches!(outcome, Err(StoreError::Misplaced(_))), "{outcome:?}");
    assert_eq!(stored_seqs(&*log, "s"), [1, 2]);
    assert_eq!(log.get_session("s").unwrap().unwrap().title, None);
    append_and_wait(&*log, "s", text_events("s", 3..=3), title_patch("new")).unwrap();
    assert_eq!(log.get_session("s").unwrap().unwrap().title.as_deref(), Some("new"));
}

pub fn a_refused_batch_does_not_affect_others(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    log.create_session(new_session("t")).unwrap();
    let (send, receive) = channel();
    let batches = [
        ("first", "s", 1..=2),
        ("wrong", "s", 9..=9),
        ("other", "t", 1..=1),
        ("next", "s", 3..=4),
        ("none", "x", 1..=1),
    ];
    for (name, session, seqs) in batches {
        let send = send.clone();
        let done = Box::new(move |outcome: Result<(), StoreError>| send.send((name, outcome.is_ok())).unwrap());
        log.append_batch(EventBatch {
            session: session.into(),
            events: to_chunk(text_events(session, seqs)),
            update: SessionPatch::default(),
            done,
        });
    }
    let mut outcomes: Vec<_> = receive.iter().take(5).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, [("first", true), ("next", true), ("none", false), ("other", true), ("wrong", false)]);
    assert_eq!((stored_seqs(&*log, "s"), stored_seqs(&*log, "t")), (vec![1, 2, 3, 4], vec![1]));
}

pub fn every_callback_is_called_once_and_in_order(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    let (send, receive) = channel();
    let mut head = 0;
    for number in 1..=500 {
        // Every tenth batch does not follow, and every ninth one is empty.
        let events = match number {
            number if number % 10 == 0 => text_events("s", 9_999..=9_999),
            number if number % 9 == 0 => Vec::new(),
            _ => {
                head += 1;
                text_events("s", head..=head)
            }
        };
        let send = send.clone();
        let done = Box::new(move |outcome: Result<(), StoreError>| send.send((number, outcome.is_ok())).unwrap());
        let update = SessionPatch::default();
        log.append_batch(EventBatch { session: "s".into(), events: to_chunk(events), update, done });
    }
    drop(send);
    let outcomes: Vec<_> = receive.iter().collect();
    let expected: Vec<_> = (1..=500).map(|number| (number, number % 10 != 0)).collect();
    assert_eq!(outcomes, expected);
    assert_eq!(stored_seqs(&*log, "s"), (1..=head).collect::<Vec<_>>());
}

pub fn a_batch_is_visible_when_its_callback_is_called(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    for seq in 1..=50 {
        append_and_wait(&*log, "s", text_events("s", seq..=seq), SessionPatch::default()).unwrap();
        assert_eq!(log.get_session("s").unwrap().unwrap().head, seq);
        assert_eq!(stored_seqs(&*log, "s").last(), Some(&seq));
    }
}

pub fn patches_without_events_are_applied(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    append_and_wait(&*log, "s", vec![], title_patch("first")).unwrap();
    append_and_wait(&*log, "s", text_events("s", 1..=1), SessionPatch::default()).unwrap();
    append_and_wait(&*log, "s", vec![], title_patch("second")).unwrap();
    let session = log.get_session("s").unwrap().unwrap();
    assert_eq!((session.title.as_deref(), session.head), (Some("second"), 1));
    let config = switchboard_event::SessionConfig {
        project_id: Some("p".to_owned()),
        working_directory: Some("/elsewhere".to_owned()),
        ..new_session("s").config
    };
    let patch = SessionPatch { config: Some(config.clone()), ..SessionPatch::default() };
    append_and_wait(&*log, "s", vec![], patch).unwrap();
    let session = log.get_session("s").unwrap().unwrap();
    assert_eq!(session.parse_config().unwrap(), config);
    assert_eq!((session.project.as_deref(), session.cwd.as_str()), (Some("p"), "/elsewhere"));
}

pub fn a_session_ends_and_is_reopened(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    let how = SessionEnded {
        reason: EndReason::Timeout,
        error: None,
        exit_code: Some(3),
        signal: None,
        duration_ms: 5,
        by: Decider::Switchboard,
    };
    let carry = RawValue::from_string(r#"{"input": 12}"#.to_owned()).unwrap();
    let update = SessionPatch {
        state: Some(SessionPhase::Failed),
        end: Some(SessionEnd { at: test_time(9), how }),
        agent_session: Some("native".into()),
        carry: Some(carry),
        ..SessionPatch::default()
    };
    append_and_wait(&*log, "s", text_events("s", 1..=1), update).unwrap();
    let session = log.get_session("s").unwrap().unwrap();
    assert_eq!((session.state, session.ended), (SessionPhase::Failed, Some(test_time(9))));
    assert_eq!(session.parse_end().unwrap().unwrap().exit_code, Some(3));
    assert_eq!(session.carry.as_ref().unwrap().get(), r#"{"input": 12}"#);
    assert_eq!(session.parse_config().unwrap(), new_session("s").config);

    let session = log.claim_session("s", None).unwrap();
    assert_eq!((session.state, session.ended), (SessionPhase::Running, None));
    assert!(session.end.is_none());
    assert_eq!(session.agent_session.as_deref(), Some("native"));
    assert!(session.carry.is_some());
    append_and_wait(&*log, "s", text_events("s", 2..=2), SessionPatch::default()).unwrap();
}

pub fn dropping_the_log_finishes_its_queue(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    for seq in 1..=200 {
        let done = Box::new(|outcome: Result<(), StoreError>| outcome.unwrap());
        log.append_batch(EventBatch {
            session: "s".into(),
            events: to_chunk(text_events("s", seq..=seq)),
            update: SessionPatch::default(),
            done,
        });
    }
    drop(log);
    let log = storage.open_log();
    wait_for_head(&*log, "s", 200);
    assert_eq!(stored_seqs(&*log, "s"), (1..=200).collect::<Vec<_>>());
}

pub fn unknown_sessions_are_reported(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    let is_unknown = |error: Option<StoreError>| matches!(error, Some(StoreError::NoSession(_)));
    assert!(is_unknown(append_and_wait(&*log, "x", vec![], SessionPatch::default()).err()));
    assert!(is_unknown(log.read_rows("x", ALL_EVENTS).err()));
    assert!(is_unknown(log.claim_session("x", None).err()));
    assert!(is_unknown(log.delete_session("x").err()));
    assert!(is_unknown(log.list_runs("x").err()));
    assert!(is_unknown(log.set_archived("x", true).err()));
    assert!(log.get_session("x").unwrap().is_none());
    assert!(matches!(log.create_session(new_session("s")), Err(StoreError::Exists(_))));
}

pub fn large_events_are_returned_verbatim(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    // Text that hardly compresses, from a linear congruential generator.
    let mut state = 1_u64;
    let mut noise = |length: usize| -> String {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'0' + u8::try_from(state >> 58).unwrap()).to_string().replace('\\', "/")
        };
        (0..length).map(|_| next()).collect()
    };
    let lengths = [10, 100_000, 3_000_000, 10, 600_000];
    let written: Vec<_> = (1..).zip(lengths).map(|(seq, length)| text_event("s", seq, &noise(length))).collect();
    let (first, rest) = (written[..3].to_vec(), written[3..].to_vec());
    append_and_wait(&*log, "s", first, SessionPatch::default()).unwrap();
    append_and_wait(&*log, "s", rest, SessionPatch::default()).unwrap();
    let expected = to_chunk(written);
    let matches = |log: &dyn SessionLog| {
        let rows = log.read_rows("s", ALL_EVENTS).unwrap();
        assert_eq!(rows.len(), 5);
        for (row, (event, json)) in rows.iter().zip(expected.iter_from(0)) {
            assert!(row.seq == event.seq && row.json.as_bytes() == &json[..], "event {} differs", event.seq);
        }
    };
    matches(&*log);
    let other = storage.open_log();
    wait_for_head(&*other, "s", 5);
    matches(&*other);
}

pub fn sessions_are_appended_to_concurrently(storage: &dyn LogStorage) {
    let logs = [storage.open_log(), storage.open_log()];
    thread::scope(|scope| {
        for (process, log) in logs.iter().enumerate() {
            for number in 0..4 {
                scope.spawn(move || {
                    let id = format!("{process}-{number}");
                    log.create_session(new_session(&id)).unwrap();
                    for seq in 1..=40 {
                        append_and_wait(&**log, &id, text_events(&id, seq..=seq), SessionPatch::default()).unwrap();
                    }
                });
            }
        }
    });
    for log in &logs {
        for id in (0..2).flat_map(|process| (0..4).map(move |number| format!("{process}-{number}"))) {
            wait_for_head(&**log, &id, 40);
            assert_eq!(stored_seqs(&**log, &id), (1..=40).collect::<Vec<_>>());
        }
    }
}
