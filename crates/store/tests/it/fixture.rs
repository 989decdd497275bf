//! Directories and logs for tests.

use std::path::Path;

pub use switchboard_log_conformance::fixture::{
    ALL_EVENTS, append_and_wait, done_patch, ended_patch, make_run, new_session, run_patch, stored_seqs, test_time,
    text_event, text_events, to_chunk,
};
use switchboard_store::{LogOwner, ProcessIdentity, SessionLog as _, SqliteStore, StoreOptions};
use tempfile::TempDir;

pub fn temp_dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub fn test_owner(pid: u32) -> LogOwner {
    LogOwner { process: ProcessIdentity { pid, start: 7 }, boot: "boot".into() }
}

/// Opens the log as a process that runs sessions.
pub fn open_store(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, &StoreOptions { owner: Some(test_owner(1)), ..StoreOptions::default() }).unwrap()
}

/// Creates a log with one session, `s`.
pub fn store_with_session() -> (TempDir, SqliteStore) {
    let folder = temp_dir();
    let store = open_store(folder.path());
    store.create_session(new_session("s")).unwrap();
    (folder, store)
}
