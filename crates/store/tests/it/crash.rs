//! Concurrent processes, and the sudden death of one.

use std::{
    path::Path,
    sync::mpsc::{Receiver, channel},
};

use switchboard_store::{EventBatch, SessionLog as _, SessionPatch, SqliteStore};

use crate::{
    child::{ChildProcess, child_role, write_to_parent},
    fixture::{new_session, open_store, stored_seqs, temp_dir, text_event, to_chunk},
};

/// Appends batches of different sizes to a session and reports each commit, with some batches always pending.
fn write_batches(session: &str, folder: &Path, batches: u64) {
    let store = open_store(folder);
    store.create_session(new_session(session)).unwrap();
    let (send, done) = channel();
    let mut seq = 0;
    for batch in 0..batches {
        let first = seq + 1;
        seq += 1 + batch % 19;
        let text = "x".repeat(usize::try_from(batch % 7 * 300).unwrap());
        let events = (first..=seq).map(|seq| text_event(session, seq, &text)).collect();
        let (send, last) = (send.clone(), seq);
        let done_now = Box::new(move |outcome: Result<(), _>| send.send(outcome.map(|()| last)).unwrap());
        store.append_batch(EventBatch {
            session: session.into(),
            events: to_chunk(events),
            update: SessionPatch::default(),
            done: done_now,
        });
        if batch >= 50 {
            report_commit(&done);
        }
    }
    drop((store, send));
    done.iter().for_each(|outcome| write_to_parent(&outcome.unwrap().to_string()));
}

fn report_commit(done: &Receiver<Result<u64, switchboard_store::StoreError>>) {
    write_to_parent(&done.recv().unwrap().unwrap().to_string());
}

fn assert_integrity(folder: &Path) {
    let log = rusqlite::Connection::open(folder.join("log.db")).unwrap();
    let sound: String = log.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

fn assert_session(store: &SqliteStore, session: &str, done: u64) {
    let head = store.get_session(session).unwrap().unwrap().head;
    assert!(head >= done, "{session}: {done} was done, and {head} is there");
    assert_eq!(stored_seqs(store, session), (1..=head).collect::<Vec<_>>());
}

#[test]
fn a_killed_process_loses_nothing_that_was_done() {
    if let Some((session, folder)) = child_role() {
        return write_batches(&session, &folder, u64::MAX);
    }
    let folder = temp_dir();
    for heard in [1, 2, 30, 111, 400] {
        let session = format!("s{heard}");
        let mut child =
            ChildProcess::start("crash::a_killed_process_loses_nothing_that_was_done", &session, folder.path());
        let mut said: Vec<String> = std::iter::from_fn(|| child.next_message()).take(heard).collect();
        child.kill();
        // Messages sent before it died are still in the pipe.
        said.extend(std::iter::from_fn(|| child.next_message()));
        let done = said.last().unwrap().parse().unwrap();
        let store = open_store(folder.path());
        assert_session(&store, &session, done);
        assert_integrity(folder.path());
        assert!(store.list_abandoned().unwrap().iter().any(|left| left.session.id == *session));
    }
}

#[test]
fn two_processes_append_at_once() {
    if let Some((session, folder)) = child_role() {
        return write_batches(&session, &folder, 400);
    }
    let folder = temp_dir();
    let start = |session| ChildProcess::start("crash::two_processes_append_at_once", session, folder.path());
    let children = ["a", "b"].map(start);
    for (session, mut child) in ["a", "b"].into_iter().zip(children) {
        let said: Vec<u64> = std::iter::from_fn(|| child.next_message()).map(|seq| seq.parse().unwrap()).collect();
        assert_eq!(said.len(), 400, "{session} did not finish");
        assert_session(&open_store(folder.path()), session, said[399]);
    }
    assert_integrity(folder.path());
}
