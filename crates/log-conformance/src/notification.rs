//! Watchers are notified of the commits of other processes.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use switchboard_store::SessionPatch;

use crate::{
    LogStorage,
    fixture::{append_and_wait, log_with_session, text_events, wait_for_head},
};

/// Longer than any notification takes.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(30);

pub fn commits_of_other_processes_are_announced(storage: &dyn LogStorage) {
    let (log, watching) = (log_with_session(storage), storage.open_log());
    wait_for_head(&*watching, "s", 0);
    let (send, commits) = channel();
    let Some(watch) = watching.watch_commits(Box::new(move || send.send(()).unwrap_or_default())) else { return };
    append_and_wait(&*log, "s", text_events("s", 1..=1), SessionPatch::default()).unwrap();
    while watching.get_session("s").unwrap().unwrap().head < 1 {
        commits.recv_timeout(NOTICE_TIMEOUT).unwrap();
    }
    drop(log);
    while watching.list_abandoned().unwrap().is_empty() {
        commits.recv_timeout(NOTICE_TIMEOUT).unwrap();
    }
    drop(watch);
    let rest = std::iter::from_fn(|| Some(commits.recv_timeout(NOTICE_TIMEOUT))).find_map(Result::err);
    assert_eq!(rest, Some(RecvTimeoutError::Disconnected), "the watch has ended");
}
