//! `load delays`: how long a message takes from the agent's write to a reader, at a steady pace.

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use switchboard_testkit::load::{End, Feed, From, free_port, now, stamp};

use super::house::{Program, Stream};
use crate::commands::say;

/// Measure how long messages take at a steady pace
#[derive(Args)]
pub struct Delays {
    #[command(flatten)]
    program: Program,
    #[command(flatten)]
    stream: Stream,
    /// How many deltas the agent writes
    #[arg(long, default_value_t = 10_000)]
    deltas: u64,
    /// How many of them a second
    #[arg(long, default_value_t = 1_000)]
    rate: u32,
}

/// Runs the command.
pub fn run(args: &Delays) -> anyhow::Result<()> {
    let house = args.program.house()?;
    let served = house.serve(free_port()?, &[])?;
    let session = served.api.start(house.agent, &format!("flood {} {}", args.deltas, args.rate))?;
    let dialect = args.stream.dialect()?;
    let mut feed = Feed::open(&served.api, args.stream.wire(), &session, dialect.name, From::Start)?;
    let delays = listen(&mut feed, args.deltas)?;
    ensure!(delays.len() as u64 >= args.deltas, "{} deltas of {} came", delays.len(), args.deltas);
    say(&shown(delays).to_string());
    served.stop()?;
    Ok(())
}

/// The delays of all messages that say when they were written.
pub fn listen(feed: &mut Feed, most: u64) -> anyhow::Result<Vec<u64>> {
    let mut delays = Vec::new();
    loop {
        // What repeats the whole text has many times in it.
        let end = feed.next(&mut |message| {
            let heard = now();
            if message.text.len() < 4_096 && (delays.len() as u64) < most {
                delays.extend(stamp(message.text).map(|said| heard.saturating_sub(said)));
            }
        })?;
        match end {
            None => {}
            Some(End::Closed(None | Some(1000))) => return Ok(delays),
            Some(end) => bail!("the stream ended with {end:?}"),
        }
    }
}

/// What was measured, in milliseconds.
pub fn shown(mut delays: Vec<u64>) -> Value {
    delays.sort_unstable();
    let at = |share: usize| delays.get(delays.len() * share / 1000).copied().unwrap_or_default();
    let last = delays.last().copied().context("nothing").unwrap_or_default();
    json!({ "messages": delays.len(), "p50_ms": milliseconds(at(500)), "p90_ms": milliseconds(at(900)),
        "p99_ms": milliseconds(at(990)), "p999_ms": milliseconds(at(999)), "most_ms": milliseconds(last) })
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn milliseconds(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
