//! Pages: by number, by bytes, and always something.

use switchboard_store::{Log as _, Page, Update};

use crate::fixture::{ALL, append, event, events, with_session};

#[test]
fn a_page_is_bounded_by_number_and_by_bytes_but_never_empty() {
    let (_folder, store) = with_session();
    let mut written = events("s", 1..=3);
    written.push(event("s", 4, &"x".repeat(100_000)));
    written.extend(events("s", 5..=6));
    append(&store, "s", written, Update::default()).unwrap();
    let one = store.rows("s", ALL).unwrap()[0].json.len();
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
        let page = Page { after, limit, max_bytes };
        let seqs: Vec<u64> = store.rows("s", page).unwrap().iter().map(|row| row.seq).collect();
        assert_eq!(seqs, expected, "{page:?}");
    }
}

#[test]
fn sessions_do_not_see_each_others_events() {
    let (_folder, store) = with_session();
    store.create(crate::fixture::new("t")).unwrap();
    append(&store, "t", events("t", 1..=3), Update::default()).unwrap();
    append(&store, "s", events("s", 1..=2), Update::default()).unwrap();
    for (session, expected) in [("s", 2), ("t", 3)] {
        let page = store.page(session, ALL).unwrap();
        assert_eq!(page.len(), expected);
        assert!(page.iter().all(|event| event.session == session));
    }
}
