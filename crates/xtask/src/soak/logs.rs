//! `soak logs`: a large corpus compared with a small one. Time grows linearly, memory stays constant, and every token
//! is counted.

use anyhow::ensure;
use clap::Args;

use crate::{
    bench::{
        logs::{
            corpus::{BenchCorpus, create_empty_directory, directory_bytes},
            ours::{logs_command, sum_tokens},
            timed::{run_measuring_memory, run_timed},
        },
        programs::build_release,
    },
    print_line,
    process::{cargo_command, run_program},
};

/// Index a mountain of logs: time grows as the logs do, and memory does not
#[derive(Args)]
pub struct LogsSoak {
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

pub fn run(args: &LogsSoak) -> anyhow::Result<()> {
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
