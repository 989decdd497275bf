//! Retention deletes ended sessions by age, number and size.

use std::time::Duration;

use switchboard_store::{Retention, SessionFilter, SessionLog, SessionPatch};

use crate::{
    LogStorage,
    fixture::{
        append_and_wait, ended_patch, new_session, session_ids, stored_seqs, test_time, text_event, text_events,
    },
};

/// Creates sessions that ended one day after the other, not in the order of creation, and an open one. The IDs end with
/// a suffix.
fn create_ended_sessions(log: &dyn SessionLog, suffix: &str) {
    for (id, days) in [("b", 2), ("a", 1), ("open", 0), ("c", 3), ("d", 4)] {
        let id = format!("{id}{suffix}");
        log.create_session(new_session(&id)).unwrap();
        let update = if days == 0 { SessionPatch::default() } else { ended_patch(test_time(days * 86_400)) };
        append_and_wait(log, &id, text_events(&id, 1..=3), update).unwrap();
    }
}

fn duration_of_days(days: u64) -> Option<Duration> {
    Some(Duration::from_secs(days * 86_400))
}

pub fn ended_sessions_expire_by_age_and_number(storage: &dyn LogStorage) {
    let (log, now) = (storage.open_log(), test_time(5 * 86_400));
    for (round, (older_than, keep_last, gone)) in [
        (None, None, vec![]),
        (duration_of_days(3), None, vec!["a"]),
        (duration_of_days(2), None, vec!["a", "b"]),
        (None, Some(1), vec!["a", "b", "c"]),
        (duration_of_days(2), Some(1), vec!["a", "b", "c"]),
        (duration_of_days(0), Some(9), vec!["a", "b", "c", "d"]),
        (None, Some(0), vec!["a", "b", "c", "d"]),
    ]
    .into_iter()
    .enumerate()
    {
        let suffix = format!("-{round}");
        create_ended_sessions(&*log, &suffix);
        let before = log.list_sessions(&SessionFilter::default()).unwrap().len();
        let retention = Retention { older_than, keep_last, max_bytes: None };
        let deleted = log.expire_sessions(&retention, now).unwrap();
        let gone: Vec<_> = gone.iter().map(|id| format!("{id}{suffix}")).collect();
        assert_eq!(deleted.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>(), gone, "{retention:?}");
        let left = log.list_sessions(&SessionFilter::default()).unwrap();
        assert!(session_ids(&left).iter().all(|id| gone.iter().all(|gone| gone != id)));
        assert_eq!(left.len() + gone.len(), before);
        assert_eq!(stored_seqs(&*log, &format!("open{suffix}")), [1, 2, 3]);
        assert!(log.expire_sessions(&retention, now).unwrap().is_empty());
        log.expire_sessions(&Retention { keep_last: Some(0), ..Retention::default() }, now).unwrap();
    }
}

pub fn a_reopened_session_does_not_expire(storage: &dyn LogStorage) {
    let log = storage.open_log();
    create_ended_sessions(&*log, "");
    log.claim_session("a", None).unwrap();
    let everything = Retention { keep_last: Some(0), ..Retention::default() };
    assert_eq!(log.expire_sessions(&everything, test_time(0)).unwrap(), ["b", "c", "d"]);
    append_and_wait(&*log, "a", text_events("a", 4..=4), ended_patch(test_time(9))).unwrap();
    assert_eq!(log.expire_sessions(&everything, test_time(0)).unwrap(), ["a"]);
}

pub fn the_log_is_kept_below_a_size(storage: &dyn LogStorage) {
    let log = storage.open_log();
    let mut state = 1_u64;
    for (id, second) in [("first", 1), ("second", 2), ("third", 3)] {
        log.create_session(new_session(id)).unwrap();
        for seq in 1..=20 {
            // Text that does not compress below half of its length.
            let mut noise = String::new();
            while noise.len() < 100_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                noise.push_str(&format!("{:016x}", state ^ (state >> 29)));
            }
            append_and_wait(&*log, id, vec![text_event(id, seq, &noise)], SessionPatch::default()).unwrap();
        }
        append_and_wait(&*log, id, vec![], ended_patch(test_time(second))).unwrap();
    }
    let none = Retention { max_bytes: Some(100_000_000), ..Retention::default() };
    assert!(log.expire_sessions(&none, test_time(9)).unwrap().is_empty());
    let small = Retention { max_bytes: Some(400_000), ..Retention::default() };
    assert_eq!(log.expire_sessions(&small, test_time(9)).unwrap(), ["first", "second", "third"]);
}
