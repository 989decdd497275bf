//! No room: said to whom it concerns, and nothing else is harmed.

use std::sync::mpsc::channel;

use switchboard_store::{Batch, Log as _, Options, State, Store, StoreError, Update};

use crate::fixture::{append, chunk, event, events, folder, new, owner, seqs};

#[test]
fn without_room_a_batch_fails_alone_and_the_log_goes_on() {
    let folder = folder();
    let options = Options { owner: Some(owner(1)), max_bytes: Some(400_000), ..Options::default() };
    let store = Store::open(folder.path(), &options).unwrap();
    for session in ["old", "s", "t"] {
        store.create(new(session)).unwrap();
    }
    let long = "x".repeat(200_000);
    let done = Update { state: Some(State::Done), ..Update::default() };
    append(&store, "old", vec![event("old", 1, &long)], done).unwrap();

    // All three are in the queue before the first is written, so they are one group.
    let blocker = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (send, receive) = channel();
    let big = (1..=3).map(|seq| event("t", seq, &long)).collect();
    for (session, events) in [("s", events("s", 1..=2)), ("t", big), ("s", events("s", 3..=4))] {
        let send = send.clone();
        let done = Box::new(move |outcome| send.send(outcome).unwrap());
        store.append(Batch { session: session.into(), events: chunk(events), update: Update::default(), done });
    }
    blocker.execute_batch("COMMIT").unwrap();
    let outcomes: Vec<_> = receive.iter().take(3).collect();
    assert!(matches!(outcomes[..], [Ok(()), Err(StoreError::Full), Ok(())]), "{outcomes:?}");
    assert_eq!((seqs(&store, "s"), seqs(&store, "t")), (vec![1, 2, 3, 4], vec![]));

    let one = || vec![event("t", 1, &long)];
    assert!(matches!(append(&store, "t", one(), Update::default()), Err(StoreError::Full)));
    store.delete("old").unwrap();
    append(&store, "t", one(), Update::default()).unwrap();
    let sound: String = blocker.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}
