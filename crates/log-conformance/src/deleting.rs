//! Deletions take effect at once, and once.

use std::thread;

use switchboard_store::{SessionFilter, SessionPatch, StoreError};

use crate::{
    LogStorage,
    fixture::{
        ALL_EVENTS, append_and_wait, done_patch, log_with_session, new_session, stored_seqs, text_events,
        wait_for_head, wait_until,
    },
};

pub fn an_open_session_is_not_deleted(storage: &dyn LogStorage) {
    let (log, other) = (log_with_session(storage), storage.open_log());
    assert!(matches!(log.delete_session("s"), Err(StoreError::Open(_))));
    wait_for_head(&*other, "s", 0);
    assert!(matches!(other.delete_session("s"), Err(StoreError::Open(_))));
    append_and_wait(&*log, "s", text_events("s", 1..=1), done_patch()).unwrap();
    wait_for_head(&*other, "s", 1);
    other.delete_session("s").unwrap();
    assert!(other.list_sessions(&SessionFilter::default()).unwrap().is_empty());
    wait_until("the session is gone", || log.list_sessions(&SessionFilter::default()).unwrap().is_empty());
}

pub fn a_deleted_session_is_gone_at_once(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    log.create_session(new_session("keep")).unwrap();
    append_and_wait(&*log, "keep", text_events("keep", 1..=500), SessionPatch::default()).unwrap();
    append_and_wait(&*log, "s", text_events("s", 1..=500), done_patch()).unwrap();
    append_and_wait(&*log, "keep", text_events("keep", 501..=1_000), SessionPatch::default()).unwrap();
    log.delete_session("s").unwrap();
    assert!(log.get_session("s").unwrap().is_none());
    assert!(matches!(log.read_rows("s", ALL_EVENTS), Err(StoreError::NoSession(_))));
    assert!(matches!(log.list_runs("s"), Err(StoreError::NoSession(_))));
    assert!(matches!(log.claim_session("s", None), Err(StoreError::NoSession(_))));
    assert!(matches!(log.delete_session("s"), Err(StoreError::NoSession(_))));
    log.reclaim_space().unwrap();
    assert_eq!(stored_seqs(&*log, "keep"), (1..=1_000).collect::<Vec<_>>());
    let other = storage.open_log();
    wait_for_head(&*other, "keep", 1_000);
    assert!(other.get_session("s").unwrap().is_none());
    assert_eq!(stored_seqs(&*other, "keep"), (1..=1_000).collect::<Vec<_>>());
}

pub fn one_of_concurrent_deletions_succeeds(storage: &dyn LogStorage) {
    let (log, other) = (log_with_session(storage), storage.open_log());
    append_and_wait(&*log, "s", text_events("s", 1..=100), done_patch()).unwrap();
    wait_for_head(&*other, "s", 100);
    let outcomes: Vec<_> = thread::scope(|scope| {
        let deleting: Vec<_> =
            [&log, &other, &log, &other].map(|log| scope.spawn(|| log.delete_session("s"))).into_iter().collect();
        deleting.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(()) | Err(StoreError::NoSession(_)))), "{outcomes:?}");
}

pub fn a_deleted_session_is_not_resurrected(storage: &dyn LogStorage) {
    let (log, other) = (log_with_session(storage), storage.open_log());
    append_and_wait(&*log, "s", text_events("s", 1..=3), done_patch()).unwrap();
    wait_for_head(&*other, "s", 3);
    other.delete_session("s").unwrap();
    // The owner may not know yet, and goes on.
    let outcome = append_and_wait(&*log, "s", text_events("s", 4..=4), SessionPatch::default());
    assert!(matches!(outcome, Err(StoreError::NoSession(_) | StoreError::NotOwner(_))), "{outcome:?}");
    let outcome = log.claim_session("s", Some(3));
    assert!(matches!(outcome, Err(StoreError::NoSession(_))), "{outcome:?}");
    let outcome = log.set_archived("s", true);
    assert!(matches!(outcome, Err(StoreError::NoSession(_))), "{outcome:?}");
    for log in [&log, &other] {
        wait_until("the session is gone", || log.get_session("s").unwrap().is_none());
    }
}

pub fn a_session_of_a_dead_process_can_be_deleted(storage: &dyn LogStorage) {
    let (log, other) = (log_with_session(storage), storage.open_log());
    append_and_wait(&*log, "s", text_events("s", 1..=3), SessionPatch::default()).unwrap();
    wait_for_head(&*other, "s", 3);
    assert!(matches!(other.delete_session("s"), Err(StoreError::Open(_))));
    drop(log);
    wait_until("the process counts as dead", || !other.list_abandoned().unwrap().is_empty());
    other.delete_session("s").unwrap();
    assert!(other.get_session("s").unwrap().is_none());
}
