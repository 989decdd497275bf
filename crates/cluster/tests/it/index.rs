//! The index of a node can be lost at any time.

use std::fs;

use switchboard_log_conformance::fixture::{
    ALL_EVENTS, append_and_wait, done_patch, make_run, new_session, run_patch, text_events,
};
use switchboard_store::{SessionFilter, SessionLog as _, SessionPatch, StoreError};

use crate::nats::NatsCluster;

#[test]
fn a_lost_index_is_rebuilt() {
    let Some(nats) = NatsCluster::single() else { return };
    let log = nats.open("a");
    for id in ["s", "t", "gone"] {
        log.create_session(new_session(id)).unwrap();
        for first in (1..=60).step_by(6) {
            append_and_wait(&log, id, text_events(id, first..=first + 5), SessionPatch::default()).unwrap();
        }
        append_and_wait(&log, id, vec![], run_patch(make_run(false))).unwrap();
    }
    append_and_wait(&log, "t", text_events("t", 61..=61), done_patch()).unwrap();
    append_and_wait(&log, "gone", vec![], done_patch()).unwrap();
    log.set_archived("t", true).unwrap();
    log.delete_session("gone").unwrap();
    log.reclaim_space().unwrap();
    let describe = |log: &dyn switchboard_store::SessionLog| {
        let sessions = log.list_sessions(&SessionFilter::default()).unwrap();
        let details = sessions.iter().map(|session| {
            let rows = log.read_rows(&session.id, ALL_EVENTS).unwrap();
            (format!("{session:?}"), rows, log.list_runs(&session.id).unwrap())
        });
        details.collect::<Vec<_>>()
    };
    let before = describe(&log);
    assert_eq!(before.len(), 2);
    drop(log);
    let directory = nats.options("a").data_directory.join("cluster");
    let index = directory.join("index-0.db");
    assert!(index.is_file());
    for what in ["deleted", "foreign", "of another version"] {
        match what {
            "deleted" => fs::remove_file(&index).unwrap(),
            "foreign" => fs::write(&index, "something else").unwrap(),
            _ => rusqlite::Connection::open(&index).unwrap().pragma_update(None, "user_version", 99).unwrap(),
        }
        let log = nats.open("a");
        assert_eq!(describe(&log), before, "the index was {what}");
        assert!(matches!(log.create_session(new_session("gone")), Err(StoreError::Exists(_))));
    }
}

#[test]
fn a_session_is_not_created_again_after_its_deletion() {
    let Some(nats) = NatsCluster::single() else { return };
    let (log, other) = (nats.open("a"), nats.open("b"));
    log.create_session(new_session("s")).unwrap();
    append_and_wait(&log, "s", text_events("s", 1..=10), done_patch()).unwrap();
    log.delete_session("s").unwrap();
    for log in [&log, &other] {
        assert!(matches!(log.create_session(new_session("s")), Err(StoreError::Exists(_))));
    }
    log.reclaim_space().unwrap();
    for log in [&log, &other, &nats.open("c")] {
        assert!(matches!(log.create_session(new_session("s")), Err(StoreError::Exists(_))));
        assert!(log.get_session("s").unwrap().is_none());
    }
}

#[test]
fn ids_may_be_any_text() {
    let Some(nats) = NatsCluster::single() else { return };
    let (log, other) = (nats.open("a"), nats.open("b"));
    for id in ["a.b", "a b", "*", ">", "ü/…", "=YQ", "YQ", &"long".repeat(50)] {
        log.create_session(new_session(id)).unwrap();
        append_and_wait(&log, id, text_events(id, 1..=2), SessionPatch::default()).unwrap();
        switchboard_log_conformance::fixture::wait_for_head(&other, id, 2);
        assert_eq!(other.read_rows(id, ALL_EVENTS).unwrap(), log.read_rows(id, ALL_EVENTS).unwrap());
    }
}
