//! Watchers are notified of the commits of every process.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use switchboard_store::{SessionLog as _, SessionPatch, SqliteStore, StoreOptions};

use crate::fixture::{append_and_wait, open_store, store_with_session, text_events};

/// Longer than any notification takes.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(10);

#[test]
fn commits_of_every_process_are_told_until_the_watch_ends() {
    let (folder, store) = store_with_session();
    // One that runs sessions, and one that only changes them.
    let watching = open_store(folder.path());
    let bystander = SqliteStore::open(folder.path(), &StoreOptions::default()).unwrap();
    let (send, commits) = channel();
    let watch = watching.watch_commits(Box::new(move || send.send(()).unwrap_or_default())).unwrap();
    append_and_wait(&store, "s", text_events("s", 1..=1), SessionPatch::default()).unwrap();
    commits.recv_timeout(NOTICE_TIMEOUT).unwrap();
    assert_eq!(watching.get_session("s").unwrap().unwrap().head, 1, "what is told of can be read");
    while commits.recv_timeout(Duration::from_millis(50)).is_ok() {}
    bystander.set_archived("s", true).unwrap();
    commits.recv_timeout(NOTICE_TIMEOUT).unwrap();
    assert!(watching.get_session("s").unwrap().unwrap().archived);
    drop(store);
    commits.recv_timeout(NOTICE_TIMEOUT).unwrap();
    drop(watch);
    let rest = std::iter::from_fn(|| Some(commits.recv_timeout(NOTICE_TIMEOUT))).find_map(Result::err);
    assert_eq!(rest, Some(RecvTimeoutError::Disconnected), "the thread has ended");
}
