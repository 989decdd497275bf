//! `measure`: what the page weighs, how soon it is painted, and what it costs to watch a busy session. Each prints one
//! line of JSON; `cargo xtask bench board` makes tables of it.

mod busy;
mod open;
mod paint;
pub mod stream;
pub mod trace;

use clap::{Args, ValueEnum};

use crate::{
    Place, say,
    trial::{Trial, trace_file},
};

/// Measure the page, as JSON
#[derive(Args)]
pub struct Measure {
    #[command(flatten)]
    place: Place,
    /// What is measured
    #[arg(value_enum)]
    case: Case,
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
enum Case {
    /// The page without content: its weight, and when it is painted first.
    Paint,
    /// A session that says something all the time.
    Stream,
    /// A long session that is opened.
    Open,
}

/// Measures.
pub fn run(args: &Measure) -> anyhow::Result<()> {
    let traced = matches!(args.case, Case::Stream);
    let trial = if traced { Trial::traced(&args.place)? } else { Trial::new(&args.place)? };
    let mut figures = match args.case {
        Case::Paint => paint::figures(&trial, args.runs)?,
        Case::Stream => busy::figures(&trial, args.rate, args.seconds)?,
        Case::Open => open::figures(&trial, args.runs)?,
    };
    trial.is_quiet()?;
    let stage = trial.end();
    if traced {
        busy::add(&mut figures, &trace::read(&trace_file(&stage))?);
    }
    say(&figures.to_string());
    Ok(())
}

/// The one in the middle.
fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}
