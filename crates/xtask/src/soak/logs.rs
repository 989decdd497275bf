//! `soak logs`: a mountain of logs beside a hill of them. Reading takes as much longer as there is more, memory stays what
//! it was, and every token is counted.

use anyhow::ensure;
use clap::Args;

use crate::{
    bench::{
        logs::{
            corpus::{Corpus, new_folder, size},
            ours::{logs, total},
            timed::{timed, weighed},
        },
        programs::build,
    },
    process::{cargo, run as run_program},
    say,
};

/// Index a mountain of logs: time grows as the logs do, and memory does not
#[derive(Args)]
pub struct Logs {
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

/// The hill is this part of the mountain.
const PART: u64 = 10;

/// A byte of the mountain may take so many times as long as one of the hill: disks and caches are not linear.
const SLOWER: f64 = 2.0;

/// The mountain may need so many megabytes more than the hill.
const MORE_MEMORY: f64 = 100.0;

impl Default for Logs {
    fn default() -> Self {
        Self { size: 10_000, seed: 1, keep: false }
    }
}

/// What one corpus took.
struct Took {
    ms_a_megabyte: f64,
    memory: f64,
}

/// Runs the command.
pub fn run(args: &Logs) -> anyhow::Result<()> {
    build()?;
    run_program(&mut cargo(&["build", "--release", "--package", "switchboard-testkit"]))?;
    let hill = scan(args, args.size / PART)?;
    let mountain = scan(args, args.size)?;
    ensure!(
        mountain.ms_a_megabyte <= hill.ms_a_megabyte * SLOWER,
        "a megabyte takes {:.2} ms of {} MB, and {:.2} ms of {} MB",
        hill.ms_a_megabyte,
        args.size / PART,
        mountain.ms_a_megabyte,
        args.size
    );
    ensure!(
        mountain.memory <= hill.memory + MORE_MEMORY,
        "memory grew from {:.0} MB to {:.0} MB",
        hill.memory,
        mountain.memory
    );
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "shown to people")]
fn scan(args: &Logs, megabytes: u64) -> anyhow::Result<Took> {
    let corpus = Corpus::find(megabytes, megabytes * 3 / 5, args.seed)?;
    let data = new_folder("soak")?;
    let (ms, memory) = weighed(&mut logs(&corpus, &data, &["scan"]))?;
    let usage = timed(&mut logs(&corpus, &data, &["usage", "--json"]))?;
    let (tokens, truth) = (total(&usage.said), corpus.truth.all.total());
    let read = corpus.truth.bytes as f64 / 1e6;
    say(&format!(
        "soak: {read:.0} MB indexed in {:.1} s ({:.0} MB/s) with {memory:.0} MB of memory into {} MB; usage then takes {:.0} ms",
        ms / 1e3,
        read / ms * 1e3,
        size(&data) / 1_000_000,
        usage.ms
    ));
    if !args.keep {
        corpus.remove()?;
    }
    std::fs::remove_dir_all(data)?;
    ensure!(tokens == truth, "{tokens} tokens were counted, {truth} there are");
    Ok(Took { ms_a_megabyte: ms / read, memory })
}
