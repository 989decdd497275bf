//! `soak`: an endless session of every source through every dialect, with mutated streams in between. All checks must
//! pass, and memory must stay constant.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use switchboard_agents::{RecordSource, SOURCES};
use switchboard_dialects::{DIALECTS, MessageBuffer, Projection};
use switchboard_event::Event;
use switchboard_testkit::{
    generate,
    ledger::{IdReuse, SessionInvariants},
    play::StreamPlayer,
    recording::load_recordings,
    said::expected_records,
};

use super::{fuzz::FuzzTarget, print_line};

/// Allowed memory growth between the first round and the end.
const MAX_MEMORY_GROWTH_BYTES: u64 = 48 << 20;

const BYTES_PER_ROUND: u64 = 4_000_000;

/// Run endless sessions of all sources through all dialects, and check that memory stays flat
#[derive(Args)]
pub struct StreamSoakArgs {
    /// For how long
    #[arg(long, default_value_t = 5)]
    minutes: u64,
}

pub fn run(args: &StreamSoakArgs) -> anyhow::Result<()> {
    let end = Instant::now() + Duration::from_secs(args.minutes * 60);
    let target = FuzzTarget::new(None)?;
    let recordings = load_recordings()?;
    let endless = |source| Some(EndlessSession::new(source, generate::EndlessStream::new(source, &recordings)?));
    let mut sessions: Vec<_> = SOURCES.iter().copied().flatten().filter_map(endless).collect();
    let (mut round, mut at_first) = (0, None);
    while Instant::now() < end {
        for session in &mut sessions {
            session.run_round().with_context(|| format!("{} in round {round}", session.source.name))?;
        }
        if let (_, Some(failure)) = target.run(round, Duration::from_secs(2)) {
            return target.report_failure(round, &failure);
        }
        let (now, megabytes) =
            (own_memory_bytes()?, sessions.iter().map(|session| session.bytes).sum::<u64>() / 1_000_000);
        let first = *at_first.get_or_insert(now);
        print_line(&format!("soak: round {round}, {megabytes} MB read, {} MB of memory", now >> 20));
        ensure!(now < first + MAX_MEMORY_GROWTH_BYTES, "memory grew from {} MB to {} MB", first >> 20, now >> 20);
        round += 1;
    }
    sessions.into_iter().try_for_each(EndlessSession::finish)?;
    print_line(&format!("soak: {round} rounds, nothing broke"));
    Ok(())
}

struct EndlessSession {
    source: &'static RecordSource,
    stream: generate::EndlessStream,
    player: StreamPlayer,
    ledger: SessionInvariants,
    projections: Vec<Box<dyn Projection>>,
    bytes: u64,
}

impl EndlessSession {
    fn new(source: &'static RecordSource, stream: generate::EndlessStream) -> Self {
        let projections = DIALECTS.iter().map(|dialect| (dialect.projection)()).collect();
        let (player, ledger) = (StreamPlayer::new(source), SessionInvariants::new(IdReuse::AfterEnd));
        Self { source, stream, player, ledger, projections, bytes: 0 }
    }

    fn run_round(&mut self) -> anyhow::Result<()> {
        let mut piece = Vec::new();
        self.bytes += self.stream.write(BYTES_PER_ROUND, &mut piece)?;
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            expected_records(line).into_iter().for_each(|said| self.ledger.expect_record(said));
            let mut events = Vec::new();
            self.player.push(line, &mut events);
            check_events(&mut self.ledger, &mut self.projections, &events)?;
        }
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<()> {
        let mut events = Vec::new();
        self.player.finish(&mut events);
        check_events(&mut self.ledger, &mut self.projections, &events)?;
        Ok(self.ledger.finish()?)
    }
}

fn check_events(
    ledger: &mut SessionInvariants,
    projections: &mut [Box<dyn Projection>],
    events: &[Event],
) -> anyhow::Result<()> {
    let mut messages = MessageBuffer::default();
    for event in events {
        ledger.check_event(event)?;
        for projection in &mut *projections {
            projection.project_event(event, &mut messages);
            messages.clear();
        }
    }
    Ok(())
}

fn own_memory_bytes() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("memory is read from /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let Some(kilobytes) = line.and_then(|line| line.trim().strip_suffix(" kB")) else {
        bail!("/proc/self/status does not say VmRSS");
    };
    Ok(kilobytes.parse::<u64>()? << 10)
}
