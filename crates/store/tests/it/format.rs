//! The log file: foreign files, formats, permissions and damage.

use std::{fs, path::Path};

use rusqlite::Connection;
use switchboard_store::{LogHealth, PageQuery, SessionLog as _, SessionPatch, SqliteStore, StoreError, StoreOptions};

use crate::fixture::{
    ALL_EVENTS, append_and_wait, new_session, open_store, store_with_session, stored_seqs, temp_dir, test_owner,
    text_events,
};

fn open_database(folder: &Path) -> Connection {
    Connection::open(folder.join("log.db")).unwrap()
}

#[test]
fn a_newer_log_is_read_and_never_written() {
    let (folder, store) = store_with_session();
    append_and_wait(&store, "s", text_events("s", 1..=2), SessionPatch::default()).unwrap();
    drop(store);
    open_database(folder.path())
        .execute_batch("PRAGMA user_version = 99; ALTER TABLE sessions ADD COLUMN more TEXT")
        .unwrap();

    let store =
        SqliteStore::open(folder.path(), &StoreOptions { owner: Some(test_owner(1)), ..StoreOptions::default() })
            .unwrap();
    assert!(store.is_read_only());
    assert_eq!(stored_seqs(&store, "s"), [1, 2]);
    let is_newer = |outcome: Result<(), StoreError>| {
        assert!(matches!(outcome, Err(StoreError::Newer { found: 99, .. })), "{outcome:?}");
    };
    is_newer(store.create_session(new_session("t")));
    is_newer(append_and_wait(&store, "s", text_events("s", 3..=3), SessionPatch::default()));
    is_newer(store.claim_session("s", None).map(drop));
    is_newer(store.take_over().map(drop));
    is_newer(store.delete_session("s"));
    assert_eq!(store.get_session("s").unwrap().unwrap().head, 2);
}

#[test]
fn a_log_that_becomes_newer_while_it_is_open_is_left_alone() {
    let (folder, store) = store_with_session();
    open_database(folder.path()).execute_batch("PRAGMA user_version = 99").unwrap();
    let outcome = append_and_wait(&store, "s", text_events("s", 1..=1), SessionPatch::default());
    assert!(matches!(outcome, Err(StoreError::Newer { .. })), "{outcome:?}");
    assert!(stored_seqs(&store, "s").is_empty());
}

/// Rows of a log in the first format, with a session, a run, an event and a deleted session.
const FIRST_FORMAT_ROWS: &str = r#"
    INSERT INTO owners VALUES (3, 11, 12, 'boot');
    INSERT INTO sessions VALUES (7, 'old', 'echo', 'own', 'done', 0, 3, 1000000, 2000000, 2000000, 1, 1, 1, 'p', '/w',
        'title', 'prompt', '{}', NULL, '{"reason":"completed","duration_ms":1,"by":"agent"}');
    INSERT INTO runs VALUES (7, 1, 'boot', 1, 2, 3, 4, 1000000, 2000000);
    INSERT INTO events VALUES (7 << 40 | 1, 2000000, 'usage', '{"seq":1,"session":"old","at":"2026-01-01T00:00:00Z",
        "agent":"echo","run":1,"kind":"usage","data":{}}'), (5 << 40 | 1, 1, 'usage', 'of a deleted session');
    INSERT INTO garbage VALUES (5);
    PRAGMA user_version = 1;
"#;

#[test]
fn a_log_of_the_first_format_is_brought_to_the_latest_with_all_that_is_in_it() {
    let folder = temp_dir();
    let log = open_database(folder.path());
    log.execute_batch(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA application_id = 0x73776264",
    )
    .unwrap();
    log.execute_batch(include_str!("../../src/sqlite/schema.sql")).unwrap();
    log.execute_batch(FIRST_FORMAT_ROWS).unwrap();

    let store = open_store(folder.path());
    assert_eq!(log.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)), Ok(4));
    let session = store.get_session("old").unwrap().unwrap();
    assert_eq!((session.number, session.head, session.title.as_deref()), (7, 1, Some("title")));
    assert!(!session.archived);
    assert!(session.parse_end().unwrap().is_some());
    assert_eq!((stored_seqs(&store, "old"), store.list_runs("old").unwrap().len()), (vec![1], 1));
    store.create_session(new_session("s")).unwrap();
    assert_eq!(store.get_session("s").unwrap().unwrap().number, 8);
    append_and_wait(&store, "s", text_events("s", 1..=1), SessionPatch::default()).unwrap();
    store.delete_session("old").unwrap();
    store.reclaim_space().unwrap();
    assert_eq!(log.query_row("SELECT count(*) FROM events", [], |row| row.get::<_, i64>(0)), Ok(1));
    drop(store);
    assert!(open_store(folder.path()).get_session("old").unwrap().is_none());
}

