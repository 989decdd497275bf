//! `soak`: endless sessions, many concurrent ones, a server that is killed repeatedly, large logs, and a page that
//! watches for minutes. The test kit does most of it.

use anyhow::ensure;
use clap::{Args, Subcommand};

use crate::bench::build_release;
use crate::bench::logs::corpus::{BenchCorpus, create_empty_directory, directory_bytes};
use crate::bench::logs::own_index::{logs_command, sum_tokens};
use crate::bench::logs::timed::{run_measuring_memory, run_timed};
use crate::browser::release_command;
use crate::load::{BuildProfile, run_cases};
use crate::print_line;
use crate::process::{cargo_command, fast_testkit_command, run_program};

/// Run endless sessions, a crowd of sessions, a server that is killed at random moments, a mountain of logs, and a page
/// that watches a busy session
///
/// Without a subcommand, all of it.
#[derive(Args)]
pub struct SoakTask {
    #[command(subcommand)]
    part: Option<SoakPart>,
}

#[derive(Subcommand)]
enum SoakPart {
    Streams(StreamSoak),
    Serve(ServerSoak),
    Logs(LogsSoak),
    Board(BoardSoak),
}

/// Run endless sessions of all sources through all dialects, and check that memory stays flat
#[derive(Args)]
struct StreamSoak {
    /// For how long
    #[arg(long, default_value_t = 5)]
    minutes: u64,
}

/// Open a crowd of sessions at a server; then kill it again and again, and check what is left
#[derive(Args)]
struct ServerSoak {
    /// How many sessions are open at once, each with a client
    #[arg(long, default_value_t = 1_000)]
    sessions: u32,
    /// How many of them run a fake agent
    #[arg(long, default_value_t = 200)]
    agents: u32,
    /// How often the server is killed
    #[arg(long, default_value_t = 100)]
    kills: u32,
    /// How many sessions it has each time
    #[arg(long, default_value_t = 20)]
    sessions_a_kill: u32,
    /// Chance; the same seed does the same
    #[arg(long)]
    seed: Option<u64>,
}

pub fn run_soak(args: &SoakTask) -> anyhow::Result<()> {
    match &args.part {
        Some(SoakPart::Streams(args)) => soak_streams(args.minutes),
        Some(SoakPart::Serve(args)) => soak_server(args),
        Some(SoakPart::Logs(args)) => run_logs_soak(args),
        Some(SoakPart::Board(args)) => soak_board(args),
        None => {
            soak_streams(5)?;
            soak_server(&ServerSoak { sessions: 1_000, agents: 200, kills: 100, sessions_a_kill: 20, seed: None })?;
            run_logs_soak(&LogsSoak::default())?;
            soak_board(&BoardSoak::default())
        }
    }
}

fn soak_streams(minutes: u64) -> anyhow::Result<()> {
    run_program(&mut fast_testkit_command(&["soak", "--minutes", &minutes.to_string()])?)
}

fn soak_server(args: &ServerSoak) -> anyhow::Result<()> {
    let [sessions, agents, kills, each] =
        [args.sessions, args.agents, args.kills, args.sessions_a_kill].map(|number| number.to_string());
    let seed = args.seed.map(|seed| seed.to_string());
    let mut crash = vec!["crash", "--kills", &kills, "--sessions", &each];
    crash.extend(seed.iter().flat_map(|seed| ["--seed", seed]));
    run_cases(BuildProfile::Release, &[&["crowd", "--sessions", &sessions, "--agents", &agents], &crash])
}

/// Watch a busy session in a real browser, and check that neither the page nor the server grows
#[derive(Args)]
struct BoardSoak {
    /// For how long
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// How many events a second
    #[arg(long, default_value_t = 1_000)]
    rate: u64,
}

impl Default for BoardSoak {
    fn default() -> Self {
        Self { minutes: 10.0, rate: 1_000 }
    }
}

fn soak_board(args: &BoardSoak) -> anyhow::Result<()> {
    let (minutes, rate) = (args.minutes.to_string(), args.rate.to_string());
    run_program(&mut release_command(&["soak", "--minutes", &minutes, "--rate", &rate])?)
}

/// Index a mountain of logs: time grows as the logs do, and memory does not
#[derive(Args)]
struct LogsSoak {
    /// How many megabytes of logs
    #[arg(long, default_value_t = 10_000)]
    size: u64,
    /// Chance; the same seed writes the same logs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Leave the logs where they are
    #[arg(long)]
    keep: bool,
}

/// The small corpus is this fraction of the large one.
const SMALL_CORPUS_DIVISOR: u64 = 10;

/// Allowed slowdown per byte: disks and caches are not linear.
const MAX_SLOWDOWN_FACTOR: f64 = 2.0;

const MAX_MEMORY_GROWTH_MB: f64 = 100.0;

impl Default for LogsSoak {
    fn default() -> Self {
        Self { size: 10_000, seed: 1, keep: false }
    }
}

struct LogScanCost {
    ms_a_megabyte: f64,
    memory: f64,
}

fn run_logs_soak(args: &LogsSoak) -> anyhow::Result<()> {
    build_release()?;
    run_program(&mut cargo_command(&["build", "--release", "--package", "switchboard-testkit"]))?;
    let hill = scan_corpus(args, args.size / SMALL_CORPUS_DIVISOR)?;
    let mountain = scan_corpus(args, args.size)?;
    ensure!(
        mountain.ms_a_megabyte <= hill.ms_a_megabyte * MAX_SLOWDOWN_FACTOR,
        "a megabyte takes {:.2} ms of {} MB, and {:.2} ms of {} MB",
        hill.ms_a_megabyte,
        args.size / SMALL_CORPUS_DIVISOR,
        mountain.ms_a_megabyte,
        args.size
    );
    ensure!(
        mountain.memory <= hill.memory + MAX_MEMORY_GROWTH_MB,
        "memory grew from {:.0} MB to {:.0} MB",
        hill.memory,
        mountain.memory
    );
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "shown to people")]
fn scan_corpus(args: &LogsSoak, megabytes: u64) -> anyhow::Result<LogScanCost> {
    let corpus = BenchCorpus::find_or_write(megabytes, megabytes * 3 / 5, args.seed)?;
    let data = create_empty_directory("soak")?;
    let (ms, memory) = run_measuring_memory(&mut logs_command(&corpus, &data, &["scan"]))?;
    let usage = run_timed(&mut logs_command(&corpus, &data, &["usage", "--json"]))?;
    let (tokens, truth) = (sum_tokens(&usage.said), corpus.truth.all.total_tokens());
    let read = corpus.truth.bytes as f64 / 1e6;
    print_line(&format!(
        "soak: {read:.0} MB indexed in {:.1} s ({:.0} MB/s) with {memory:.0} MB of memory into {} MB; usage then takes {:.0} ms",
        ms / 1e3,
        read / ms * 1e3,
        directory_bytes(&data) / 1_000_000,
        usage.ms
    ));
    if !args.keep {
        corpus.remove()?;
    }
    std::fs::remove_dir_all(data)?;
    ensure!(tokens == truth, "{tokens} tokens were counted, {truth} there are");
    Ok(LogScanCost { ms_a_megabyte: ms / read, memory })
}
