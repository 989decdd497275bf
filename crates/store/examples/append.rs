//! Measures appending and reading, by hand: `cargo run --release -p switchboard-store --example append [FOLDER]`.
//! Without a folder it takes one in the temp folder. Not a test: what is fast depends on the disk.

use std::{
    error::Error,
    io::{Write as _, stdout},
    path::Path,
    sync::{
        Arc,
        mpsc::{channel, sync_channel},
    },
    time::{Duration, Instant},
};

use switchboard_event::{Event, SessionConfig, Timestamp};
use switchboard_store::{Batch, Change, Log as _, NewSession, Options, Owner, Page, Process, Store};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let temporary = tempfile::tempdir()?;
    let folder = std::env::args().nth(1).map_or_else(|| temporary.path().to_owned(), Into::into);
    for durable in [false, true] {
        let store = open(&folder.join(if durable { "durable" } else { "normal" }), durable)?;
        writeln!(stdout(), "durable: {durable}")?;
        for (size, rows) in [(1, 20_000), (16, 200_000), (256, 400_000)] {
            many(&store, size, if durable { rows / 10 } else { rows })?;
        }
        paced(&store, if durable { 500 } else { 3_000 })?;
    }
    Ok(())
}

fn open(folder: &Path, durable: bool) -> Outcome<Store> {
    let process = Process { pid: std::process::id(), start: 0 };
    let owner = Some(Owner { process, boot: "here".into() });
    Ok(Store::open(folder, &Options { durable, owner, max_bytes: None })?)
}

/// As fast as it goes, at most 64 batches undone; then all of it read back.
fn many(store: &Store, size: u64, rows: u64) -> Outcome<()> {
    let session = create(store, &format!("many-{size}"))?;
    let batches: Vec<Vec<Arc<Event>>> =
        (0..rows / size).map(|batch| events(&session, batch * size + 1, size)).collect::<Outcome<_>>()?;
    let (slots, free) = sync_channel::<()>(64);
    let start = Instant::now();
    for events in batches {
        slots.send(())?;
        let free_one = slots.clone();
        append(store, &session, events, move || drop(free_one));
        // A batch that is done frees a slot.
        while free.try_recv().is_ok() && store.session(&session).is_err() {}
    }
    let (send, done) = channel();
    append(store, &session, Vec::new(), move || drop(send.send(())));
    done.recv()?;
    rate(&format!("append, {size} a batch"), rows, start.elapsed())?;
    read(store, &session)
}
