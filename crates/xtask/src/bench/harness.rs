//! `bench harness`: many threads in one process, and the delay it adds to a turn's first word. The same agent read
//! directly through a pipe is measured in the same run.

use anyhow::ensure;
use clap::Args;
use serde::Deserialize;

use super::{build_release, format_table, release_program};
use crate::print_line;
use crate::process::{cargo_command, new_command, read_output, run_program};
use crate::tools::NetworkIsolation;

/// Measure many threads in one harness, and what it adds to the time until a turn's first word
#[derive(Args)]
pub struct HarnessBench {
    /// How many threads
    #[arg(long, default_value_t = 100)]
    threads: u32,
    /// How many of them run at once
    #[arg(long, default_value_t = 20)]
    running: u32,
    /// How many pieces of text each of their turns says
    #[arg(long, default_value_t = 2_000)]
    deltas: u32,
    /// How many turns are timed
    #[arg(long, default_value_t = 500)]
    turns: u32,
}

/// Maximum delay added to the first word of a turn.
const MAX_ADDED_DELAY_MS: f64 = 5.0;

#[derive(Deserialize)]
struct HarnessFigures {
    crowd: CrowdFigures,
    through: DelayPercentiles,
    direct: DelayPercentiles,
}

#[derive(Deserialize)]
struct CrowdFigures {
    threads: u64,
    running: u64,
    deltas: u64,
    seconds: f64,
    open_kb: u64,
    after_kb: u64,
}

#[derive(Deserialize)]
struct DelayPercentiles {
    p50_ms: f64,
    p90_ms: f64,
    p99_ms: f64,
}

pub fn run(args: &HarnessBench) -> anyhow::Result<()> {
    build_release()?;
    run_program(&mut cargo_command(&["build", "--release", "--package", "switchboard-testkit"]))?;
    let figures = measure_harness(args)?;
    let CrowdFigures { threads, running, deltas, seconds, open_kb, after_kb } = figures.crowd;
    print_line(&format!(
        "{threads} threads, {running} running at once: {deltas} pieces of text in {seconds:.2} s, none lost; \
         {} MB when open, {} MB after",
        open_kb / 1024,
        after_kb / 1024
    ));
    let (through, direct) = (figures.through, figures.direct);
    let added = DelayPercentiles {
        p50_ms: through.p50_ms - direct.p50_ms,
        p90_ms: through.p90_ms - direct.p90_ms,
        p99_ms: through.p99_ms - direct.p99_ms,
    };
    let row = |name: &str, times: &DelayPercentiles| {
        let figure = |ms: f64| format!("{ms:.3}");
        vec![name.to_owned(), String::new(), figure(times.p50_ms), figure(times.p90_ms), figure(times.p99_ms)]
    };
    print_line("\nfrom the start of a turn to its first word");
    let rows = [row("the agent alone", &direct), row("through the harness", &through), row("added", &added)];
    print_line(&format_table(&["", "", "p50 ms", "p90 ms", "p99 ms"], &rows));
    ensure!(
        added.p99_ms < MAX_ADDED_DELAY_MS,
        "over budget: {:.3} ms are added, {MAX_ADDED_DELAY_MS} may be",
        added.p99_ms
    );
    Ok(())
}

/// The test kit measures, in its own network namespace where possible.
fn measure_harness(args: &HarnessBench) -> anyhow::Result<HarnessFigures> {
    let numbers =
        [("--threads", args.threads), ("--running", args.running), ("--deltas", args.deltas), ("--turns", args.turns)];
    let testkit = release_program("switchboard-testkit");
    let mut command = match NetworkIsolation::find() {
        Ok(isolation) => isolation.isolated_command(&testkit, &["load", "threads"]),
        Err(_) => new_command(&testkit, &["load", "threads"]),
    };
    for (name, number) in numbers {
        command.arg(name).arg(number.to_string());
    }
    Ok(serde_json::from_str(&read_output(command.arg("--switchboard").arg(release_program("switchboard")))?)?)
}
