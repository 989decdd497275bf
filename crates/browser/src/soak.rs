//! `soak`: a page that watches a busy session for long. What it holds must not grow with what it has shown.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use clap::Args;

use crate::{
    Place,
    measure::stream::{Sample, Talk, collect, watch},
    say,
    trial::Trial,
};

/// How often the page is looked at.
const LOOK: Duration = Duration::from_secs(10);

/// What may be more at the end than at the beginning: a part of it, and so many megabytes or nodes.
const MORE: f64 = 1.2;
const MORE_MB: f64 = 4.0;
const MORE_NODES: f64 = 1_000.0;
const MORE_SERVER_MB: f64 = 15.0;

/// Watch a busy session for minutes, and check that neither the page nor the server grows
#[derive(Args)]
pub struct Soak {
    #[command(flatten)]
    place: Place,
    /// For how long
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// How many events a second
    #[arg(long, default_value_t = 1_000)]
    rate: u64,
}

/// Watches.
pub fn run(args: &Soak) -> anyhow::Result<()> {
    let trial = Trial::new(&args.place)?;
    let talk = Talk::begin(&trial, args.rate)?;
    let tab = trial.tab(&talk.path())?;
    tab.see("@entry[data-kind=answer]", "")?;
    watch(&tab)?;
    let end = Instant::now() + Duration::from_secs_f64(args.minutes * 60.0);
    let mut samples = vec![talk.sample(&trial, &tab)?];
    say("  time    events  events/s  busy %  heap MB   nodes  listeners  server MB");
    while Instant::now() < end {
        let until = Instant::now() + LOOK;
        while Instant::now() < until {
            talk.go_on(&trial)?;
            thread::sleep(Duration::from_millis(500));
        }
        collect(&tab)?;
        let sample = talk.sample(&trial, &tab)?;
        say(&line(&samples, &sample));
        samples.push(sample);
    }
    tab.see("@entry", "")?;
    trial.is_quiet()?;
    flat(&samples)?;
    drop(trial.end());
    Ok(())
}

fn line(before: &[Sample], now: &Sample) -> String {
    let (Some(first), Some(last)) = (before.first(), before.last()) else { return String::new() };
    let time = now.at.duration_since(last.at).as_secs_f64();
    let (rate, busy) = ((now.events - last.events) / time, 100.0 * (now.busy - last.busy) / time);
    format!(
        "{:>5.0} s {:>9.0} {rate:>9.0} {busy:>7.1} {:>8.1} {:>7.0} {:>10.0} {:>10.1}",
        now.at.duration_since(first.at).as_secs_f64(),
        now.events,
        now.heap / 1e6,
        now.nodes,
        now.listeners,
        now.server
    )
}

/// The second quarter is held against the last: in the first one things may still find their size.
fn flat(samples: &[Sample]) -> anyhow::Result<()> {
    let quarter = samples.len() / 4;
    let (early, late) = (samples.get(quarter..2 * quarter.max(1)), samples.get(3 * quarter..));
    let (early, late) = (early.context("too short")?, late.context("too short")?);
    for (what, most, of) in [
        ("MB of heap", MORE_MB, (|sample| sample.heap / 1e6) as fn(&Sample) -> f64),
        ("nodes", MORE_NODES, |sample| sample.nodes),
        ("listeners", MORE_NODES, |sample| sample.listeners),
        ("MB of the server", MORE_SERVER_MB, |sample| sample.server),
    ] {
        let most_of = |samples: &[Sample]| samples.iter().map(of).fold(0.0, f64::max);
        let (before, after) = (most_of(early), most_of(late));
        ensure!(after <= before * MORE + most, "{what} grew from {before:.1} to {after:.1}");
    }
    say("flat");
    Ok(())
}
