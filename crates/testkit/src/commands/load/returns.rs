//! `load returns`: a long session, the memory that it leaves behind, and how soon one who comes back to its end is
//! served: while the server still knows it, and when it has started anew.

use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::Args;
use serde_json::json;
use switchboard_testkit::load::{
    FeedOrigin, FeedReader, FeedTransport, LoadFeed, ReaderBehavior, TestApiClient, free_port,
};

use super::house::{FeedArgs, ServerProgramArgs, verbatim_dialect};
use crate::commands::print_line;

/// Come back to the end of a very long session
#[derive(Args)]
pub struct LoadReturnsArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    #[command(flatten)]
    stream: FeedArgs,
    /// How many deltas the session has
    #[arg(long, default_value_t = 1_000_000)]
    deltas: u64,
}

/// How many events before the last the reader has seen.
const EVENTS_BEFORE_END: u64 = 10;

/// Runs the command.
pub fn run_returns(args: &LoadReturnsArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let served = house.start_server(free_port()?, &[])?;
    let session = served.api.start_session(house.agent, &format!("burst {}", args.deltas))?;
    let (dialect, manner) = (verbatim_dialect()?, ReaderBehavior::default());
    let read =
        FeedReader { api: &served.api, wire: FeedTransport::WebSocket, session: &session, dialect, manner }.run()?;
    ensure!(read.tally.gaps == 0, "{} gaps", read.tally.gaps);
    served.api.wait_for_end(&session, Duration::from_secs(60))?;
    let (memory, after) = (served.memory_usage()?, read.tally.seq - EVENTS_BEFORE_END);
    let (cold, first) = time_first_message(&served.api, args, &session, after)?;
    let (warm, again) = time_first_message(&served.api, args, &session, after)?;
    served.stop()?;
    let served = house.start_server(free_port()?, &[])?;
    let start = served.ready;
    let (anew, third) = time_first_message(&served.api, args, &session, after)?;
    ensure!(first == again && again == third, "the messages differ");
    let returned = served.memory_usage()?;
    print_line(
        &json!({ "last_seq": read.tally.seq, "memory_kb": memory.now, "memory_peak_kb": memory.peak,
        "first_ms": to_milliseconds(cold), "again_ms": to_milliseconds(warm), "after_restart_ms": to_milliseconds(anew),
        "restart_ms": to_milliseconds(start), "memory_after_return_kb": returned.now })
        .to_string(),
    );
    served.stop()?;
    Ok(())
}

/// How long the first message takes, and which it is.
fn time_first_message(
    api: &TestApiClient,
    args: &LoadReturnsArgs,
    session: &str,
    after: u64,
) -> anyhow::Result<(Duration, Vec<u8>)> {
    let (began, mut first) = (Instant::now(), Vec::new());
    let mut feed = LoadFeed::open(
        api,
        args.stream.transport(),
        session,
        args.stream.find_dialect()?.name,
        FeedOrigin::Event(after),
    )?;
    let end = feed.next(&mut |message| first = message.text.to_vec())?;
    let time = began.elapsed();
    ensure!(end.is_none(), "there was no message behind event {after}: {end:?}");
    Ok((time, first))
}

fn to_milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
