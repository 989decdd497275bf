//! Who runs what, and what becomes of it when they die.

use std::{sync::Barrier, thread};

use switchboard_store::{Log as _, Options, Process, Run, State, Store, StoreError, Update};

use crate::{
    child::{Actor, role, say},
    fixture::{append, events, folder, ids, new, open, owner, time},
};

fn run(ended: bool) -> Run {
    Run {
        run: 1,
        boot: "boot".into(),
        supervisor: Some(Process { pid: 11, start: 12 }),
        agent: None,
        started: time(1),
        ended: ended.then(|| time(2)),
    }
}

fn with_run(run: Run) -> Update {
    Update { run: Some(run), ..Update::default() }
}

/// A process that runs some sessions until it is killed.
fn play(session: &str, folder: &std::path::Path) {
    let store = open(folder);
    for number in 0..20 {
        let id = format!("{session}{number}");
        store.create(new(&id)).unwrap();
        append(&store, &id, events(&id, 1..=2), with_run(run(false))).unwrap();
    }
    let known = Run { agent: Some(Process { pid: 21, start: 22 }), ..run(false) };
    append(&store, &format!("{session}0"), vec![], with_run(known)).unwrap();
    append(&store, &format!("{session}1"), vec![], with_run(run(true))).unwrap();
    let done = Update { state: Some(State::Done), ..Update::default() };
    append(&store, &format!("{session}2"), vec![], done).unwrap();
    say("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn sessions_of_a_dead_process_are_taken_over_once() {
    if let Some((session, folder)) = role() {
        return play(&session, &folder);
    }
    let folder = folder();
    let mut child = Actor::start("owners::sessions_of_a_dead_process_are_taken_over_once", "s", folder.path());
    assert_eq!(child.hear().as_deref(), Some("ready"));
    let stores = [open(folder.path()), open(folder.path())];
    assert!(stores[0].abandoned().unwrap().is_empty());
    assert!(stores[0].take_over().unwrap().is_empty());
    assert!(matches!(stores[0].claim("s0", None), Err(StoreError::NotOwner(_))));
    assert!(matches!(stores[0].delete("s0"), Err(StoreError::Open(_))));

    child.kill();
    let abandoned = stores[1].abandoned().unwrap();
    assert_eq!(abandoned.len(), 19);
    assert_eq!(abandoned[0].runs[0].agent, Some(Process { pid: 21, start: 22 }));
    assert_eq!(abandoned[0].runs[0].supervisor, Some(Process { pid: 11, start: 12 }));
    assert!(abandoned[1].runs.is_empty(), "its run had ended");

    let start = Barrier::new(2);
    let take = |store: &Store| {
        start.wait();
        store.take_over().unwrap()
    };
    let taken = thread::scope(|scope| {
        stores.each_ref().map(|store| scope.spawn(move || take(store))).map(|thread| thread.join().unwrap())
    });
    assert_eq!(taken[0].len() + taken[1].len(), 19);
    for (store, taken) in stores.iter().zip(taken) {
        for left in taken {
            assert_eq!(left.session.owner, store.owner());
            let failed = Update { state: Some(State::Failed), ..Update::default() };
            append(store, &left.session.id, events(&left.session.id, 3..=3), failed).unwrap();
        }
    }
    assert!(stores[0].abandoned().unwrap().is_empty());
}

#[test]
fn only_the_owner_appends() {
    let folder = folder();
    let (first, second) = (open(folder.path()), open(folder.path()));
    first.create(new("s")).unwrap();
    let outcome = append(&second, "s", events("s", 1..=1), Update::default());
    assert!(matches!(outcome, Err(StoreError::NotOwner(_))), "{outcome:?}");
    assert!(matches!(second.claim("s", None), Err(StoreError::NotOwner(_))));
    append(&first, "s", events("s", 1..=1), Update { state: Some(State::Done), ..Update::default() }).unwrap();
    let stale = second.claim("s", Some(77));
    assert!(matches!(stale, Err(StoreError::NotOwner(_))), "somebody continued it since: {stale:?}");
    assert_eq!(second.claim("s", None).unwrap().owner, second.owner());
    append(&second, "s", events("s", 2..=2), Update::default()).unwrap();
    let outcome = append(&first, "s", events("s", 3..=3), Update::default());
    assert!(matches!(outcome, Err(StoreError::NotOwner(_))), "{outcome:?}");
}

#[test]
fn the_dead_are_forgotten_when_they_left_nothing() {
    let folder = folder();
    let first = open(folder.path());
    first.create(new("s")).unwrap();
    let numbers = |store: &Store| -> Vec<(u64, bool)> {
        store.owners().unwrap().iter().map(|owner| (owner.number, owner.alive)).collect()
    };
    drop(open(folder.path()));
    let third = open(folder.path());
    assert_eq!(numbers(&third), [(1, true), (3, true)]);
    assert_eq!(third.owners().unwrap()[0].owner, owner(1));
    assert!(!third.owners_folder().join("2.lock").exists());
    drop(first);
    assert_eq!(numbers(&third), [(1, false), (3, true)]);
    let looking = Store::open(folder.path(), &Options::default()).unwrap();
    assert_eq!(looking.abandoned().unwrap().len(), 1);
    assert!(matches!(looking.take_over(), Err(StoreError::Unregistered)));
    assert_eq!(third.take_over().unwrap().len(), 1);
    drop(open(folder.path()));
    assert_eq!(numbers(&third), [(3, true), (4, false)]);
}

#[test]
fn runs_are_kept_in_order() {
    let (_folder, store) = crate::fixture::with_session();
    let second = Run { run: 2, ..run(false) };
    for run in [run(false), second.clone(), run(true)] {
        append(&store, "s", vec![], with_run(run)).unwrap();
    }
    assert_eq!(store.runs("s").unwrap(), [run(true), second]);
    assert_eq!(ids(&store.sessions(&switchboard_store::Filter::default()).unwrap()), ["s"]);
}
