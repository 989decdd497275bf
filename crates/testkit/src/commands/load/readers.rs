//! `load readers`: an agent that writes as fast as it can, and some who read it, each in its manner.

use std::{thread, time::Duration};

use anyhow::{Context as _, ensure};
use clap::Args;
use serde::Deserialize;
use serde_json::json;
use switchboard_testkit::load::{Manner, Memory, Read, Reader, Served, Wire, free_port, processor};

use super::house::{Program, Stream, rate, seconds, verbatim};
use crate::commands::say;

/// Read a session of a great many deltas, and check that nothing is missing
#[derive(Args)]
pub struct Readers {
    #[command(flatten)]
    program: Program,
    #[command(flatten)]
    stream: Stream,
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

impl Readers {
    fn manner(&self) -> anyhow::Result<Manner> {
        let time = Duration::try_from_secs_f64(self.slow_for)?;
        let late = Duration::try_from_secs_f64(self.late)?;
        Ok(Manner { late, slow: self.slow.map(|rate| (rate, time)), hop: self.hop })
    }
}

/// Runs the command.
pub fn run(args: &Readers) -> anyhow::Result<()> {
    let house = args.program.house()?;
    let options: Vec<_> = args.option.iter().map(String::as_str).collect();
    let served = house.serve(free_port()?, &options)?;
    let (dialect, wire, manner) = (args.stream.dialect()?, args.stream.wire(), args.manner()?);
    let session = served.api.start(house.agent, &format!("burst {}", args.deltas))?;
    let reader = Reader { api: &served.api, wire, session: &session, dialect, manner };
    let idle = processor(served.pid())?;
    let (reads, most) = together(&reader, args.readers, &served)?;
    let busy = processor(served.pid())? - idle;
    let lost = check(&reader, &reads, args.deltas)?;
    let first = began(&reader)?;
    let slowest = reads.iter().map(|read| read.at).max().context("nobody read")?;
    let time = seconds(slowest.saturating_sub(first));
    let messages = reads.iter().map(|read| read.tally.messages).max().unwrap_or_default();
    let memory = served.memory()?;
    say(&json!({ "readers": args.readers, "messages": messages, "lost": lost, "seconds": time,
        "per_second": rate(messages, time), "server_seconds": busy, "connections": reads.iter().map(|read| read.connections).sum::<u64>(),
        "memory_kb": memory.now, "memory_peak_kb": memory.peak, "memory_while_reading_kb": most })
    .to_string());
    served.stop()?;
    ensure!(lost == 0, "{lost} messages were lost");
    Ok(())
}

/// All readers at once. Gives the most memory that the server used meanwhile, too.
fn together(reader: &Reader<'_>, readers: u32, served: &Served) -> anyhow::Result<(Vec<Read>, u64)> {
    thread::scope(|scope| {
        let reading: Vec<_> = (0..readers).map(|_| scope.spawn(|| reader.run())).collect();
        let mut most = 0;
        while reading.iter().any(|reading| !reading.is_finished()) {
            most = Memory::of(served.pid())?.now.max(most);
            thread::sleep(Duration::from_millis(20));
        }
        let reads =
            reading.into_iter().map(|reading| reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok((reads.collect::<anyhow::Result<_>>()?, most))
    })
}

/// What the server says of a session.
#[derive(Deserialize)]
struct View {
    events: u64,
}

/// How many messages were lost, repeated or changed: compared with one who reads everything afterwards.
fn check(reader: &Reader<'_>, reads: &[Read], deltas: u64) -> anyhow::Result<u64> {
    let view = reader.api.ended(reader.session, Duration::from_secs(60))?;
    ensure!(view["state"] == "done", "the session did not end well: {view}");
    let View { events } = serde_json::from_value(view)?;
    ensure!(events > deltas, "{events} events of {deltas} deltas");
    let late = Reader { wire: Wire::WebSocket, manner: Manner::default(), ..*reader }.run()?.tally;
    ensure!(!reader.dialect.verbatim || late.messages == events && late.gaps == 0, "the log has gaps");
    let wrong = |read: &Read| {
        let tally = &read.tally;
        let changed = u64::from(tally.hash != late.hash || tally.seq != late.seq);
        tally.messages.abs_diff(late.messages).max(tally.gaps).max(changed)
    };
    Ok(reads.iter().map(wrong).sum())
}

/// When the agent said its first word.
fn began(reader: &Reader<'_>) -> anyhow::Result<u64> {
    let first = Reader { dialect: verbatim()?, wire: Wire::WebSocket, manner: Manner::default(), ..*reader };
    first.run()?.tally.began.context("the agent never said when it began")
}
