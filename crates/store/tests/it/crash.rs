//! Several processes at once, and the sudden end of one.

use std::{
    path::Path,
    sync::mpsc::{Receiver, channel},
};

use switchboard_store::{Batch, Log as _, Store, Update};

use crate::{
    child::{Actor, role, say},
    fixture::{chunk, event, folder, new, open, seqs},
};

/// Appends batches of different sizes to a session, says what is done, and keeps some undone all the time.
fn write(session: &str, folder: &Path, batches: u64) {
    let store = open(folder);
    store.create(new(session)).unwrap();
    let (send, done) = channel();
    let mut seq = 0;
    for batch in 0..batches {
        let first = seq + 1;
        seq += 1 + batch % 19;
        let text = "x".repeat(usize::try_from(batch % 7 * 300).unwrap());
        let events = (first..=seq).map(|seq| event(session, seq, &text)).collect();
        let (send, last) = (send.clone(), seq);
        let done_now = Box::new(move |outcome: Result<(), _>| send.send(outcome.map(|()| last)).unwrap());
        store.append(Batch {
            session: session.into(),
            events: chunk(events),
            update: Update::default(),
            done: done_now,
        });
        if batch >= 50 {
            report(&done);
        }
    }
    drop((store, send));
    done.iter().for_each(|outcome| say(&outcome.unwrap().to_string()));
}

fn report(done: &Receiver<Result<u64, switchboard_store::StoreError>>) {
    say(&done.recv().unwrap().unwrap().to_string());
}

fn check_sound(folder: &Path) {
    let log = rusqlite::Connection::open(folder.join("log.db")).unwrap();
    let sound: String = log.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

fn check_session(store: &Store, session: &str, done: u64) {
    let head = store.session(session).unwrap().unwrap().head;
    assert!(head >= done, "{session}: {done} was done, and {head} is there");
    assert_eq!(seqs(store, session), (1..=head).collect::<Vec<_>>());
}

#[test]
fn a_killed_process_loses_nothing_that_was_done() {
    if let Some((session, folder)) = role() {
        return write(&session, &folder, u64::MAX);
    }
    let folder = folder();
    for heard in [1, 2, 30, 111, 400] {
        let session = format!("s{heard}");
        let mut child = Actor::start("crash::a_killed_process_loses_nothing_that_was_done", &session, folder.path());
        let mut said: Vec<String> = std::iter::from_fn(|| child.hear()).take(heard).collect();
        child.kill();
        // What it said before it died is still in the pipe.
        said.extend(std::iter::from_fn(|| child.hear()));
        let done = said.last().unwrap().parse().unwrap();
        let store = open(folder.path());
        check_session(&store, &session, done);
        check_sound(folder.path());
        assert!(store.abandoned().unwrap().iter().any(|left| left.session.id == *session));
    }
}

#[test]
fn two_processes_append_at_once() {
    if let Some((session, folder)) = role() {
        return write(&session, &folder, 400);
    }
    let folder = folder();
    let start = |session| Actor::start("crash::two_processes_append_at_once", session, folder.path());
    let children = ["a", "b"].map(start);
    for (session, mut child) in ["a", "b"].into_iter().zip(children) {
        let said: Vec<u64> = std::iter::from_fn(|| child.hear()).map(|seq| seq.parse().unwrap()).collect();
        assert_eq!(said.len(), 400, "{session} did not finish");
        check_session(&open(folder.path()), session, said[399]);
    }
    check_sound(folder.path());
}
