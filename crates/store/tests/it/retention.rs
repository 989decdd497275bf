//! Retention deletes ended sessions by age, number and size, and frees the space.

use std::{fs, path::Path};

use switchboard_store::{Retention, SessionLog as _, SessionPatch};

use crate::fixture::{
    append_and_wait, ended_patch, new_session, open_store, stored_seqs, temp_dir, test_time, text_event,
};

/// Returns the size of the log on disk, including the write-ahead log.
fn log_bytes_on_disk(folder: &Path) -> u64 {
    ["log.db", "log.db-wal"].iter().map(|name| fs::metadata(folder.join(name)).map_or(0, |file| file.len())).sum()
}

#[test]
fn the_log_shrinks_to_its_size_while_it_is_open() {
    let folder = temp_dir();
    let store = open_store(folder.path());
    let long = "x".repeat(50_000);
    for (id, second) in [("first", 1), ("second", 2), ("third", 3)] {
        store.create_session(new_session(id)).unwrap();
        for seq in 1..=100 {
            append_and_wait(&store, id, vec![text_event(id, seq, &long)], SessionPatch::default()).unwrap();
        }
        append_and_wait(&store, id, vec![], ended_patch(test_time(second))).unwrap();
    }
    assert!(log_bytes_on_disk(folder.path()) > 15_000_000);
    let small = Retention { max_bytes: Some(6_000_000), ..Retention::default() };
    assert_eq!(store.expire_sessions(&small, test_time(9)).unwrap(), ["first", "second"]);
    assert!(log_bytes_on_disk(folder.path()) < 6_000_000, "{} bytes are left", log_bytes_on_disk(folder.path()));
    assert_eq!(stored_seqs(&store, "third"), (1..=100).collect::<Vec<_>>());
    let none = Retention { max_bytes: Some(0), ..Retention::default() };
    assert_eq!(store.expire_sessions(&none, test_time(9)).unwrap(), ["third"]);
    assert!(log_bytes_on_disk(folder.path()) < 200_000, "{} bytes are left", log_bytes_on_disk(folder.path()));
}
