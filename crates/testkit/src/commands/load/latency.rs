//! The time until messages arrive, sessions start and a long session is shown again, and a client that stalls.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use switchboard_dialects::DIALECTS;

use super::{FeedArgs, ServerProgramArgs, verbatim_dialect};
use crate::commands::print_line;
use switchboard_testkit::load::{
    FeedEnd, FeedOrigin, FeedReader, FeedTransport, LoadFeed, ReaderBehavior, RunningServer, TestApiClient,
    embedded_time, free_port, unix_nanos,
};

/// Measure how long messages take at a steady pace
#[derive(Args)]
pub struct LoadDelaysArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    #[command(flatten)]
    stream: FeedArgs,
    /// How many deltas the agent writes
    #[arg(long, default_value_t = 10_000)]
    deltas: u64,
    /// How many of them a second
    #[arg(long, default_value_t = 1_000)]
    rate: u32,
}

pub fn run_delays(args: &LoadDelaysArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let served = house.start_server(free_port()?, &[])?;
    let session = served.api.start_session(house.agent, &format!("flood {} {}", args.deltas, args.rate))?;
    let dialect = args.stream.find_dialect()?;
    let mut feed = LoadFeed::open(&served.api, args.stream.transport(), &session, dialect.name, FeedOrigin::Start)?;
    let delays = collect_delays(&mut feed, args.deltas)?;
    ensure!(delays.len() as u64 >= args.deltas, "{} deltas of {} came", delays.len(), args.deltas);
    print_line(&delay_report(delays).to_string());
    served.stop()?;
    Ok(())
}

/// Returns the delays of all messages with a timestamp.
fn collect_delays(feed: &mut LoadFeed, most: u64) -> anyhow::Result<Vec<u64>> {
    let mut delays = Vec::new();
    loop {
        // Messages that repeat the whole text contain many timestamps.
        let end = feed.next(&mut |message| {
            let heard = unix_nanos();
            if message.text.len() < 4_096 && (delays.len() as u64) < most {
                delays.extend(embedded_time(message.text).map(|said| heard.saturating_sub(said)));
            }
        })?;
        match end {
            None => {}
            Some(FeedEnd::Closed(None | Some(1000))) => return Ok(delays),
            Some(end) => bail!("the stream ended with {end:?}"),
        }
    }
}

/// Returns percentiles in milliseconds.
pub fn delay_report(mut delays: Vec<u64>) -> Value {
    delays.sort_unstable();
    let at = |share: usize| delays.get(delays.len() * share / 1000).copied().unwrap_or_default();
    let last = delays.last().copied().context("nothing").unwrap_or_default();
    json!({ "messages": delays.len(), "p50_ms": nanos_to_milliseconds(at(500)), "p90_ms": nanos_to_milliseconds(at(900)),
        "p99_ms": nanos_to_milliseconds(at(990)), "p999_ms": nanos_to_milliseconds(at(999)), "most_ms": nanos_to_milliseconds(last) })
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn nanos_to_milliseconds(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Measure how soon the server answers, and its memory while idle
#[derive(Args)]
pub struct LoadStartsArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    /// How often it is started
    #[arg(long, default_value_t = 20)]
    times: u32,
    /// How many seconds it does nothing before its memory is read
    #[arg(long, default_value_t = 3)]
    idle: u64,
}

/// Every start finds an empty data directory; the last server keeps running for a while.
pub fn run_starts(args: &LoadStartsArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let mut times = Vec::new();
    for _ in 0..args.times {
        fs::remove_dir_all(house.stage.data_dir())?;
        fs::create_dir(house.stage.data_dir())?;
        let served = house.start_server(free_port()?, &[])?;
        times.push(served.ready.as_secs_f64() * 1e3);
        served.stop()?;
    }
    times.sort_by(f64::total_cmp);
    let served = house.start_server(free_port()?, &[])?;
    let again = served.ready.as_secs_f64() * 1e3;
    thread::sleep(Duration::from_secs(args.idle));
    let memory = served.memory_usage()?;
    let (least, middle) = (times.first().context("never started")?, times.get(times.len() / 2).context("never")?);
    print_line(
        &json!({ "least_ms": least, "median_ms": middle, "most_ms": times.last(), "again_ms": again,
        "idle_kb": memory.now })
        .to_string(),
    );
    served.stop()?;
    Ok(())
}

/// Come back to the end of a very long session
#[derive(Args)]
pub struct LoadReturnsArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    #[command(flatten)]
    stream: FeedArgs,
    /// How many deltas the session has
    #[arg(long, default_value_t = 1_000_000)]
    deltas: u64,
}

/// How many events before the last the reader has seen.
const EVENTS_BEFORE_END: u64 = 10;

