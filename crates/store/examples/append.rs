//! Measures appending and reading: `cargo run --release -p switchboard-store --example append [DIRECTORY]`. Without an
//! argument it uses a temporary directory. Not a test: the results depend on the disk.

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
use switchboard_store::{
    EventBatch, EventChunk, LogOwner, NewSession, PageQuery, ProcessIdentity, SessionLog as _, SessionPatch,
    SqliteStore, StoreError, StoreOptions,
};

type BenchResult<T> = Result<T, Box<dyn Error>>;

/// The maximum number of batches that are not committed yet.
const MAX_PENDING_BATCHES: usize = 64;

fn main() -> BenchResult<()> {
    let temporary = tempfile::tempdir()?;
    let folder = std::env::args().nth(1).map_or_else(|| temporary.path().to_owned(), Into::into);
    for durable in [false, true] {
        writeln!(stdout(), "durable: {durable}")?;
        let store = open_store(&folder.join(if durable { "durable" } else { "normal" }), durable)?;
        for (size, rows) in [(1, 20_000), (16, 200_000), (256, 400_000), (1_024, 400_000)] {
            measure_throughput(&store, size, if durable { rows / 10 } else { rows })?;
        }
        measure_latency(&store, Duration::ZERO, 1_000)?;
        measure_latency(&store, Duration::from_millis(1), 2_000)?;
    }
    Ok(())
}

fn open_store(folder: &Path, durable: bool) -> BenchResult<SqliteStore> {
    let process = ProcessIdentity { pid: std::process::id(), start: 0 };
    let owner = Some(LogOwner { process, boot: "here".into() });
    Ok(SqliteStore::open(folder, &StoreOptions { durable, owner, max_bytes: None })?)
}

/// Appends as fast as possible, then reads everything back.
fn measure_throughput(store: &SqliteStore, size: u64, rows: u64) -> BenchResult<()> {
    let session = create_session(store, &format!("many-{size}-{}", std::process::id()))?;
    let batches: Vec<_> =
        (0..rows / size).map(|batch| make_events(&session, batch * size + 1, size)).collect::<Result<_, _>>()?;
    let (send, done) = channel();
    let (start, busy) = (Instant::now(), writer_cpu_time());
    let count = batches.len();
    for (number, events) in batches.into_iter().enumerate() {
        append_events(store, &session, events, &send);
        if number >= MAX_PENDING_BATCHES {
            done.recv()??;
        }
    }
    done.iter().take(count.min(MAX_PENDING_BATCHES)).collect::<Result<Vec<()>, _>>()?;
    print_rate(&format!("append, {size} a batch"), count as u64 * size, start.elapsed())?;
    let row = (writer_cpu_time() - busy) / u32::try_from(rows)?;
    writeln!(stdout(), "  append, {size} a batch: CPU time of the writer thread: {row:?} per event")?;
    measure_reads(store, &session)
}

/// Returns the CPU time of the writer thread: on a busy machine a better figure than the elapsed time. Zero where the
/// system does not report it.
fn writer_cpu_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(|task| task.path());
    let nanos = tasks.filter_map(|task| {
        let name = std::fs::read_to_string(task.join("comm")).ok().filter(|name| name.trim() == "log");
        let times = std::fs::read_to_string(task.join("schedstat")).ok().filter(|_| name.is_some())?;
        times.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// Appends one event after another, each after the previous commit, and measures the latency.
fn measure_latency(store: &SqliteStore, pause: Duration, rows: u64) -> BenchResult<()> {
    let session = create_session(store, &format!("paced-{}-{}", pause.as_millis(), std::process::id()))?;
    let (send, done) = channel();
    let mut times = Vec::new();
    for seq in 1..=rows {
        let event = make_events(&session, seq, 1)?;
        let start = Instant::now();
        append_events(store, &session, event, &send);
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

fn measure_reads(store: &SqliteStore, session: &str) -> BenchResult<()> {
    for parsed in [false, true] {
        let (mut after, start) = (0, Instant::now());
        loop {
            let page = PageQuery { after, limit: 1_000, max_bytes: 1 << 20, kinds: &[] };
            let last = if parsed {
                store.read_events(session, page)?.last().map(|event| event.seq)
            } else {
                store.read_rows(session, page)?.last().map(|row| row.seq)
            };
            let Some(last) = last else { break };
            after = last;
        }
        print_rate(if parsed { "read, as events" } else { "read, as text" }, after, start.elapsed())?;
    }
    Ok(())
}

fn create_session(store: &SqliteStore, id: &str) -> BenchResult<String> {
    store.create_session(NewSession {
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

/// Creates events of about 490 bytes.
fn make_events(session: &str, first: u64, size: u64) -> BenchResult<Arc<EventChunk>> {
    let event = |seq| {
        let record = format!(r#"{{"type":"delta","index":{seq},"text":"{}"}}"#, "word ".repeat(24));
        let text = format!(
            r#"{{"seq":{seq},"session":"{session}","at":"2026-01-01T00:00:00Z","agent":"echo","run":1,"turn":1,"item":"item_1","kind":"item.delta","data":{{"op":"append","field":"text","part":0,"text":"words of it"}},"dir":"in","native":{record}}}"#
        );
        Ok(Event::from_json(&text)?)
    };
    let events = (first..first + size).map(event).collect::<BenchResult<Vec<_>>>()?;
    Ok(Arc::new(EventChunk::try_from(events)?))
}

fn append_events(store: &SqliteStore, session: &str, events: Arc<EventChunk>, done: &Sender<Result<(), StoreError>>) {
    let done = done.clone();
    let done = Box::new(move |outcome| drop(done.send(outcome)));
    store.append_batch(EventBatch { session: session.into(), events, update: SessionPatch::default(), done });
}

fn print_rate(what: &str, rows: u64, time: Duration) -> BenchResult<()> {
    let per_second = u128::from(rows) * 1_000_000_000 / time.as_nanos().max(1);
    writeln!(stdout(), "  {what}: {per_second} a second ({rows})")?;
    Ok(())
}
