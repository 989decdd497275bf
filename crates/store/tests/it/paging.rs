//! Pages are limited by number and bytes, but never empty.

use switchboard_event::{EventBody, Kind, SessionState};
use switchboard_store::{PageQuery, SessionLog as _, SessionPatch};

use crate::fixture::{ALL_EVENTS, append_and_wait, store_with_session, text_event, text_events};

#[test]
fn a_page_is_bounded_by_number_and_by_bytes_but_never_empty() {
    let (_folder, store) = store_with_session();
    let mut written = text_events("s", 1..=3);
    written.push(text_event("s", 4, &"x".repeat(100_000)));
    written.extend(text_events("s", 5..=6));
    append_and_wait(&store, "s", written, SessionPatch::default()).unwrap();
    let one = store.read_rows("s", ALL_EVENTS).unwrap()[0].json.len();
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
        let seqs: Vec<u64> = store.read_rows("s", page).unwrap().iter().map(|row| row.seq).collect();
        assert_eq!(seqs, expected, "{page:?}");
    }
}

#[test]
fn a_page_can_be_limited_to_kinds_of_event() {
    let (_folder, store) = store_with_session();
    let mut written = text_events("s", 1..=6);
    for (at, body) in [(1, EventBody::TurnStarted(Box::default())), (4, EventBody::RequestOpened(Box::default()))] {
        written[at].body = body;
    }
    append_and_wait(&store, "s", written, SessionPatch::default()).unwrap();
    let read = |after, limit, kinds| -> Vec<u64> {
        let page = PageQuery { after, limit, max_bytes: usize::MAX, kinds };
        store.read_rows("s", page).unwrap().iter().map(|row| row.seq).collect()
    };
    assert_eq!(read(0, 100, &[Kind::TurnStarted, Kind::RequestOpened]), [2, 5]);
    assert_eq!(read(0, 1, &[Kind::TurnStarted, Kind::RequestOpened]), [2]);
    assert_eq!(read(2, 100, &[Kind::TurnStarted]), [0; 0]);
    let state = store.read_state("s", SessionState::REQUEST_KINDS).unwrap();
    assert_eq!((state.requests.len(), state.in_turn), (1, false));
}

#[test]
fn sessions_do_not_see_each_others_events() {
    let (_folder, store) = store_with_session();
    store.create_session(crate::fixture::new_session("t")).unwrap();
    append_and_wait(&store, "t", text_events("t", 1..=3), SessionPatch::default()).unwrap();
    append_and_wait(&store, "s", text_events("s", 1..=2), SessionPatch::default()).unwrap();
    for (session, expected) in [("s", 2), ("t", 3)] {
        let page = store.read_events(session, ALL_EVENTS).unwrap();
        assert_eq!(page.len(), expected);
        assert!(page.iter().all(|event| event.session == session));
    }
}
