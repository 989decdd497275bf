//! `load delays`: delay from the agent's write to a reader, at a steady rate.

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use switchboard_testkit::load::{FeedEnd, FeedOrigin, LoadFeed, embedded_time, free_port, unix_nanos};

use super::house::{FeedArgs, ServerProgramArgs};
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
