//! `measure`: the page's weight, its first paint, and the cost of watching a busy session. Each case prints one line of
//! JSON; `cargo xtask bench board` makes tables from it.

mod busy;
mod open;
mod paint;
pub mod stream;
pub mod trace;

use clap::{Args, ValueEnum};

use crate::{
    BrowserPrograms, print_line,
    trial::{PageTrial, trace_file},
};

/// Measure the page, as JSON
#[derive(Args)]
pub struct MeasureArgs {
    #[command(flatten)]
    place: BrowserPrograms,
    /// What is measured
    #[arg(value_enum)]
    case: MeasureCase,
    /// For how long something is watched
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// How many events a second
    #[arg(long, default_value_t = 1_000)]
    rate: u64,
    /// How often something is done
    #[arg(long, default_value_t = 10)]
    runs: u32,
}

/// What can be measured.
#[derive(Clone, Copy, ValueEnum)]
enum MeasureCase {
    /// The page without content: its weight, and when it is painted first.
    Paint,
    /// A session that says something all the time.
    Stream,
    /// A long session that is opened.
    Open,
}

pub fn run(args: &MeasureArgs) -> anyhow::Result<()> {
    let traced = matches!(args.case, MeasureCase::Stream);
    let trial = if traced { PageTrial::with_trace(&args.place)? } else { PageTrial::new(&args.place)? };
    let mut figures = match args.case {
        MeasureCase::Paint => paint::measure_paint(&trial, args.runs)?,
        MeasureCase::Stream => busy::measure_stream(&trial, args.rate, args.seconds)?,
        MeasureCase::Open => open::measure_open(&trial, args.runs)?,
    };
    trial.check_console()?;
    let stage = trial.shut_down();
    if traced {
        busy::add_trace_figures(&mut figures, &trace::read_trace(&trace_file(&stage))?);
    }
    print_line(&figures.to_string());
    Ok(())
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}
