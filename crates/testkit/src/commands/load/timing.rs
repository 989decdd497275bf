//! `load delays`: delay from the agent's write to a reader, at a steady rate.

use std::{fs, thread, time::Duration};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use switchboard_testkit::load::{FeedEnd, FeedOrigin, LoadFeed, embedded_time, free_port, unix_nanos};

use super::{FeedArgs, ServerProgramArgs};
use crate::commands::print_line;

/// Measure how long messages take at a steady pace
#[derive(Args)]
pub struct LoadDelaysArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    #[command(flatten)]
    stream: FeedArgs,
    /// How many deltas the agent writes
    #[arg(long, default_value_t = 10_000)]
    deltas: u64,
    /// How many of them a second
    #[arg(long, default_value_t = 1_000)]
    rate: u32,
}

pub fn run_delays(args: &LoadDelaysArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let served = house.start_server(free_port()?, &[])?;
    let session = served.api.start_session(house.agent, &format!("flood {} {}", args.deltas, args.rate))?;
    let dialect = args.stream.find_dialect()?;
    let mut feed = LoadFeed::open(&served.api, args.stream.transport(), &session, dialect.name, FeedOrigin::Start)?;
    let delays = collect_delays(&mut feed, args.deltas)?;
    ensure!(delays.len() as u64 >= args.deltas, "{} deltas of {} came", delays.len(), args.deltas);
    print_line(&delay_report(delays).to_string());
    served.stop()?;
    Ok(())
}

/// Returns the delays of all messages with a timestamp.
pub fn collect_delays(feed: &mut LoadFeed, most: u64) -> anyhow::Result<Vec<u64>> {
    let mut delays = Vec::new();
    loop {
        // Messages that repeat the whole text contain many timestamps.
        let end = feed.next(&mut |message| {
            let heard = unix_nanos();
            if message.text.len() < 4_096 && (delays.len() as u64) < most {
                delays.extend(embedded_time(message.text).map(|said| heard.saturating_sub(said)));
            }
        })?;
        match end {
            None => {}
            Some(FeedEnd::Closed(None | Some(1000))) => return Ok(delays),
            Some(end) => bail!("the stream ended with {end:?}"),
        }
    }
}

/// Returns percentiles in milliseconds.
pub fn delay_report(mut delays: Vec<u64>) -> Value {
    delays.sort_unstable();
    let at = |share: usize| delays.get(delays.len() * share / 1000).copied().unwrap_or_default();
    let last = delays.last().copied().context("nothing").unwrap_or_default();
    json!({ "messages": delays.len(), "p50_ms": nanos_to_milliseconds(at(500)), "p90_ms": nanos_to_milliseconds(at(900)),
        "p99_ms": nanos_to_milliseconds(at(990)), "p999_ms": nanos_to_milliseconds(at(999)), "most_ms": nanos_to_milliseconds(last) })
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn nanos_to_milliseconds(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Measure how soon the server answers, and its memory while idle
#[derive(Args)]
pub struct LoadStartsArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    /// How often it is started
    #[arg(long, default_value_t = 20)]
    times: u32,
    /// How many seconds it does nothing before its memory is read
    #[arg(long, default_value_t = 3)]
    idle: u64,
}

/// Every start finds an empty data directory; the last server keeps running for a while.
pub fn run_starts(args: &LoadStartsArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let mut times = Vec::new();
    for _ in 0..args.times {
        fs::remove_dir_all(house.stage.data_dir())?;
        fs::create_dir(house.stage.data_dir())?;
        let served = house.start_server(free_port()?, &[])?;
        times.push(served.ready.as_secs_f64() * 1e3);
        served.stop()?;
    }
    times.sort_by(f64::total_cmp);
    let served = house.start_server(free_port()?, &[])?;
    let again = served.ready.as_secs_f64() * 1e3;
    thread::sleep(Duration::from_secs(args.idle));
    let memory = served.memory_usage()?;
    let (least, middle) = (times.first().context("never started")?, times.get(times.len() / 2).context("never")?);
    print_line(
        &json!({ "least_ms": least, "median_ms": middle, "most_ms": times.last(), "again_ms": again,
        "idle_kb": memory.now })
        .to_string(),
    );
    served.stop()?;
    Ok(())
}
