//! Saved projections: found from any place, kept for their session and their version alone.

use switchboard_store::{At, Checkpoint, Log as _, Options, State, Store, StoreError, Update};

use crate::fixture::{append, events, folder, new, open, with_session};

fn checkpoint(version: &str, seq: u64, messages: u64) -> Checkpoint {
    let state = format!("{version} at {seq}").into_bytes();
    Checkpoint { dialect: "d".to_owned(), version: version.to_owned(), seq, messages, state }
}

/// Saves, and waits until all that is queued is done.
fn save(store: &Store, session: &str, checkpoint: Checkpoint) {
    store.save_checkpoint(session, checkpoint);
    // Any answer will do: it comes after what was queued before.
    drop(store.take_over());
}

fn found(store: &Store, version: &str, at: At) -> Option<u64> {
    store.checkpoint("s", "d", version, at).unwrap().map(|found| found.seq)
}

#[test]
fn the_last_one_at_or_before_a_place_is_found() {
    let (_folder, store) = with_session();
    append(&store, "s", events("s", 1..=40), Update::default()).unwrap();
    for (seq, messages) in [(10, 4), (20, 4), (30, 9)] {
        save(&store, "s", checkpoint("1", seq, messages));
    }
    for (at, expected) in [
        (At::Seq(9), None),
        (At::Seq(10), Some(10)),
        (At::Seq(29), Some(20)),
        (At::Seq(u64::MAX), Some(30)),
        (At::Message(3), None),
        (At::Message(4), Some(20)),
        (At::Message(8), Some(20)),
        (At::Message(9), Some(30)),
        (At::Message(u64::MAX), Some(30)),
    ] {
        assert_eq!(found(&store, "1", at), expected, "{at:?}");
    }
    assert_eq!(store.checkpoint("s", "d", "1", At::Seq(25)).unwrap(), Some(checkpoint("1", 20, 4)));
    assert_eq!(store.checkpoint("s", "other", "1", At::Seq(40)).unwrap(), None);
    assert!(matches!(store.checkpoint("none", "d", "1", At::Seq(1)), Err(StoreError::NoSession(_))));
}

#[test]
fn the_first_to_save_wins_and_what_is_not_committed_is_not_saved() {
    let (folder, store) = with_session();
    append(&store, "s", events("s", 1..=4), Update::default()).unwrap();
    save(&store, "s", checkpoint("1", 2, 2));
    save(&store, "s", Checkpoint { state: b"another".to_vec(), ..checkpoint("1", 2, 2) });
    save(&store, "s", checkpoint("1", 5, 5));
    save(&store, "none", checkpoint("1", 0, 0));
    assert_eq!(store.checkpoint("s", "d", "1", At::Seq(9)).unwrap(), Some(checkpoint("1", 2, 2)));

    // Any process may save, also one that runs no sessions.
    let reader = Store::open(folder.path(), &Options::default()).unwrap();
    reader.save_checkpoint("s", checkpoint("1", 4, 4));
    drop(reader);
    assert_eq!(found(&store, "1", At::Seq(9)), Some(4));
}

#[test]
fn what_another_version_saved_goes_away() {
    let (_folder, store) = with_session();
    append(&store, "s", events("s", 1..=100), Update::default()).unwrap();
    (1..=40).for_each(|seq| save(&store, "s", checkpoint("2", seq, seq)));
    save(&store, "s", checkpoint("1", 50, 50));
    assert_eq!(found(&store, "1", At::Seq(100)), Some(50));
    (51..=53).for_each(|seq| save(&store, "s", checkpoint("1", seq, seq)));
    assert_eq!(found(&store, "2", At::Seq(100)), None);
    assert_eq!(found(&store, "1", At::Seq(100)), Some(53));
}

#[test]
fn they_go_with_their_session() {
    let (folder, store) = with_session();
    store.create(new("keep")).unwrap();
    append(&store, "keep", events("keep", 1..=1), Update::default()).unwrap();
    save(&store, "keep", checkpoint("1", 1, 1));
    let done = Update { state: Some(State::Done), ..Update::default() };
    append(&store, "s", events("s", 1..=20), done).unwrap();
    for seq in 1..=20 {
        save(&store, "s", Checkpoint { state: vec![b'x'; 300_000], ..checkpoint("1", seq, seq) });
    }
    store.delete("s").unwrap();
    store.reclaim().unwrap();
    drop(store);
    let log = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    let count = |table| log.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0));
    assert_eq!((count("checkpoints"), count("garbage")), (Ok(1), Ok(0)));
    let store = open(folder.path());
    store.create(new("s")).unwrap();
    assert_eq!(found(&store, "1", At::Seq(20)), None);
    assert!(store.checkpoint("keep", "d", "1", At::Seq(1)).unwrap().is_some());
}

#[test]
fn a_log_that_cannot_be_written_takes_none_and_does_not_mind() {
    let (folder, store) = with_session();
    append(&store, "s", events("s", 1..=2), Update::default()).unwrap();
    drop(store);
    let log = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    log.execute_batch("PRAGMA user_version = 99").unwrap();
    let store = Store::open(folder.path(), &Options::default()).unwrap();
    save(&store, "s", checkpoint("1", 1, 1));
    assert_eq!(found(&store, "1", At::Seq(2)), None);
}

#[test]
fn each_question_is_answered_by_an_index() {
    let folder = folder();
    drop(open(folder.path()));
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
