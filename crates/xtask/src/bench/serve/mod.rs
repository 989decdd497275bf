//! `bench serve`: the server under load, compared with its budgets and with a similar server measured in the same run.
//! Clients and fake agents are in the test kit; every figure is printed with its command.

mod budgets;
mod cases;
mod peer;

use anyhow::{Context as _, ensure};
use clap::Args;

use self::{cases::LoadCaseRunner, peer::PeerServerBench};
use super::{
    programs::{TranslationNames, build_release, release_program},
    table::format_table,
};
use crate::{
    isolation::NetworkIsolation,
    print_line,
    process::{cargo_command, run_program},
};

/// Measure the server under load: what is lost, how fast, how late, how much memory
#[derive(Args)]
pub struct ServeBench {
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

pub fn run(args: &ServeBench) -> anyhow::Result<()> {
    build_release()?;
    run_program(&mut cargo_command(&["build", "--release", "--package", "switchboard-testkit"]))?;
    let isolation = NetworkIsolation::find();
    let peer =
        if args.alone { Err("it was not asked for".to_owned()) } else { PeerServerBench::find_or_install(&isolation) };
    let ours = LoadCaseRunner::for_switchboard(&release_program("switchboard"), isolation.as_ref().ok());
    let names = TranslationNames::load_selected(None, args.dialect.as_deref())?;
    let mut figures = cases::measure_all(args, &ours, names.dialects.first().context("no dialect")?)?;
    match &peer {
        Ok(peer) => figures.peer = Some(peer.measure_all(args)?),
        Err(why) => print_line(&format!("NOT MEASURED  {}: {why}", peer::PEER_NAME)),
    }
    print_line("\nevery reader, and what it missed");
    print_line(&format_table(
        &["", "", "messages", "lost", "connections", "s", "messages/s", "MB"],
        &figures.reader_rows(),
    ));
    print_line("\nbeside the budgets");
    let rows = budgets::budget_rows(&figures);
    print_line(&format_table(
        &["", "", "switchboard", "budget", peer::PEER_NAME, "ratio"],
        &rows.iter().map(|row| row.to_cells()).collect::<Vec<_>>(),
    ));
    let over: Vec<_> = rows.iter().filter(|row| !row.is_within_budget()).map(|row| row.what).collect();
    ensure!(over.is_empty(), "over budget: {}", over.join(", "));
    Ok(())
}
