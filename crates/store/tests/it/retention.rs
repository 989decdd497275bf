//! Retention: what has ended goes by age, number and size, and the disk has its space again.

use std::{fs, path::Path, time::Duration};

use switchboard_event::{Decider, EndReason, SessionEnded, Timestamp};
use switchboard_store::{End, Filter, Log as _, Retention, State, Store, Update};
use tempfile::TempDir;

use crate::fixture::{append, event, events, folder, ids, new, open, seqs, time};

fn ended(at: Timestamp) -> Update {
    let how = SessionEnded {
        reason: EndReason::Completed,
        error: None,
        exit_code: None,
        signal: None,
        duration_ms: 1,
        by: Decider::Agent,
    };
    Update { state: Some(State::Done), end: Some(End { at, how }), ..Update::default() }
}

/// Sessions that ended one day after the other, not in the order in which they began, and one that is open.
fn store() -> (TempDir, Store) {
    let folder = folder();
    let store = open(folder.path());
    for (id, days) in [("b", 2), ("a", 1), ("open", 0), ("c", 3), ("d", 4)] {
        store.create(new(id)).unwrap();
        let update = if id == "open" { Update::default() } else { ended(time(days * 86_400)) };
        append(&store, id, events(id, 1..=3), update).unwrap();
    }
    (folder, store)
}

fn days(days: u64) -> Option<Duration> {
    Some(Duration::from_secs(days * 86_400))
}

#[test]
fn sessions_go_by_age_and_by_number_and_never_while_they_are_open() {
    let now = time(5 * 86_400);
    for (older_than, keep_last, gone) in [
        (None, None, vec![]),
        (days(3), None, vec!["a"]),
        (days(2), None, vec!["a", "b"]),
        (None, Some(1), vec!["a", "b", "c"]),
        (days(2), Some(1), vec!["a", "b", "c"]),
        (days(0), Some(9), vec!["a", "b", "c", "d"]),
        (None, Some(0), vec!["a", "b", "c", "d"]),
    ] {
        let (_folder, store) = store();
        let retention = Retention { older_than, keep_last, max_bytes: None };
        let deleted = store.expire(&retention, now).unwrap();
        assert_eq!(deleted.iter().map(|id| id.as_str()).collect::<Vec<_>>(), gone, "{retention:?}");
        let left = store.sessions(&Filter::default()).unwrap();
        assert!(ids(&left).iter().all(|id| !gone.contains(id)));
        assert_eq!(left.len() + gone.len(), 5);
        assert_eq!(seqs(&store, "open"), [1, 2, 3]);
        assert!(store.expire(&retention, now).unwrap().is_empty());
    }
}

#[test]
fn a_session_that_goes_on_is_kept() {
    let (_folder, store) = store();
    store.claim("a", None).unwrap();
    let everything = Retention { keep_last: Some(0), ..Retention::default() };
    assert_eq!(store.expire(&everything, time(0)).unwrap(), ["b", "c", "d"]);
    append(&store, "a", events("a", 4..=4), ended(time(9))).unwrap();
    assert_eq!(store.expire(&everything, time(0)).unwrap(), ["a"]);
}

/// What the log takes on the disk, the write-ahead log included.
fn on_disk(folder: &Path) -> u64 {
    ["log.db", "log.db-wal"].iter().map(|name| fs::metadata(folder.join(name)).map_or(0, |file| file.len())).sum()
}

#[test]
fn the_log_shrinks_to_its_size_while_it_is_open() {
    let folder = folder();
    let store = open(folder.path());
    let long = "x".repeat(50_000);
    for (id, second) in [("first", 1), ("second", 2), ("third", 3)] {
        store.create(new(id)).unwrap();
        for seq in 1..=100 {
            append(&store, id, vec![event(id, seq, &long)], Update::default()).unwrap();
        }
        append(&store, id, vec![], ended(time(second))).unwrap();
    }
    assert!(on_disk(folder.path()) > 15_000_000);
    let small = Retention { max_bytes: Some(6_000_000), ..Retention::default() };
    assert_eq!(store.expire(&small, time(9)).unwrap(), ["first", "second"]);
    assert!(on_disk(folder.path()) < 6_000_000, "{} bytes are left", on_disk(folder.path()));
    assert_eq!(seqs(&store, "third"), (1..=100).collect::<Vec<_>>());
    let none = Retention { max_bytes: Some(0), ..Retention::default() };
    assert_eq!(store.expire(&none, time(9)).unwrap(), ["third"]);
    assert!(on_disk(folder.path()) < 200_000, "{} bytes are left", on_disk(folder.path()));
}
