//! `load returns`: a long session, the memory that it leaves behind, and how soon one who comes back to its end is
//! served: while the server still knows it, and when it has started anew.

use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::Args;
use serde_json::json;
use switchboard_testkit::load::{Api, Feed, From, Manner, Reader, Wire, free_port};

use super::house::{Program, Stream, verbatim};
use crate::commands::say;

/// Come back to the end of a very long session
#[derive(Args)]
pub struct Returns {
    #[command(flatten)]
    program: Program,
    #[command(flatten)]
    stream: Stream,
    /// How many deltas the session has
    #[arg(long, default_value_t = 1_000_000)]
    deltas: u64,
}

/// How many events before the last the reader has seen.
const BEFORE_THE_END: u64 = 10;

/// Runs the command.
pub fn run(args: &Returns) -> anyhow::Result<()> {
    let house = args.program.house()?;
    let served = house.serve(free_port()?, &[])?;
    let session = served.api.start(house.agent, &format!("burst {}", args.deltas))?;
    let (dialect, manner) = (verbatim()?, Manner::default());
    let read = Reader { api: &served.api, wire: Wire::WebSocket, session: &session, dialect, manner }.run()?;
    ensure!(read.tally.gaps == 0, "{} gaps", read.tally.gaps);
    served.api.ended(&session, Duration::from_secs(60))?;
    let (memory, after) = (served.memory()?, read.tally.seq - BEFORE_THE_END);
    let (cold, first) = first(&served.api, args, &session, after)?;
    let (warm, again) = self::first(&served.api, args, &session, after)?;
    served.stop()?;
    let served = house.serve(free_port()?, &[])?;
    let start = served.ready;
    let (anew, third) = self::first(&served.api, args, &session, after)?;
    ensure!(first == again && again == third, "the messages differ");
    let returned = served.memory()?;
    say(&json!({ "last_seq": read.tally.seq, "memory_kb": memory.now, "memory_peak_kb": memory.peak,
        "first_ms": milliseconds(cold), "again_ms": milliseconds(warm), "after_restart_ms": milliseconds(anew),
        "restart_ms": milliseconds(start), "memory_after_return_kb": returned.now })
    .to_string());
    served.stop()?;
    Ok(())
}

/// How long the first message takes, and which it is.
fn first(api: &Api, args: &Returns, session: &str, after: u64) -> anyhow::Result<(Duration, Vec<u8>)> {
    let (began, mut first) = (Instant::now(), Vec::new());
    let mut feed = Feed::open(api, args.stream.wire(), session, args.stream.dialect()?.name, From::Event(after))?;
    let end = feed.next(&mut |message| first = message.text.to_vec())?;
    let time = began.elapsed();
    ensure!(end.is_none(), "there was no message behind event {after}: {end:?}");
    Ok((time, first))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
