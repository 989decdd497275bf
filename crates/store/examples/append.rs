//! Measures appending and reading, by hand: `cargo run --release -p switchboard-store --example append [FOLDER]`.
//! Without a folder it takes one in the temp folder. Not a test: what is fast depends on the disk.

use std::{
    error::Error,
    io::{Write as _, stdout},
    path::Path,
    sync::{
        Arc,
        mpsc::{Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use switchboard_event::{Event, SessionConfig, Timestamp};
use switchboard_store::{Batch, Chunk, Log as _, NewSession, Options, Owner, Page, Process, Store, StoreError, Update};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// So many batches may be undone.
const UNDONE: usize = 64;

fn main() -> Outcome<()> {
    let temporary = tempfile::tempdir()?;
    let folder = std::env::args().nth(1).map_or_else(|| temporary.path().to_owned(), Into::into);
    for durable in [false, true] {
        writeln!(stdout(), "durable: {durable}")?;
        let store = open(&folder.join(if durable { "durable" } else { "normal" }), durable)?;
        for (size, rows) in [(1, 20_000), (16, 200_000), (256, 400_000), (1_024, 400_000)] {
            many(&store, size, if durable { rows / 10 } else { rows })?;
        }
        paced(&store, Duration::ZERO, 1_000)?;
        paced(&store, Duration::from_millis(1), 2_000)?;
    }
    Ok(())
}

fn open(folder: &Path, durable: bool) -> Outcome<Store> {
    let process = Process { pid: std::process::id(), start: 0 };
    let owner = Some(Owner { process, boot: "here".into() });
    Ok(Store::open(folder, &Options { durable, owner, max_bytes: None })?)
}

/// As fast as it goes, then all of it read back.
fn many(store: &Store, size: u64, rows: u64) -> Outcome<()> {
    let session = create(store, &format!("many-{size}-{}", std::process::id()))?;
    let batches: Vec<_> =
        (0..rows / size).map(|batch| events(&session, batch * size + 1, size)).collect::<Result<_, _>>()?;
    let (send, done) = channel();
    let (start, busy) = (Instant::now(), busy());
    let count = batches.len();
    for (number, events) in batches.into_iter().enumerate() {
        append(store, &session, events, &send);
        if number >= UNDONE {
            done.recv()??;
        }
    }
    done.iter().take(count.min(UNDONE)).collect::<Result<Vec<()>, _>>()?;
    rate(&format!("append, {size} a batch"), count as u64 * size, start.elapsed())?;
    let row = (self::busy() - busy) / u32::try_from(rows)?;
    writeln!(stdout(), "  append, {size} a batch: the thread that writes works {row:?} for each")?;
    read(store, &session)
}

/// How long the thread that writes has worked: on a machine that does other things too, a better figure than the time
/// that it took. Zero where the system does not say.
fn busy() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(|task| task.path());
    let nanos = tasks.filter_map(|task| {
        let name = std::fs::read_to_string(task.join("comm")).ok().filter(|name| name.trim() == "log");
        let times = std::fs::read_to_string(task.join("schedstat")).ok().filter(|_| name.is_some())?;
        times.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// One event after another, each when the last is done; how long until it is done.
fn paced(store: &Store, pause: Duration, rows: u64) -> Outcome<()> {
    let session = create(store, &format!("paced-{}-{}", pause.as_millis(), std::process::id()))?;
    let (send, done) = channel();
    let mut times = Vec::new();
    for seq in 1..=rows {
        let event = events(&session, seq, 1)?;
        let start = Instant::now();
        append(store, &session, event, &send);
        done.recv()??;
        times.push(start.elapsed());
        thread::sleep(pause);
    }
    times.sort();
    let at = |share: usize| times.get(times.len() * share / 1_000).copied().unwrap_or_default();
    let (half, most, worst) = (at(500), at(990), times.last().copied().unwrap_or_default());
    writeln!(stdout(), "  one at a time, pause {pause:?}: p50 {half:?}, p99 {most:?}, worst {worst:?}")?;
    Ok(())
}

fn read(store: &Store, session: &str) -> Outcome<()> {
    for parsed in [false, true] {
        let (mut after, start) = (0, Instant::now());
        loop {
            let page = Page { after, limit: 1_000, max_bytes: 1 << 20 };
            let last = if parsed {
                store.page(session, page)?.last().map(|event| event.seq)
            } else {
                store.rows(session, page)?.last().map(|row| row.seq)
            };
            let Some(last) = last else { break };
            after = last;
        }
        rate(if parsed { "read, as events" } else { "read, as text" }, after, start.elapsed())?;
    }
    Ok(())
}

fn create(store: &Store, id: &str) -> Outcome<String> {
    store.create(NewSession {
        id: id.into(),
        agent: "echo".into(),
        created: Timestamp::default(),
        config: SessionConfig::default(),
        prompt: String::new(),
        cwd: String::new(),
        project: None,
    })?;
    Ok(id.to_owned())
}

/// Events of about 490 bytes.
fn events(session: &str, first: u64, size: u64) -> Outcome<Arc<Chunk>> {
    let event = |seq| {
        let record = format!(r#"{{"type":"delta","index":{seq},"text":"{}"}}"#, "word ".repeat(24));
        let text = format!(
            r#"{{"seq":{seq},"session":"{session}","at":"2026-01-01T00:00:00Z","agent":"echo","run":1,"turn":1,"item":"item_1","kind":"item.delta","data":{{"op":"append","field":"text","part":0,"text":"words of it"}},"dir":"in","native":{record}}}"#
        );
        Ok(Event::from_json(&text)?)
    };
    let events = (first..first + size).map(event).collect::<Outcome<Vec<_>>>()?;
    Ok(Arc::new(Chunk::try_from(events)?))
}

fn append(store: &Store, session: &str, events: Arc<Chunk>, done: &Sender<Result<(), StoreError>>) {
    let done = done.clone();
    let done = Box::new(move |outcome| drop(done.send(outcome)));
    store.append(Batch { session: session.into(), events, update: Update::default(), done });
}

fn rate(what: &str, rows: u64, time: Duration) -> Outcome<()> {
    let per_second = u128::from(rows) * 1_000_000_000 / time.as_nanos().max(1);
    writeln!(stdout(), "  {what}: {per_second} a second ({rows})")?;
    Ok(())
}
