//! Owners of sessions, and the sessions of dead owners.

use std::{sync::Barrier, thread};

use switchboard_store::{
    AgentRun, ProcessIdentity, SessionLog as _, SessionPatch, SessionPhase, SqliteStore, StoreError, StoreOptions,
};

use crate::{
    child::{ChildProcess, child_role, write_to_parent},
    fixture::{append_and_wait, make_run, new_session, open_store, run_patch, temp_dir, test_owner, text_events},
};

/// Runs some sessions until the process is killed.
fn run_sessions(session: &str, folder: &std::path::Path) {
    let store = open_store(folder);
    for number in 0..20 {
        let id = format!("{session}{number}");
        store.create_session(new_session(&id)).unwrap();
        append_and_wait(&store, &id, text_events(&id, 1..=2), run_patch(make_run(false))).unwrap();
    }
    let known = AgentRun { agent: Some(ProcessIdentity { pid: 21, start: 22 }), ..make_run(false) };
    append_and_wait(&store, &format!("{session}0"), vec![], run_patch(known)).unwrap();
    append_and_wait(&store, &format!("{session}1"), vec![], run_patch(make_run(true))).unwrap();
    let done = SessionPatch { state: Some(SessionPhase::Done), ..SessionPatch::default() };
    append_and_wait(&store, &format!("{session}2"), vec![], done).unwrap();
    write_to_parent("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn sessions_of_a_dead_process_are_taken_over_once() {
    if let Some((session, folder)) = child_role() {
        return run_sessions(&session, &folder);
    }
    let folder = temp_dir();
    let mut child = ChildProcess::start("owners::sessions_of_a_dead_process_are_taken_over_once", "s", folder.path());
    assert_eq!(child.next_message().as_deref(), Some("ready"));
    let stores = [open_store(folder.path()), open_store(folder.path())];
    assert!(stores[0].list_abandoned().unwrap().is_empty());
    assert!(stores[0].take_over().unwrap().is_empty());
    assert!(matches!(stores[0].claim_session("s0", None), Err(StoreError::NotOwner(_))));
    assert!(matches!(stores[0].delete_session("s0"), Err(StoreError::Open(_))));

    child.kill();
    let abandoned = stores[1].list_abandoned().unwrap();
    assert_eq!(abandoned.len(), 19);
    assert_eq!(abandoned[0].runs[0].agent, Some(ProcessIdentity { pid: 21, start: 22 }));
    assert_eq!(abandoned[0].runs[0].supervisor, Some(ProcessIdentity { pid: 11, start: 12 }));
    assert!(abandoned[1].runs.is_empty(), "its run had ended");

    let start = Barrier::new(2);
    let take = |store: &SqliteStore| {
        start.wait();
        store.take_over().unwrap()
    };
    let taken = thread::scope(|scope| {
        stores.each_ref().map(|store| scope.spawn(move || take(store))).map(|thread| thread.join().unwrap())
    });
    assert_eq!(taken[0].len() + taken[1].len(), 19);
    for (store, taken) in stores.iter().zip(taken) {
        for left in taken {
            assert_eq!(left.session.owner, store.owner_number());
            let failed = SessionPatch { state: Some(SessionPhase::Failed), ..SessionPatch::default() };
            append_and_wait(store, &left.session.id, text_events(&left.session.id, 3..=3), failed).unwrap();
        }
    }
    assert!(stores[0].list_abandoned().unwrap().is_empty());
}

#[test]
fn the_dead_are_forgotten_when_they_left_nothing() {
    let folder = temp_dir();
    let first = open_store(folder.path());
    first.create_session(new_session("s")).unwrap();
    let numbers = |store: &SqliteStore| -> Vec<(u64, bool)> {
        store.list_owners().unwrap().iter().map(|owner| (owner.number, owner.alive)).collect()
    };
    drop(open_store(folder.path()));
    let third = open_store(folder.path());
    assert_eq!(numbers(&third), [(1, true), (3, true)]);
    assert_eq!(third.list_owners().unwrap()[0].owner, test_owner(1));
    assert!(!third.owners_directory().join("2.lock").exists());
    drop(first);
    assert_eq!(numbers(&third), [(1, false), (3, true)]);
    let looking = SqliteStore::open(folder.path(), &StoreOptions::default()).unwrap();
    assert_eq!(looking.list_abandoned().unwrap().len(), 1);
    assert!(matches!(looking.take_over(), Err(StoreError::Unregistered)));
    assert_eq!(third.take_over().unwrap().len(), 1);
    drop(open_store(folder.path()));
    assert_eq!(numbers(&third), [(3, true), (4, false)]);
}
