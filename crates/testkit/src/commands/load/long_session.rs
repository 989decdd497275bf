//! `load returns`: a long session, the memory that it leaves behind, and how soon one who comes back to its end is
//! served: while the server still knows it, and when it has started anew.

use std::{
    io::Write as _,
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::Args;
use serde_json::json;
use switchboard_dialects::DIALECTS;
use switchboard_testkit::load::{
    FeedOrigin, FeedReader, FeedTransport, LoadFeed, ReaderBehavior, RunningServer, TestApiClient, free_port,
};

use super::{FeedArgs, ServerProgramArgs, verbatim_dialect};
use crate::commands::print_line;

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

/// Maximum change of the memory within [`SETTLING`].
const MAX_STEADY_CHANGE_KB: u64 = 512;

/// How long the memory is watched, and the time for it to become steady.
const SETTLE_INTERVAL: Duration = Duration::from_secs(2);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(300);

const WEBSOCKET_UPGRADE_HEADERS: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

pub fn run(args: &LoadStalledArgs) -> anyhow::Result<()> {
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
