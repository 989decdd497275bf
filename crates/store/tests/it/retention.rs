//! Retention deletes ended sessions by age, number and size, and frees the space.

use std::{fs, path::Path, time::Duration};

use switchboard_event::{Decider, EndReason, SessionEnded, Timestamp};
use switchboard_store::{
    Retention, SessionEnd, SessionFilter, SessionLog as _, SessionPatch, SessionPhase, SqliteStore,
};
use tempfile::TempDir;

use crate::fixture::{
    append_and_wait, new_session, open_store, session_ids, stored_seqs, temp_dir, test_time, text_event, text_events,
};

fn ended_patch(at: Timestamp) -> SessionPatch {
    let how = SessionEnded {
        reason: EndReason::Completed,
        error: None,
        exit_code: None,
        signal: None,
        duration_ms: 1,
        by: Decider::Agent,
    };
    SessionPatch { state: Some(SessionPhase::Done), end: Some(SessionEnd { at, how }), ..SessionPatch::default() }
}

/// Creates sessions that ended one day after the other, not in the order of creation, and an open one.
fn store_with_ended_sessions() -> (TempDir, SqliteStore) {
    let folder = temp_dir();
    let store = open_store(folder.path());
    for (id, days) in [("b", 2), ("a", 1), ("open", 0), ("c", 3), ("d", 4)] {
        store.create_session(new_session(id)).unwrap();
        let update = if id == "open" { SessionPatch::default() } else { ended_patch(test_time(days * 86_400)) };
        append_and_wait(&store, id, text_events(id, 1..=3), update).unwrap();
    }
    (folder, store)
}

fn duration_of_days(days: u64) -> Option<Duration> {
    Some(Duration::from_secs(days * 86_400))
}

#[test]
fn sessions_go_by_age_and_by_number_and_never_while_they_are_open() {
    let now = test_time(5 * 86_400);
    for (older_than, keep_last, gone) in [
        (None, None, vec![]),
        (duration_of_days(3), None, vec!["a"]),
        (duration_of_days(2), None, vec!["a", "b"]),
        (None, Some(1), vec!["a", "b", "c"]),
        (duration_of_days(2), Some(1), vec!["a", "b", "c"]),
        (duration_of_days(0), Some(9), vec!["a", "b", "c", "d"]),
        (None, Some(0), vec!["a", "b", "c", "d"]),
    ] {
        let (_folder, store) = store_with_ended_sessions();
        let retention = Retention { older_than, keep_last, max_bytes: None };
        let deleted = store.expire_sessions(&retention, now).unwrap();
        assert_eq!(deleted.iter().map(|id| id.as_str()).collect::<Vec<_>>(), gone, "{retention:?}");
        let left = store.list_sessions(&SessionFilter::default()).unwrap();
        assert!(session_ids(&left).iter().all(|id| !gone.contains(id)));
        assert_eq!(left.len() + gone.len(), 5);
        assert_eq!(stored_seqs(&store, "open"), [1, 2, 3]);
        assert!(store.expire_sessions(&retention, now).unwrap().is_empty());
    }
}

#[test]
fn a_session_that_goes_on_is_kept() {
    let (_folder, store) = store_with_ended_sessions();
    store.claim_session("a", None).unwrap();
    let everything = Retention { keep_last: Some(0), ..Retention::default() };
    assert_eq!(store.expire_sessions(&everything, test_time(0)).unwrap(), ["b", "c", "d"]);
    append_and_wait(&store, "a", text_events("a", 4..=4), ended_patch(test_time(9))).unwrap();
    assert_eq!(store.expire_sessions(&everything, test_time(0)).unwrap(), ["a"]);
}

/// Returns the size of the log on disk, including the write-ahead log.
fn log_bytes_on_disk(folder: &Path) -> u64 {
    ["log.db", "log.db-wal"].iter().map(|name| fs::metadata(folder.join(name)).map_or(0, |file| file.len())).sum()
}

#[test]
fn the_log_shrinks_to_its_size_while_it_is_open() {
    let folder = temp_dir();
    let store = open_store(folder.path());
    let long = "x".repeat(50_000);
    for (id, second) in [("first", 1), ("second", 2), ("third", 3)] {
        store.create_session(new_session(id)).unwrap();
        for seq in 1..=100 {
            append_and_wait(&store, id, vec![text_event(id, seq, &long)], SessionPatch::default()).unwrap();
        }
        append_and_wait(&store, id, vec![], ended_patch(test_time(second))).unwrap();
    }
    assert!(log_bytes_on_disk(folder.path()) > 15_000_000);
    let small = Retention { max_bytes: Some(6_000_000), ..Retention::default() };
    assert_eq!(store.expire_sessions(&small, test_time(9)).unwrap(), ["first", "second"]);
    assert!(log_bytes_on_disk(folder.path()) < 6_000_000, "{} bytes are left", log_bytes_on_disk(folder.path()));
    assert_eq!(stored_seqs(&store, "third"), (1..=100).collect::<Vec<_>>());
    let none = Retention { max_bytes: Some(0), ..Retention::default() };
    assert_eq!(store.expire_sessions(&none, test_time(9)).unwrap(), ["third"]);
    assert!(log_bytes_on_disk(folder.path()) < 200_000, "{} bytes are left", log_bytes_on_disk(folder.path()));
}
