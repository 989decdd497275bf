//! `load readers`: an agent that writes as fast as it can, and readers of different behavior.

use std::{thread, time::Duration};

use anyhow::{Context as _, ensure};
use clap::Args;
use serde::Deserialize;
use serde_json::json;
use switchboard_testkit::load::{
    FeedReadResult, FeedReader, FeedTransport, ProcessMemory, ReaderBehavior, RunningServer, cpu_seconds, free_port,
};

use super::{FeedArgs, ServerProgramArgs, messages_per_second, nanos_to_seconds, verbatim_dialect};
use crate::commands::print_line;

/// Read a session of a great many deltas, and check that nothing is missing
#[derive(Args)]
pub struct LoadReadersArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    #[command(flatten)]
    stream: FeedArgs,
    /// How many deltas the agent writes
    #[arg(long, default_value_t = 200_000)]
    deltas: u64,
    /// How many readers there are
    #[arg(long, default_value_t = 1)]
    readers: u32,
    /// They begin so many seconds late
    #[arg(long, default_value_t = 0.0)]
    late: f64,
    /// They read so many messages a second at first
    #[arg(long)]
    slow: Option<u32>,
    /// For so many seconds
    #[arg(long, default_value_t = 8.0)]
    slow_for: f64,
    /// They reconnect after so many messages
    #[arg(long)]
    hop: Option<u64>,
    /// Another setting of the server
    #[arg(long)]
    option: Vec<String>,
}

impl LoadReadersArgs {
    fn reader_behavior(&self) -> anyhow::Result<ReaderBehavior> {
        let time = Duration::try_from_secs_f64(self.slow_for)?;
        let late = Duration::try_from_secs_f64(self.late)?;
        Ok(ReaderBehavior { late, slow: self.slow.map(|rate| (rate, time)), hop: self.hop })
    }
}

pub fn run(args: &LoadReadersArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let options: Vec<_> = args.option.iter().map(String::as_str).collect();
    let served = house.start_server(free_port()?, &options)?;
    let (dialect, wire, manner) = (args.stream.find_dialect()?, args.stream.transport(), args.reader_behavior()?);
    let session = served.api.start_session(house.agent, &format!("burst {}", args.deltas))?;
    let reader = FeedReader { api: &served.api, wire, session: &session, dialect, manner };
    let idle = cpu_seconds(served.pid())?;
    let (reads, most) = read_concurrently(&reader, args.readers, &served)?;
    let busy = cpu_seconds(served.pid())? - idle;
    let lost = count_lost_messages(&reader, &reads, args.deltas)?;
    let first = first_word_time(&reader)?;
    let slowest = reads.iter().map(|read| read.at).max().context("nobody read")?;
    let time = nanos_to_seconds(slowest.saturating_sub(first));
    let messages = reads.iter().map(|read| read.tally.messages).max().unwrap_or_default();
    let memory = served.memory_usage()?;
    print_line(&json!({ "readers": args.readers, "messages": messages, "lost": lost, "seconds": time,
        "per_second": messages_per_second(messages, time), "server_seconds": busy, "connections": reads.iter().map(|read| read.connections).sum::<u64>(),
        "memory_kb": memory.now, "memory_peak_kb": memory.peak, "memory_while_reading_kb": most })
    .to_string());
    served.stop()?;
    ensure!(lost == 0, "{lost} messages were lost");
    Ok(())
}

/// Runs all readers concurrently. Returns the peak memory of the server too.
fn read_concurrently(
    reader: &FeedReader<'_>,
    readers: u32,
    served: &RunningServer,
) -> anyhow::Result<(Vec<FeedReadResult>, u64)> {
    thread::scope(|scope| {
        let reading: Vec<_> = (0..readers).map(|_| scope.spawn(|| reader.run())).collect();
        let mut most = 0;
        while reading.iter().any(|reading| !reading.is_finished()) {
            most = ProcessMemory::read_for(served.pid())?.now.max(most);
            thread::sleep(Duration::from_millis(20));
        }
        let reads =
            reading.into_iter().map(|reading| reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok((reads.collect::<anyhow::Result<_>>()?, most))
    })
}

#[derive(Deserialize)]
struct SessionEventCount {
    events: u64,
}

/// Returns the number of lost, repeated or changed messages, compared with a reader that reads everything afterwards.
fn count_lost_messages(reader: &FeedReader<'_>, reads: &[FeedReadResult], deltas: u64) -> anyhow::Result<u64> {
    let view = reader.api.wait_for_end(reader.session, Duration::from_secs(60))?;
    ensure!(view["state"] == "done", "the session did not end well: {view}");
    let SessionEventCount { events } = serde_json::from_value(view)?;
    ensure!(events > deltas, "{events} events of {deltas} deltas");
    let late = FeedReader { wire: FeedTransport::WebSocket, manner: ReaderBehavior::default(), ..*reader }.run()?.tally;
    ensure!(!reader.dialect.verbatim || late.messages == events && late.gaps == 0, "the log has gaps");
    let wrong = |read: &FeedReadResult| {
        let tally = &read.tally;
        let changed = u64::from(tally.hash != late.hash || tally.seq != late.seq);
        tally.messages.abs_diff(late.messages).max(tally.gaps).max(changed)
    };
    Ok(reads.iter().map(wrong).sum())
}

/// Returns when the agent wrote its first word.
fn first_word_time(reader: &FeedReader<'_>) -> anyhow::Result<u64> {
    let first = FeedReader {
        dialect: verbatim_dialect()?,
        wire: FeedTransport::WebSocket,
        manner: ReaderBehavior::default(),
        ..*reader
    };
    first.run()?.tally.began.context("the agent never said when it began")
}
