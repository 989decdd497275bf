//! `load abuse`: clients that send malformed, too many, too slow or no bytes. None may get a 5xx or hang the server,
//! memory must stay constant, and a healthy client must be served throughout.

mod frames;
mod healthy;
mod raw;
mod slow;

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use clap::Args;
use serde_json::json;
use switchboard_testkit::{
    dice::SeededRng,
    load::{RunningServer, TestApiClient, free_port},
};

use self::healthy::HealthyClient;
use super::house::ServerProgramArgs;
use crate::commands::print_line;

/// Send a server nonsense, too much and too slowly, and check that a healthy client does not notice
#[derive(Args)]
pub struct LoadAbuseArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    /// How many bad requests
    #[arg(long, default_value_t = 1_000)]
    requests: u32,
    /// How many bad conversations over WebSocket
    #[arg(long, default_value_t = 1_000)]
    frames: u32,
    /// How many connections that are slow or idle
    #[arg(long, default_value_t = 2_000)]
    slow: u32,
    /// For how many seconds they are, each of four times
    #[arg(long, default_value_t = 10)]
    slow_for: u64,
    /// Chance; the same seed does the same
    #[arg(long)]
    seed: Option<u64>,
}

/// Every round must need as much memory as the one before.
const ABUSE_ROUNDS: u32 = 4;

/// Allowed memory growth between the second and the last round.
const MAX_MEMORY_GROWTH_KB: u64 = 24 << 10;

const MAX_HEALTHY_DELAY: Duration = Duration::from_secs(3);

/// Time within which a malformed request is answered or its connection closed.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

pub struct AbuseTargets {
    pub ended: String,
    /// A session that waits for an approval.
    pub open: String,
}

pub fn run(args: &LoadAbuseArgs) -> anyhow::Result<()> {
    // Any seed works: this one differs between runs.
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let house = args.program.create_stage()?;
    let served = house.start_server(free_port()?, &[])?;
    let (over, healthy) = (AtomicBool::new(false), HealthyClient::default());
    let result = thread::scope(|scope| {
        let beside = scope.spawn(|| healthy.run(&served.api, &over));
        let abused = abuse_server(&served, args, seed).with_context(|| format!("from seed {seed}"));
        over.store(true, Ordering::Release);
        let beside = beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        abused.and_then(|abused| beside.context("the healthy client").map(|()| abused))
    });
    let (first, last) = result.with_context(|| house.log_tail())?;
    let slowest = healthy.slowest_session();
    print_line(
        &json!({ "seed": seed, "requests": args.requests, "frames": args.frames, "slow": args.slow,
        "memory_first_kb": first, "memory_last_kb": last, "healthy": healthy.session_count(),
        "healthy_slowest_ms": slowest.as_millis() })
        .to_string(),
    );
    ensure!(last < first + MAX_MEMORY_GROWTH_KB, "memory grew from {first} to {last} kB");
    ensure!(slowest < MAX_HEALTHY_DELAY, "a healthy client had to wait {slowest:?}");
    let stopped = served.stop()?;
    ensure!(stopped < Duration::from_secs(10), "the server took {stopped:?} to end");
    Ok(())
}

/// Returns the memory after the second round and after the last.
fn abuse_server(served: &RunningServer, args: &LoadAbuseArgs, seed: u64) -> anyhow::Result<(u64, u64)> {
    let targets = start_targets(&served.api)?;
    let round = |dice: &mut SeededRng| -> anyhow::Result<u64> {
        (0..args.requests / ABUSE_ROUNDS).try_for_each(|number| {
            raw::send_malformed(&served.api, &targets, dice).with_context(|| format!("request {number}"))
        })?;
        (0..args.frames / ABUSE_ROUNDS).try_for_each(|number| {
            frames::run_conversation(&served.api, &targets, dice).with_context(|| format!("conversation {number}"))
        })?;
        slow::run_slow_clients(&served.api, &targets, args.slow, Duration::from_secs(args.slow_for), dice)?;
        settled_memory_kb(served)
    };
    let mut dice = SeededRng::new(seed);
    let memory = (0..ABUSE_ROUNDS).map(|_| round(&mut dice)).collect::<anyhow::Result<Vec<_>>>()?;
    // The first round fills buffers and caches.
    Ok((memory.get(1).copied().unwrap_or_default(), memory.last().copied().unwrap_or_default()))
}

fn start_targets(api: &TestApiClient) -> anyhow::Result<AbuseTargets> {
    let ended = api.start_session("script", "text hello\nburst 200")?;
    api.wait_for_end(&ended, Duration::from_secs(20))?;
    Ok(AbuseTargets { ended, open: api.start_session("script", "text hello\napprove touch x")? })
}

/// Returns the memory once it no longer shrinks.
fn settled_memory_kb(served: &RunningServer) -> anyhow::Result<u64> {
    let (mut last, began) = (served.memory_usage()?.now, Instant::now());
    loop {
        thread::sleep(Duration::from_millis(300));
        let now = served.memory_usage()?.now;
        if now >= last || began.elapsed() > Duration::from_secs(5) {
            return Ok(now);
        }
        last = now;
    }
}

/// Returns whether the server closed the connection, which is a valid reaction.
pub fn is_connection_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
}
