//! `bench harness`: a great many threads in one process, and what it adds to the time until a turn's first word. Beside
//! it, in the same run, the same agent read directly through a pipe.

use anyhow::ensure;
use clap::Args;
use serde::Deserialize;

use super::{
    programs::{build, built},
    table::table,
};
use crate::{
    isolation::Isolation,
    process::{cargo, output, program, run as run_program},
    say,
};

/// Measure many threads in one harness, and what it adds to the time until a turn's first word
#[derive(Args)]
pub struct Harness {
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

/// So much may be added to the time until the first word of a turn.
const BUDGET_MS: f64 = 5.0;

#[derive(Deserialize)]
struct Figures {
    crowd: Crowd,
    through: Times,
    direct: Times,
}

#[derive(Deserialize)]
struct Crowd {
    threads: u64,
    running: u64,
    deltas: u64,
    seconds: f64,
    open_kb: u64,
    after_kb: u64,
}

#[derive(Deserialize)]
struct Times {
    p50_ms: f64,
    p90_ms: f64,
    p99_ms: f64,
}

/// Runs the command.
pub fn run(args: &Harness) -> anyhow::Result<()> {
    build()?;
    run_program(&mut cargo(&["build", "--release", "--package", "switchboard-testkit"]))?;
    let figures = measure(args)?;
    let Crowd { threads, running, deltas, seconds, open_kb, after_kb } = figures.crowd;
    say(&format!(
        "{threads} threads, {running} running at once: {deltas} pieces of text in {seconds:.2} s, none lost; \
         {} MB when open, {} MB after",
        open_kb / 1024,
        after_kb / 1024
    ));
    let (through, direct) = (figures.through, figures.direct);
    let added = Times {
        p50_ms: through.p50_ms - direct.p50_ms,
        p90_ms: through.p90_ms - direct.p90_ms,
        p99_ms: through.p99_ms - direct.p99_ms,
    };
    let row = |name: &str, times: &Times| {
        let figure = |ms: f64| format!("{ms:.3}");
        vec![name.to_owned(), String::new(), figure(times.p50_ms), figure(times.p90_ms), figure(times.p99_ms)]
    };
    say("\nfrom the start of a turn to its first word");
    let rows = [row("the agent alone", &direct), row("through the harness", &through), row("added", &added)];
    say(&table(&["", "", "p50 ms", "p90 ms", "p99 ms"], &rows));
    ensure!(added.p99_ms < BUDGET_MS, "over budget: {:.3} ms are added, {BUDGET_MS} may be", added.p99_ms);
    Ok(())
}

/// The test kit does the work, on a network of its own where there can be one.
fn measure(args: &Harness) -> anyhow::Result<Figures> {
    let numbers =
        [("--threads", args.threads), ("--running", args.running), ("--deltas", args.deltas), ("--turns", args.turns)];
    let testkit = built("switchboard-testkit");
    let mut command = match Isolation::find() {
        Ok(isolation) => isolation.program(&testkit, &["load", "threads"]),
        Err(_) => program(&testkit, &["load", "threads"]),
    };
    for (name, number) in numbers {
        command.arg(name).arg(number.to_string());
    }
    Ok(serde_json::from_str(&output(command.arg("--switchboard").arg(built("switchboard")))?)?)
}
