//! Checkpoints of projections: found from any position, kept only for their session and version.

use switchboard_store::{
    Checkpoint, CheckpointPosition, SessionLog as _, SessionPatch, SessionPhase, SqliteStore, StoreOptions,
};

use crate::fixture::{append_and_wait, new_session, open_store, store_with_session, temp_dir, text_events};

fn make_checkpoint(version: &str, seq: u64, messages: u64) -> Checkpoint {
    let state = format!("{version} at {seq}").into_bytes();
    Checkpoint { dialect: "d".to_owned(), version: version.to_owned(), seq, messages, state }
}

/// Saves a checkpoint and waits until the queue is done.
fn save_and_wait(store: &SqliteStore, session: &str, checkpoint: Checkpoint) {
    store.save_checkpoint(session, checkpoint);
    // Any request works: its reply comes after everything queued before.
    drop(store.take_over());
}

fn found_seq(store: &SqliteStore, version: &str, at: CheckpointPosition) -> Option<u64> {
    store.find_checkpoint("s", "d", version, at).unwrap().map(|found| found.seq)
}

#[test]
fn the_first_to_save_wins_and_what_is_not_committed_is_not_saved() {
    let (folder, store) = store_with_session();
    append_and_wait(&store, "s", text_events("s", 1..=4), SessionPatch::default()).unwrap();
    save_and_wait(&store, "s", make_checkpoint("1", 2, 2));
    save_and_wait(&store, "s", Checkpoint { state: b"another".to_vec(), ..make_checkpoint("1", 2, 2) });
    save_and_wait(&store, "s", make_checkpoint("1", 5, 5));
    save_and_wait(&store, "none", make_checkpoint("1", 0, 0));
    assert_eq!(
        store.find_checkpoint("s", "d", "1", CheckpointPosition::Seq(9)).unwrap(),
        Some(make_checkpoint("1", 2, 2))
    );

    // Any process may save, even one that runs no sessions.
    let reader = SqliteStore::open(folder.path(), &StoreOptions::default()).unwrap();
    reader.save_checkpoint("s", make_checkpoint("1", 4, 4));
    drop(reader);
    assert_eq!(found_seq(&store, "1", CheckpointPosition::Seq(9)), Some(4));
}

#[test]
fn they_go_with_their_session() {
    let (folder, store) = store_with_session();
    store.create_session(new_session("keep")).unwrap();
    append_and_wait(&store, "keep", text_events("keep", 1..=1), SessionPatch::default()).unwrap();
    save_and_wait(&store, "keep", make_checkpoint("1", 1, 1));
    let done = SessionPatch { state: Some(SessionPhase::Done), ..SessionPatch::default() };
    append_and_wait(&store, "s", text_events("s", 1..=20), done).unwrap();
    for seq in 1..=20 {
        save_and_wait(&store, "s", Checkpoint { state: vec![b'x'; 300_000], ..make_checkpoint("1", seq, seq) });
    }
    store.delete_session("s").unwrap();
    store.reclaim_space().unwrap();
    drop(store);
    let log = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    let count = |table| log.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0));
    assert_eq!((count("checkpoints"), count("garbage")), (Ok(1), Ok(0)));
    let store = open_store(folder.path());
    store.create_session(new_session("s")).unwrap();
    assert_eq!(found_seq(&store, "1", CheckpointPosition::Seq(20)), None);
    assert!(store.find_checkpoint("keep", "d", "1", CheckpointPosition::Seq(1)).unwrap().is_some());
}

#[test]
fn a_log_that_cannot_be_written_takes_none_and_does_not_mind() {
    let (folder, store) = store_with_session();
    append_and_wait(&store, "s", text_events("s", 1..=2), SessionPatch::default()).unwrap();
    drop(store);
    let log = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    log.execute_batch("PRAGMA user_version = 99").unwrap();
    let store = SqliteStore::open(folder.path(), &StoreOptions::default()).unwrap();
    save_and_wait(&store, "s", make_checkpoint("1", 1, 1));
    assert_eq!(found_seq(&store, "1", CheckpointPosition::Seq(2)), None);
}

#[test]
fn each_question_is_answered_by_an_index() {
    let folder = temp_dir();
    drop(open_store(folder.path()));
    let log = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    for (order, place) in [("seq DESC", "seq"), ("messages DESC, seq DESC", "messages")] {
        let question = format!(
            "EXPLAIN QUERY PLAN SELECT state FROM checkpoints
             WHERE session = 1 AND dialect = 'd' AND version = '1' AND {place} <= 5 ORDER BY {order} LIMIT 1"
        );
        let plan: Vec<String> =
            log.prepare(&question).unwrap().query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        assert!(plan.len() == 1 && plan[0].starts_with("SEARCH checkpoints USING INDEX"), "{plan:?}");
    }
}
