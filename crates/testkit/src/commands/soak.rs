//! `soak`: an endless session of every source, through every dialect, and between its pieces spoiled streams. Everything
//! must hold, and memory must stay where it is.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use switchboard_agents::{SOURCES, Source};
use switchboard_dialects::{DIALECTS, Messages, Projection};
use switchboard_event::Event;
use switchboard_testkit::{
    generate,
    ledger::{Ledger, Reuse},
    play::Player,
    recording::recordings,
    said::said,
};

use super::{fuzz::Target, say};

/// How much more memory may be in use at the end than after the first round.
const GROWTH: u64 = 48 << 20;

/// How much of its stream a session gets in one round.
const PIECE: u64 = 4_000_000;

/// Run endless sessions of all sources through all dialects, and check that memory stays flat
#[derive(Args)]
pub struct Soak {
    /// For how long
    #[arg(long, default_value_t = 5)]
    minutes: u64,
}

/// Runs the command.
pub fn run(args: &Soak) -> anyhow::Result<()> {
    let end = Instant::now() + Duration::from_secs(args.minutes * 60);
    let target = Target::new(None)?;
    let recordings = recordings()?;
    let endless = |source| Some(Endless::new(source, generate::Stream::new(source, &recordings)?));
    let mut sessions: Vec<_> = SOURCES.iter().copied().flatten().filter_map(endless).collect();
    let (mut round, mut at_first) = (0, None);
    while Instant::now() < end {
        for session in &mut sessions {
            session.go_on().with_context(|| format!("{} in round {round}", session.source.name))?;
        }
        if let (_, Some(failure)) = target.run(round, Duration::from_secs(2)) {
            return target.report(round, &failure);
        }
        let (now, megabytes) = (memory()?, sessions.iter().map(|session| session.bytes).sum::<u64>() / 1_000_000);
        let first = *at_first.get_or_insert(now);
        say(&format!("soak: round {round}, {megabytes} MB read, {} MB of memory", now >> 20));
        ensure!(now < first + GROWTH, "memory grew from {} MB to {} MB", first >> 20, now >> 20);
        round += 1;
    }
    sessions.into_iter().try_for_each(Endless::end)?;
    say(&format!("soak: {round} rounds, nothing broke"));
    Ok(())
}

/// A session that never ends.
struct Endless {
    source: &'static Source,
    stream: generate::Stream,
    player: Player,
    ledger: Ledger,
    projections: Vec<Box<dyn Projection>>,
    bytes: u64,
}

impl Endless {
    fn new(source: &'static Source, stream: generate::Stream) -> Self {
        let projections = DIALECTS.iter().map(|dialect| (dialect.projection)()).collect();
        let (player, ledger) = (Player::new(source), Ledger::new(Reuse::AfterEnd));
        Self { source, stream, player, ledger, projections, bytes: 0 }
    }

    fn go_on(&mut self) -> anyhow::Result<()> {
        let mut piece = Vec::new();
        self.bytes += self.stream.write(PIECE, &mut piece)?;
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            said(line).into_iter().for_each(|said| self.ledger.said(said));
            let mut events = Vec::new();
            self.player.push(line, &mut events);
            see(&mut self.ledger, &mut self.projections, &events)?;
        }
        Ok(())
    }

    fn end(mut self) -> anyhow::Result<()> {
        let mut events = Vec::new();
        self.player.end(&mut events);
        see(&mut self.ledger, &mut self.projections, &events)?;
        Ok(self.ledger.finish()?)
    }
}

fn see(ledger: &mut Ledger, projections: &mut [Box<dyn Projection>], events: &[Event]) -> anyhow::Result<()> {
    let mut messages = Messages::default();
    for event in events {
        ledger.see(event)?;
        for projection in &mut *projections {
            projection.event(event, &mut messages);
            messages.clear();
        }
    }
    Ok(())
}

/// The memory that this process uses now.
fn memory() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("memory is read from /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let Some(kilobytes) = line.and_then(|line| line.trim().strip_suffix(" kB")) else {
        bail!("/proc/self/status does not say VmRSS");
    };
    Ok(kilobytes.parse::<u64>()? << 10)
}