#[test]
fn files_of_others_are_left_as_they_are() {
    let folder = temp_dir();
    let path = folder.path().join("log.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)").unwrap();
    drop(other);
    for content in [fs::read(&path).unwrap(), b"a text, long enough to be something".repeat(50), b"x".to_vec(), vec![]]
    {
        fs::write(&path, &content).unwrap();
        let outcome = SqliteStore::open(folder.path(), &StoreOptions::default());
        assert!(matches!(outcome, Err(StoreError::Foreign(_))), "{outcome:?}");
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[test]
fn damage_is_said_and_not_repaired() {
    let (folder, store) = store_with_session();
    append_and_wait(&store, "s", text_events("s", 1..=500), SessionPatch::default()).unwrap();
    drop(store);
    let path = folder.path().join("log.db");
    let mut content = fs::read(&path).unwrap();
    content[4096..].fill(0xa5);
    fs::write(&path, &content).unwrap();
    let outcome = SqliteStore::open(folder.path(), &StoreOptions::default()).and_then(|store| store.get_session("s"));
    assert!(matches!(outcome, Err(StoreError::Corrupt(_))), "{outcome:?}");
    assert_eq!(fs::read(&path).unwrap(), content);
}

#[test]
fn half_a_log_that_a_crash_left_is_made_anew() {
    let folder = temp_dir();
    fs::write(folder.path().join("log.new"), "half").unwrap();
    fs::write(folder.path().join("log.new-wal"), "half").unwrap();
    open_store(folder.path()).create_session(new_session("s")).unwrap();
    assert!(!folder.path().join("log.new").exists());
}

#[test]
fn a_log_is_as_it_was_decided() {
    let (folder, store) = store_with_session();
    let log = open_database(folder.path());
    let setting = |name: &str| log.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((setting("auto_vacuum"), setting("user_version")), (2, 4));
    let mode: String = log.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    drop(store);
}

#[cfg(unix)]
#[test]
fn the_folder_and_the_files_are_for_their_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = temp_dir();
    let inner = folder.path().join("a/b");
    let store = open_store(&inner);
    store.create_session(new_session("s")).unwrap();
    let mode = |path: &str| fs::metadata(inner.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!([".", "owners"].map(mode), [0o700; 2]);
    assert_eq!(["log.db", "log.db-wal", "log.db-shm", "open.lock", "owners/1.lock"].map(mode), [0o600; 5]);
}

#[test]
fn a_folder_that_cannot_be_is_an_error_that_names_it() {
    let folder = temp_dir();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = SqliteStore::open(&folder.path().join("file/store"), &StoreOptions::default()).unwrap_err();
    assert!(error.to_string().contains("file/store"), "{error}");
}

/// Changes the body of an event directly in the database.
fn damage_event(folder: &Path, seq: u64) {
    let changed = open_database(folder)
        .execute("UPDATE events SET body = replace(body, 'hello', 'jello') WHERE place & 0xffffffffff = ?1", [seq]);
    assert_eq!(changed, Ok(1));
}

#[test]
fn altered_bytes_are_noticed_and_the_rest_can_be_read() {
    let (folder, store) = store_with_session();
    append_and_wait(&store, "s", text_events("s", 1..=10), SessionPatch::default()).unwrap();
    damage_event(folder.path(), 4);
    damage_event(folder.path(), 5);
    let page = |after| PageQuery { after, ..ALL_EVENTS };
    let read = |after| store.read_rows("s", page(after)).map(|rows| rows.iter().map(|row| row.seq).collect::<Vec<_>>());
    assert_eq!(read(0).unwrap(), [1, 2, 3]);
    for (after, damaged) in [(3, 4), (4, 5)] {
        let outcome = read(after);
        assert!(
            matches!(&outcome, Err(StoreError::Damaged { session, seq }) if *session == "s" && *seq == damaged),
            "{outcome:?}"
        );
    }
    assert_eq!(read(5).unwrap(), [6, 7, 8, 9, 10]);
    let (rows, damaged) = store.read_sound_rows("s", page(3)).unwrap();
    assert_eq!((rows.len(), damaged), (5, vec![4, 5]));
    assert_eq!(store.find_damaged_events().unwrap(), [("s".into(), vec![4, 5])]);
}

#[test]
fn swapped_events_are_noticed() {
    let (folder, store) = store_with_session();
    append_and_wait(&store, "s", text_events("s", 1..=3), SessionPatch::default()).unwrap();
    let log = open_database(folder.path());
    log.execute_batch("UPDATE events SET place = -1 WHERE place & 3 = 1; UPDATE events SET place = place - 1 WHERE place & 3 = 2; UPDATE events SET place = (SELECT max(place) - 1 FROM events) WHERE place = -1").unwrap();
    assert_eq!(store.find_damaged_events().unwrap(), [("s".into(), vec![1, 2])]);
}

#[test]
fn a_log_that_was_removed_while_it_was_open_is_noticed() {
    let (folder, store) = store_with_session();
    assert_eq!(store.check_health(), LogHealth::Sound);
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(matches!(store.check_health(), LogHealth::Missing(_)));
    assert!(matches!(store.create_session(new_session("t")), Err(StoreError::Missing(_))));
}
