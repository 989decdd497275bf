//! `load peer`: the same measurements of another server.

use std::{path::PathBuf, thread, time::Duration};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use switchboard_testkit::load::{PeerFeedStats, PeerServer, ProcessMemory, RunningServer};

use super::latency::delay_report;
use super::{messages_per_second, nanos_to_seconds};
use crate::commands::print_line;

/// Measure sandbox-agent in the same way
#[derive(Args)]
pub struct LoadPeerArgs {
    /// Its program
    #[arg(long)]
    program: PathBuf,
    #[command(subcommand)]
    what: PeerMeasurement,
}

#[derive(Subcommand)]
enum PeerMeasurement {
    /// An agent that writes as fast as it can, and some who read it
    Readers {
        /// How many pieces of text the agent writes
        #[arg(long, default_value_t = 200_000)]
        deltas: u64,
        /// How many readers there are
        #[arg(long, default_value_t = 1)]
        readers: u32,
        /// They begin so many seconds late
        #[arg(long, default_value_t = 0.0)]
        late: f64,
    },
    /// How long messages take at a steady pace
    Delays {
        /// How many pieces of text the agent writes
        #[arg(long, default_value_t = 10_000)]
        deltas: u64,
        /// How many of them a second
        #[arg(long, default_value_t = 1_000)]
        rate: u32,
    },
    /// How soon it answers, and its memory while idle
    Starts {
        /// How often it is started
        #[arg(long, default_value_t = 20)]
        times: u32,
    },
}

/// Runs the command.
pub fn run(args: &LoadPeerArgs) -> anyhow::Result<()> {
    let place = PeerServer::new(&args.program)?;
    let result = match args.what {
        PeerMeasurement::Readers { deltas, readers, late } => {
            measure_readers(&place.start_server()?, deltas, readers, late)?
        }
        PeerMeasurement::Delays { deltas, rate } => measure_delays(&place.start_server()?, deltas, rate)?,
        PeerMeasurement::Starts { times } => measure_starts(&place, times)?,
    };
    print_line(&result.to_string());
    Ok(())
}

/// Every reader is there before the agent begins, unless it is late.
fn measure_readers(served: &RunningServer, deltas: u64, readers: u32, late: f64) -> anyhow::Result<Value> {
    PeerServer::open_conversation(&served.api, "one")?;
    let late = Duration::try_from_secs_f64(late)?;
    let heard = thread::scope(|scope| {
        let feeds = (0..if late.is_zero() { readers } else { 0 }).map(|_| PeerServer::open_feed(&served.api, "one"));
        let feeds: Vec<_> = feeds.collect::<Result<_, _>>()?;
        let mut reading: Vec<_> =
            feeds.into_iter().map(|mut feed| scope.spawn(move || PeerServer::read_to_end(&mut feed, false))).collect();
        let prompt = scope.spawn(move || PeerServer::run_prompt(&served.api, "one", &format!("burst {deltas}")));
        if !late.is_zero() {
            thread::sleep(late);
            let mut feed = PeerServer::open_feed(&served.api, "one")?;
            reading.push(scope.spawn(move || PeerServer::read_to_end(&mut feed, false)));
        }
        let heard: Vec<PeerFeedStats> = reading.into_iter().filter_map(|reading| reading.join().ok()).collect();
        drop(prompt.join());
        anyhow::Ok(heard)
    })?;
    let least = heard.iter().map(|heard| heard.pieces).min().context("nobody read")?;
    let lost: u64 = heard.iter().map(|heard| deltas.saturating_sub(heard.pieces)).sum();
    let (began, at) = (heard.iter().filter_map(|heard| heard.began).min(), heard.iter().map(|heard| heard.at).max());
    let time = nanos_to_seconds(at.unwrap_or_default().saturating_sub(began.unwrap_or_default()));
    let memory = ProcessMemory::read_for(served.pid())?;
    Ok(json!({ "readers": readers, "messages": least, "lost": lost, "seconds": time,
        "per_second": messages_per_second(least, time), "memory_kb": memory.now, "memory_peak_kb": memory.peak }))
}

fn measure_delays(served: &RunningServer, deltas: u64, rate: u32) -> anyhow::Result<Value> {
    PeerServer::open_conversation(&served.api, "one")?;
    let mut feed = PeerServer::open_feed(&served.api, "one")?;
    let heard = thread::scope(|scope| {
        let reading = scope.spawn(move || PeerServer::read_to_end(&mut feed, true));
        PeerServer::run_prompt(&served.api, "one", &format!("flood {deltas} {rate}"))?;
        anyhow::Ok(reading.join().unwrap_or_default())
    })?;
    Ok(delay_report(heard.delays))
}

fn measure_starts(place: &PeerServer, times: u32) -> anyhow::Result<Value> {
    let mut ready = Vec::new();
    for _ in 0..times {
        ready.push(place.start_server()?.ready.as_secs_f64() * 1e3);
    }
    ready.sort_by(f64::total_cmp);
    let served = place.start_server()?;
    thread::sleep(Duration::from_secs(3));
    Ok(json!({ "least_ms": ready.first(), "median_ms": ready.get(ready.len() / 2), "most_ms": ready.last(),
        "idle_kb": served.memory_usage()?.now }))
}
