//! `soak`: a page that watches a busy session for minutes. Its memory must not grow with the content it has shown.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use clap::Args;

use crate::measure::{BusySession, PageSample, collect_garbage, enable_metrics};
use crate::scenario::PageTrial;
use crate::{BrowserPrograms, print_line};

const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);

/// Allowed growth from beginning to end: a factor, plus megabytes or nodes.
const MAX_GROWTH_FACTOR: f64 = 1.2;
const MAX_HEAP_GROWTH_MB: f64 = 4.0;
const MAX_NODE_GROWTH: f64 = 1_000.0;
const MAX_SERVER_GROWTH_MB: f64 = 15.0;

/// Watch a busy session for minutes, and check that neither the page nor the server grows
#[derive(Args)]
pub struct PageSoakArgs {
    #[command(flatten)]
    place: BrowserPrograms,
    /// For how long
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// How many events a second
    #[arg(long, default_value_t = 1_000)]
    rate: u64,
}

pub fn run(args: &PageSoakArgs) -> anyhow::Result<()> {
    let trial = PageTrial::new(&args.place)?;
    let talk = BusySession::start(&trial, args.rate)?;
    let tab = trial.open_tab(&talk.page_path())?;
    tab.wait_for("@entry[data-kind=answer]", "")?;
    enable_metrics(&tab)?;
    let end = Instant::now() + Duration::from_secs_f64(args.minutes * 60.0);
    let mut samples = vec![talk.take_sample(&trial, &tab)?];
    print_line("  time    events  events/s  busy %  heap MB   nodes  listeners  server MB");
    while Instant::now() < end {
        let until = Instant::now() + SAMPLE_INTERVAL;
        while Instant::now() < until {
            talk.continue_if_idle(&trial)?;
            thread::sleep(Duration::from_millis(500));
        }
        collect_garbage(&tab)?;
        let sample = talk.take_sample(&trial, &tab)?;
        print_line(&format_sample(&samples, &sample));
        samples.push(sample);
    }
    tab.wait_for("@entry", "")?;
    trial.check_console()?;
    check_flat(&samples)?;
    drop(trial.shut_down());
    Ok(())
}

fn format_sample(before: &[PageSample], now: &PageSample) -> String {
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

/// Compares the second quarter with the last: during the first one sizes may still settle.
fn check_flat(samples: &[PageSample]) -> anyhow::Result<()> {
    let quarter = samples.len() / 4;
    let (early, late) = (samples.get(quarter..2 * quarter.max(1)), samples.get(3 * quarter..));
    let (early, late) = (early.context("too short")?, late.context("too short")?);
    for (what, most, of) in [
        ("MB of heap", MAX_HEAP_GROWTH_MB, (|sample| sample.heap / 1e6) as fn(&PageSample) -> f64),
        ("nodes", MAX_NODE_GROWTH, |sample| sample.nodes),
        ("listeners", MAX_NODE_GROWTH, |sample| sample.listeners),
        ("MB of the server", MAX_SERVER_GROWTH_MB, |sample| sample.server),
    ] {
        let most_of = |samples: &[PageSample]| samples.iter().map(of).fold(0.0, f64::max);
        let (before, after) = (most_of(early), most_of(late));
        ensure!(after <= before * MAX_GROWTH_FACTOR + most, "{what} grew from {before:.1} to {after:.1}");
    }
    print_line("flat");
    Ok(())
}