/// Runs the command.
pub fn run_returns(args: &LoadReturnsArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let served = house.start_server(free_port()?, &[])?;
    let session = served.api.start_session(house.agent, &format!("burst {}", args.deltas))?;
    let (dialect, manner) = (verbatim_dialect()?, ReaderBehavior::default());
    let read =
        FeedReader { api: &served.api, wire: FeedTransport::WebSocket, session: &session, dialect, manner }.run()?;
    ensure!(read.tally.gaps == 0, "{} gaps", read.tally.gaps);
    served.api.wait_for_end(&session, Duration::from_secs(60))?;
    let (memory, after) = (served.memory_usage()?, read.tally.seq - EVENTS_BEFORE_END);
    let (cold, first) = time_first_message(&served.api, args, &session, after)?;
    let (warm, again) = time_first_message(&served.api, args, &session, after)?;
    served.stop()?;
    let served = house.start_server(free_port()?, &[])?;
    let start = served.ready;
    let (anew, third) = time_first_message(&served.api, args, &session, after)?;
    ensure!(first == again && again == third, "the messages differ");
    let returned = served.memory_usage()?;
    print_line(
        &json!({ "last_seq": read.tally.seq, "memory_kb": memory.now, "memory_peak_kb": memory.peak,
        "first_ms": to_milliseconds(cold), "again_ms": to_milliseconds(warm), "after_restart_ms": to_milliseconds(anew),
        "restart_ms": to_milliseconds(start), "memory_after_return_kb": returned.now })
        .to_string(),
    );
    served.stop()?;
    Ok(())
}

/// How long the first message takes, and which it is.
fn time_first_message(
    api: &TestApiClient,
    args: &LoadReturnsArgs,
    session: &str,
    after: u64,
) -> anyhow::Result<(Duration, Vec<u8>)> {
    let (began, mut first) = (Instant::now(), Vec::new());
    let mut feed = LoadFeed::open(
        api,
        args.stream.transport(),
        session,
        args.stream.find_dialect()?.name,
        FeedOrigin::Event(after),
    )?;
    let end = feed.next(&mut |message| first = message.text.to_vec())?;
    let time = began.elapsed();
    ensure!(end.is_none(), "there was no message behind event {after}: {end:?}");
    Ok((time, first))
}

fn to_milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Have many readers of a long session that read nothing
#[derive(Args)]
pub struct LoadStalledArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    /// How many deltas the session has
    #[arg(long, default_value_t = 2_000_000)]
    deltas: u64,
    /// How many clients there are in each round
    #[arg(long, default_value_t = 200)]
    readers: usize,
    /// How many rounds there are
    #[arg(long, default_value_t = 3)]
    rounds: u32,
}

/// Maximum change of the memory within [`SETTLE_INTERVAL`].
const MAX_STEADY_CHANGE_KB: u64 = 512;

/// How long the memory is watched, and the time for it to become steady.
const SETTLE_INTERVAL: Duration = Duration::from_secs(2);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(300);

const WEBSOCKET_UPGRADE_HEADERS: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

pub fn run_stalled(args: &LoadStalledArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let served = house.start_server(free_port()?, &[])?;
    let session = served.api.start_session(house.agent, &format!("burst {}", args.deltas))?;
    served.api.wait_for_end(&session, Duration::from_secs(600))?;
    served.stop()?;
    // A fresh server.
    let served = house.start_server(free_port()?, &["--rate-limit", "0"])?;
    let before = settled_memory_kb(&served)?;
    let mut added = Vec::new();
    for _ in 0..args.rounds {
        let clients: Vec<_> = (0..args.readers)
            .map(|number| open_stalled_client(&served.api, &session, number))
            .collect::<anyhow::Result<_>>()?;
        added.push(settled_memory_kb(&served)?.saturating_sub(before));
        drop(clients);
    }
    let peak = served.memory_usage()?.peak.saturating_sub(before);
    print_line(
        &json!({ "readers": args.readers, "deltas": args.deltas, "before_kb": before, "added_kb": added,
        "added_peak_kb": peak })
        .to_string(),
    );
    served.stop()?;
    Ok(())
}

/// Opens a client that reads nothing, over both transports and in every dialect.
fn open_stalled_client(api: &TestApiClient, session: &str, number: usize) -> anyhow::Result<TcpStream> {
    let dialect = DIALECTS.get(number / 2 % DIALECTS.len()).map_or("", |dialect| dialect.name);
    let head = match number % 2 {
        0 => api.request_head("GET", &format!("/api/sessions/{session}/stream?dialect={dialect}"), ""),
        _ => api.request_head("GET", &format!("/ws/sessions/{session}?dialect={dialect}"), WEBSOCKET_UPGRADE_HEADERS),
    };
    let mut stream = TcpStream::connect(("127.0.0.1", api.port))?;
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}

/// Returns the memory of a server once it no longer changes.
fn settled_memory_kb(served: &RunningServer) -> anyhow::Result<u64> {
    let (began, mut last) = (Instant::now(), 0);
    loop {
        thread::sleep(SETTLE_INTERVAL);
        let now = served.memory_usage()?.now;
        if now.abs_diff(last) <= MAX_STEADY_CHANGE_KB {
            return Ok(now);
        }
        ensure!(began.elapsed() < SETTLE_TIMEOUT, "the memory of the server still changes: {last} kB, then {now} kB");
        last = now;
    }
}
