//! `bench serve`: what a server does under load, beside its budgets and beside another server of its kind that is
//! measured in the same run. The clients and the fake agents are in the test kit; every figure comes with the command
//! that gives it.

mod budgets;
mod cases;
mod peer;

use anyhow::{Context as _, ensure};
use clap::Args;

use self::{cases::Cases, peer::Peer};
use super::{
    programs::{Names, build, built},
    table::table,
};
use crate::{
    isolation::Isolation,
    process::{cargo, run as run_program},
    say,
};

/// Measure the server under load: what is lost, how fast, how late, how much memory
#[derive(Args)]
pub struct Serve {
    /// How many deltas the agent writes
    #[arg(long, default_value_t = 200_000)]
    deltas: u64,
    /// How many deltas a long session has
    #[arg(long, default_value_t = 1_000_000)]
    many: u64,
    /// How many deltas the session has that stalled clients ask for
    #[arg(long, default_value_t = 2_000_000)]
    stalled: u64,
    /// How many readers are many
    #[arg(long, default_value_t = 50)]
    readers: u32,
    /// How often the throughput is measured; the best counts
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Only what has this in its name
    #[arg(long, default_value = "")]
    only: String,
    /// The dialect beside the events themselves; by default the first
    #[arg(long)]
    dialect: Option<String>,
    /// Without the other server
    #[arg(long)]
    alone: bool,
}

/// Runs the command.
pub fn run(args: &Serve) -> anyhow::Result<()> {
    build()?;
    run_program(&mut cargo(&["build", "--release", "--package", "switchboard-testkit"]))?;
    let isolation = Isolation::find();
    let peer = if args.alone { Err("it was not asked for".to_owned()) } else { Peer::find(&isolation) };
    let ours = Cases::ours(&built("switchboard"), isolation.as_ref().ok());
    let names = Names::chosen(None, args.dialect.as_deref())?;
    let mut figures = cases::all(args, &ours, names.dialects.first().context("no dialect")?)?;
    match &peer {
        Ok(peer) => figures.peer = Some(peer.all(args)?),
        Err(why) => say(&format!("NOT MEASURED  {}: {why}", peer::NAME)),
    }
    say("\nevery reader, and what it missed");
    say(&table(&["", "", "messages", "lost", "connections", "s", "messages/s", "MB"], &figures.readers()));
    say("\nbeside the budgets");
    let rows = budgets::rows(&figures);
    say(&table(
        &["", "", "switchboard", "budget", peer::NAME, "ratio"],
        &rows.iter().map(|row| row.cells()).collect::<Vec<_>>(),
    ));
    let over: Vec<_> = rows.iter().filter(|row| !row.is_kept()).map(|row| row.what).collect();
    ensure!(over.is_empty(), "over budget: {}", over.join(", "));
    Ok(())
}
