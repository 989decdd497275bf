//! `bench serve`: the server under load, compared with its budgets and with a similar server measured in the same run.
//! Clients and fake agents are in the test kit; every figure is printed with its command.

mod cases;
mod peer;

use anyhow::{Context as _, ensure};
use cases::{DelayFigures, LoadCaseRunner, ReaderCase, ReaderFigures, ServeFigures, StartFigures};
use clap::Args;
use peer::PeerServerBench;

use super::{TranslationNames, build_release, format_table, release_program};
use crate::print_line;
use crate::process::{cargo_command, run_program};
use crate::tools::NetworkIsolation;

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
    /// The dialect to compare with the events themselves; by default the first
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
    let rows = budget_rows(&figures);
    print_line(&format_table(
        &["", "", "switchboard", "budget", peer::PEER_NAME, "ratio"],
        &rows.iter().map(|row| row.to_cells()).collect::<Vec<_>>(),
    ));
    let over: Vec<_> = rows.iter().filter(|row| !row.is_within_budget()).map(|row| row.what).collect();
    ensure!(over.is_empty(), "over budget: {}", over.join(", "));
    Ok(())
}

struct BudgetRow {
    pub what: &'static str,
    unit: &'static str,
    ours: Option<f64>,
    limit: BudgetLimit,
    peer: Option<f64>,
}

#[derive(Clone, Copy)]
enum BudgetLimit {
    AtMost(f64),
    AtLeast(f64),
}

impl BudgetRow {
    /// Returns whether the budget is kept; true if nothing was measured.
    fn is_within_budget(&self) -> bool {
        self.ours.is_none_or(|ours| match self.limit {
            BudgetLimit::AtMost(most) => ours <= most,
            BudgetLimit::AtLeast(least) => ours >= least,
        })
    }

    /// The ratio is above 1 where Switchboard is better.
    fn to_cells(&self) -> Vec<String> {
        let shown = |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), format_figure);
        let (sign, limit) = match self.limit {
            BudgetLimit::AtMost(limit) => ("≤", limit),
            BudgetLimit::AtLeast(limit) => ("≥", limit),
        };
        let ratio = self.ours.zip(self.peer).map(|(ours, peer)| match self.limit {
            BudgetLimit::AtMost(_) => peer / ours,
            BudgetLimit::AtLeast(_) => ours / peer,
        });
        let mark = if self.is_within_budget() { "" } else { " !" };
        let ours = format!("{}{mark}", shown(self.ours));
        let ratio =
            ratio.filter(|ratio| ratio.is_finite()).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.1}×"));
        vec![
            self.what.to_owned(),
            self.unit.to_owned(),
            ours,
            if limit.is_finite() { format!("{sign} {}", format_figure(limit)) } else { "–".to_owned() },
            shown(self.peer),
            ratio,
        ]
    }
}

fn format_figure(figure: f64) -> String {
    if figure >= 1_000.0 {
        format!("{figure:.0}")
    } else if figure >= 10.0 {
        format!("{figure:.1}")
    } else {
        format!("{figure:.2}")
    }
}

fn budget_rows(figures: &ServeFigures) -> Vec<BudgetRow> {
    [throughput_rows(figures), latency_rows(figures), start_rows(figures), memory_rows(figures), return_rows(figures)]
        .into_iter()
        .flatten()
        .collect()
}

fn at_most_row(what: &'static str, unit: &'static str, ours: Option<f64>, limit: f64, peer: Option<f64>) -> BudgetRow {
    BudgetRow { what, unit, ours, limit: BudgetLimit::AtMost(limit), peer }
}

