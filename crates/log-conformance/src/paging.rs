//! Pages are limited by number and bytes, but never empty.

use switchboard_event::{EventBody, Kind, SessionState};
use switchboard_store::{PageQuery, SessionPatch};

use crate::{
    LogStorage,
    fixture::{ALL_EVENTS, append_and_wait, log_with_session, new_session, text_event, text_events},
};

pub fn a_page_is_limited_by_number_and_bytes_but_never_empty(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    let mut written = text_events("s", 1..=3);
    written.push(text_event("s", 4, &"x".repeat(100_000)));
    written.extend(text_events("s", 5..=6));
    append_and_wait(&*log, "s", written, SessionPatch::default()).unwrap();
    let one = log.read_rows("s", ALL_EVENTS).unwrap()[0].json.len();
    for (after, limit, max_bytes, expected) in [
        (0, 2, usize::MAX, vec![1, 2]),
        (2, 100, usize::MAX, vec![3, 4, 5, 6]),
        (0, 100, 2 * one, vec![1, 2]),
        (0, 100, 2 * one - 1, vec![1]),
        (0, 100, 0, vec![1]),
        (2, 100, 2 * one, vec![3]),
        (3, 100, 2 * one, vec![4]),
        (4, 100, 2 * one, vec![5, 6]),
        (6, 100, usize::MAX, vec![]),
        (u64::MAX, 100, usize::MAX, vec![]),
        (0, 0, usize::MAX, vec![]),
    ] {
        let page = PageQuery { after, limit, max_bytes, kinds: &[] };
        let seqs: Vec<u64> = log.read_rows("s", page).unwrap().iter().map(|row| row.seq).collect();
        assert_eq!(seqs, expected, "{page:?}");
    }
}

pub fn a_page_can_be_limited_to_kinds(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    let mut written = text_events("s", 1..=6);
    for (at, body) in [(1, EventBody::TurnStarted(Box::default())), (4, EventBody::RequestOpened(Box::default()))] {
        written[at].body = body;
    }
    append_and_wait(&*log, "s", written[..3].to_vec(), SessionPatch::default()).unwrap();
    append_and_wait(&*log, "s", written[3..].to_vec(), SessionPatch::default()).unwrap();
    append_and_wait(&*log, "s", text_events("s", 7..=9), SessionPatch::default()).unwrap();
    let read = |after, limit, kinds| -> Vec<u64> {
        let page = PageQuery { after, limit, max_bytes: usize::MAX, kinds };
        log.read_rows("s", page).unwrap().iter().map(|row| row.seq).collect()
    };
    assert_eq!(read(0, 100, &[Kind::TurnStarted, Kind::RequestOpened]), [2, 5]);
    assert_eq!(read(0, 1, &[Kind::TurnStarted, Kind::RequestOpened]), [2]);
    assert_eq!(read(2, 100, &[Kind::TurnStarted]), [0; 0]);
    let state = log.read_state("s", SessionState::REQUEST_KINDS).unwrap();
    assert_eq!((state.requests.len(), state.in_turn), (1, false));
}

pub fn pages_of_many_batches_are_complete(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    for first in (1..=300).step_by(3) {
        append_and_wait(&*log, "s", text_events("s", first..=first + 2), SessionPatch::default()).unwrap();
    }
    for limit in [1, 2, 7, 100, 1_000] {
        let (mut after, mut seqs) = (0, Vec::new());
        loop {
            let page = PageQuery { after, limit, max_bytes: usize::MAX, kinds: &[] };
            let rows = log.read_rows("s", page).unwrap();
            let Some(last) = rows.last() else { break };
            assert!(rows.len() <= limit);
            after = last.seq;
            seqs.extend(rows.iter().map(|row| row.seq));
        }
        assert_eq!(seqs, (1..=300).collect::<Vec<_>>(), "in pages of {limit}");
    }
}

pub fn sessions_do_not_share_events(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    log.create_session(new_session("t")).unwrap();
    append_and_wait(&*log, "t", text_events("t", 1..=3), SessionPatch::default()).unwrap();
    append_and_wait(&*log, "s", text_events("s", 1..=2), SessionPatch::default()).unwrap();
    for (session, expected) in [("s", 2), ("t", 3)] {
        let page = log.read_events(session, ALL_EVENTS).unwrap();
        assert_eq!(page.len(), expected);
        assert!(page.iter().all(|event| event.session == session));
    }
}
