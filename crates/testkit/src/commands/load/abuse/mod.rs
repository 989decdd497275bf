//! `load abuse`: clients that send nonsense, too much, too slowly or nothing at all. None may get a 5xx or hang the
//! server, memory must stay where it is, and a healthy client beside them must be served all the time.

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
    dice::Dice,
    load::{Api, Served, free_port},
};

use self::healthy::Healthy;
use super::house::Program;
use crate::commands::say;

/// Send a server nonsense, too much and too slowly, and check that a healthy client does not notice
#[derive(Args)]
pub struct Abuse {
    #[command(flatten)]
    program: Program,
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

/// All is done so many times, and each time must need as much as the one before.
const ROUNDS: u32 = 4;

/// How much more memory may be in use in the end than after the second round, in kilobytes.
const GROWTH: u64 = 24 << 10;

/// The longest that a healthy client may wait for anything.
const HEALTHY: Duration = Duration::from_secs(3);

/// How long a bad client is answered within, or left.
pub const ANSWER: Duration = Duration::from_secs(10);

/// The sessions that are abused.
pub struct Targets {
    /// One that has ended.
    pub ended: String,
    /// One that waits for an approval.
    pub open: String,
}

/// Runs the command.
pub fn run(args: &Abuse) -> anyhow::Result<()> {
    // Any seed will do: this one differs from run to run.
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let house = args.program.house()?;
    let served = house.serve(free_port()?, &[])?;
    let (over, healthy) = (AtomicBool::new(false), Healthy::default());
    let result = thread::scope(|scope| {
        let beside = scope.spawn(|| healthy.run(&served.api, &over));
        let abused = abuse(&served, args, seed).with_context(|| format!("from seed {seed}"));
        over.store(true, Ordering::Release);
        let beside = beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        abused.and_then(|abused| beside.context("the healthy client").map(|()| abused))
    });
    let (first, last) = result.with_context(|| house.complaints())?;
    let slowest = healthy.slowest();
    say(&json!({ "seed": seed, "requests": args.requests, "frames": args.frames, "slow": args.slow,
        "memory_first_kb": first, "memory_last_kb": last, "healthy": healthy.served(),
        "healthy_slowest_ms": slowest.as_millis() })
    .to_string());
    ensure!(last < first + GROWTH, "memory grew from {first} to {last} kB");
    ensure!(slowest < HEALTHY, "a healthy client had to wait {slowest:?}");
    let stopped = served.stop()?;
    ensure!(stopped < Duration::from_secs(10), "the server took {stopped:?} to end");
    Ok(())
}

/// All of it; gives the memory after the second round, and in the end.
fn abuse(served: &Served, args: &Abuse, seed: u64) -> anyhow::Result<(u64, u64)> {
    let targets = targets(&served.api)?;
    let round = |dice: &mut Dice| -> anyhow::Result<u64> {
        (0..args.requests / ROUNDS).try_for_each(|number| {
            raw::one(&served.api, &targets, dice).with_context(|| format!("request {number}"))
        })?;
        (0..args.frames / ROUNDS).try_for_each(|number| {
            frames::one(&served.api, &targets, dice).with_context(|| format!("conversation {number}"))
        })?;
        slow::some(&served.api, &targets, args.slow, Duration::from_secs(args.slow_for), dice)?;
        settled(served)
    };
    let mut dice = Dice::new(seed);
    let memory = (0..ROUNDS).map(|_| round(&mut dice)).collect::<anyhow::Result<Vec<_>>>()?;
    // Buffers and caches are filled by the first round.
    Ok((memory.get(1).copied().unwrap_or_default(), memory.last().copied().unwrap_or_default()))
}

fn targets(api: &Api) -> anyhow::Result<Targets> {
    let ended = api.start("script", "text hello\nburst 200")?;
    api.ended(&ended, Duration::from_secs(20))?;
    Ok(Targets { ended, open: api.start("script", "text hello\napprove touch x")? })
}

/// The memory when nothing more changes, in kilobytes.
fn settled(served: &Served) -> anyhow::Result<u64> {
    let (mut last, began) = (served.memory()?.now, Instant::now());
    loop {
        thread::sleep(Duration::from_millis(300));
        let now = served.memory()?.now;
        if now >= last || began.elapsed() > Duration::from_secs(5) {
            return Ok(now);
        }
        last = now;
    }
}

/// The connection was ended by the server, which is a fair answer to nonsense.
pub fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
}
