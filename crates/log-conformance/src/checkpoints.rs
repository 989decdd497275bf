//! Checkpoints of projections: found from any position, kept only for their session and version.

use switchboard_store::{Checkpoint, CheckpointPosition, SessionLog, SessionPatch, StoreError};

use crate::{
    LogStorage,
    fixture::{append_and_wait, done_patch, log_with_session, new_session, text_events, wait_until},
};

fn make_checkpoint(version: &str, seq: u64, messages: u64) -> Checkpoint {
    let state = format!("{version} at {seq}").into_bytes();
    Checkpoint { dialect: "d".to_owned(), version: version.to_owned(), seq, messages, state }
}

/// Saves a checkpoint and waits until it has been saved or refused: a later one of another dialect is found then.
fn save_and_wait(log: &dyn SessionLog, checkpoint: Checkpoint) {
    let marker = |seq| Checkpoint { dialect: "marker".to_owned(), ..make_checkpoint("1", seq, 0) };
    let at = CheckpointPosition::Seq(u64::MAX);
    let last = || log.find_checkpoint("s", "marker", "1", at).unwrap().map_or(0, |found| found.seq);
    let next = last() + 1;
    log.save_checkpoint("s", checkpoint);
    log.save_checkpoint("s", marker(next));
    wait_until("the checkpoint is saved", || last() == next);
}

fn found_seq(log: &dyn SessionLog, version: &str, at: CheckpointPosition) -> Option<u64> {
    log.find_checkpoint("s", "d", version, at).unwrap().map(|found| found.seq)
}

pub fn the_last_checkpoint_at_or_before_a_position_is_found(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    append_and_wait(&*log, "s", text_events("s", 1..=40), SessionPatch::default()).unwrap();
    for (seq, messages) in [(10, 4), (20, 4), (30, 9)] {
        save_and_wait(&*log, make_checkpoint("1", seq, messages));
    }
    for (at, expected) in [
        (CheckpointPosition::Seq(9), None),
        (CheckpointPosition::Seq(10), Some(10)),
        (CheckpointPosition::Seq(29), Some(20)),
        (CheckpointPosition::Seq(u64::MAX), Some(30)),
        (CheckpointPosition::Message(3), None),
        (CheckpointPosition::Message(4), Some(20)),
        (CheckpointPosition::Message(8), Some(20)),
        (CheckpointPosition::Message(9), Some(30)),
        (CheckpointPosition::Message(u64::MAX), Some(30)),
    ] {
        assert_eq!(found_seq(&*log, "1", at), expected, "{at:?}");
    }
    let found = log.find_checkpoint("s", "d", "1", CheckpointPosition::Seq(25)).unwrap();
    assert_eq!(found, Some(make_checkpoint("1", 20, 4)));
    assert_eq!(log.find_checkpoint("s", "other", "1", CheckpointPosition::Seq(40)).unwrap(), None);
    let unknown = log.find_checkpoint("none", "d", "1", CheckpointPosition::Seq(1));
    assert!(matches!(unknown, Err(StoreError::NoSession(_))));
}

pub fn the_first_checkpoint_at_a_position_stays(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    append_and_wait(&*log, "s", text_events("s", 1..=4), SessionPatch::default()).unwrap();
    save_and_wait(&*log, make_checkpoint("1", 2, 2));
    save_and_wait(&*log, Checkpoint { state: b"another".to_vec(), ..make_checkpoint("1", 2, 2) });
    // Its event is not committed.
    save_and_wait(&*log, make_checkpoint("1", 5, 5));
    log.save_checkpoint("none", make_checkpoint("1", 0, 0));
    let found = log.find_checkpoint("s", "d", "1", CheckpointPosition::Seq(9)).unwrap();
    assert_eq!(found, Some(make_checkpoint("1", 2, 2)));
}

pub fn checkpoints_of_other_versions_are_removed(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    append_and_wait(&*log, "s", text_events("s", 1..=100), SessionPatch::default()).unwrap();
    (1..=40).for_each(|seq| save_and_wait(&*log, make_checkpoint("2", seq, seq)));
    save_and_wait(&*log, make_checkpoint("1", 50, 50));
    assert_eq!(found_seq(&*log, "1", CheckpointPosition::Seq(100)), Some(50));
    (51..=53).for_each(|seq| save_and_wait(&*log, make_checkpoint("1", seq, seq)));
    assert_eq!(found_seq(&*log, "2", CheckpointPosition::Seq(100)), None);
    assert_eq!(found_seq(&*log, "1", CheckpointPosition::Seq(100)), Some(53));
}

pub fn checkpoints_are_deleted_with_their_session(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    log.create_session(new_session("keep")).unwrap();
    append_and_wait(&*log, "keep", text_events("keep", 1..=1), SessionPatch::default()).unwrap();
    log.save_checkpoint("keep", make_checkpoint("1", 1, 1));
    append_and_wait(&*log, "s", text_events("s", 1..=20), done_patch()).unwrap();
    for seq in 1..=5 {
        save_and_wait(&*log, Checkpoint { state: vec![b'x'; 300_000], ..make_checkpoint("1", seq, seq) });
    }
    log.delete_session("s").unwrap();
    log.reclaim_space().unwrap();
    let gone = log.find_checkpoint("s", "d", "1", CheckpointPosition::Seq(20));
    assert!(matches!(gone, Err(StoreError::NoSession(_))), "{gone:?}");
    let kept = log.find_checkpoint("keep", "d", "1", CheckpointPosition::Seq(1)).unwrap();
    assert_eq!(kept, Some(make_checkpoint("1", 1, 1)));
}