fn throughput_rows(figures: &ServeFigures) -> Vec<BudgetRow> {
    let lost = |cases: &[ReaderCase]| {
        (!cases.is_empty()).then(|| cases.iter().map(|(_, _, readers)| count_to_f64(readers.lost)).sum())
    };
    let peer = figures.peer.as_ref();
    let rate = |readers: &Option<ReaderFigures>| readers.as_ref().map(|readers| readers.per_second);
    vec![
        at_most_row(
            "messages lost by all readers",
            "",
            lost(&figures.cases),
            0.0,
            peer.and_then(|peer| lost(&peer.cases)),
        ),
        BudgetRow {
            what: "throughput, one reader",
            unit: "events/s",
            ours: rate(&figures.throughput),
            limit: BudgetLimit::AtLeast(200_000.0),
            peer: peer.and_then(|peer| rate(&peer.throughput)),
        },
    ]
}

fn latency_rows(figures: &ServeFigures) -> Vec<BudgetRow> {
    let peer = figures.peer.as_ref().and_then(|peer| peer.delays.as_ref());
    let (other, events) = (figures.delays.as_ref(), figures.events_delays.as_ref());
    let (half, most) = (|delays: &DelayFigures| delays.p50_ms, |delays: &DelayFigures| delays.p99_ms);
    vec![
        at_most_row("latency p50", "ms", other.map(half), 0.3, peer.map(half)),
        at_most_row("latency p99", "ms", other.map(most), 2.0, peer.map(most)),
        at_most_row("latency p50, events as they are", "ms", events.map(half), 0.3, peer.map(half)),
        at_most_row("latency p99, events as they are", "ms", events.map(most), 2.0, peer.map(most)),
    ]
}

fn start_rows(figures: &ServeFigures) -> Vec<BudgetRow> {
    let (ours, peer) = (figures.starts.as_ref(), figures.peer.as_ref().and_then(|peer| peer.starts.as_ref()));
    let (least, median) = (|starts: &StartFigures| starts.least_ms, |starts: &StartFigures| starts.median_ms);
    let idle = |starts: &StartFigures| kilobytes_to_megabytes(starts.idle_kb);
    vec![
        at_most_row("start to first answer, least", "ms", ours.map(least), 50.0, peer.map(least)),
        at_most_row("start to first answer, median", "ms", ours.map(median), 50.0, peer.map(median)),
        at_most_row("memory, idle", "MB", ours.map(idle), 20.0, peer.map(idle)),
    ]
}

fn memory_rows(figures: &ServeFigures) -> Vec<BudgetRow> {
    let ours = figures.returns.as_ref();
    let peer = figures.peer.as_ref().and_then(|peer| peer.many.as_ref());
    let stalled = figures.stalled.as_ref().map(|it| kilobytes_to_megabytes(it.added_peak_kb));
    let (now, then) =
        (ours.map(|it| kilobytes_to_megabytes(it.memory_kb)), ours.map(|it| kilobytes_to_megabytes(it.memory_peak_kb)));
    vec![
        at_most_row(
            "memory after the long session",
            "MB",
            now,
            60.0,
            peer.map(|it| kilobytes_to_megabytes(it.memory_kb)),
        ),
        at_most_row(
            "most memory in the long session",
            "MB",
            then,
            60.0,
            peer.map(|it| kilobytes_to_megabytes(it.memory_peak_kb)),
        ),
        at_most_row("memory for 200 stalled readers", "MB", stalled, 100.0, None),
    ]
}

/// The peer forgets all but the last messages, so clients cannot return to it.
fn return_rows(figures: &ServeFigures) -> Vec<BudgetRow> {
    let ours = figures.returns.as_ref();
    vec![
        at_most_row("back at its end, first message", "ms", ours.map(|returns| returns.again_ms), 50.0, None),
        // The first read in a dialect projects the whole session; there is no budget for that.
        at_most_row("the very first time", "ms", ours.map(|returns| returns.first_ms), f64::INFINITY, None),
        at_most_row("the same after a restart", "ms", ours.map(|returns| returns.after_restart_ms), 50.0, None),
    ]
}

fn kilobytes_to_megabytes(kilobytes: f64) -> f64 {
    kilobytes / 1024.0
}

#[expect(clippy::cast_precision_loss, reason = "shown in a table")]
fn count_to_f64(number: u64) -> f64 {
    number as f64
}
