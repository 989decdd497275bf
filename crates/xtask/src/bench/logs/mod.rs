//! `bench logs`: latency of common questions about logs, compared with the budgets and with similar programs on the
//! same logs in the same run. A figure over its budget is reported but is not a failure; a wrong count is.

pub mod corpus;
pub mod own_index;
mod peers;
pub mod timed;

use anyhow::ensure;
use clap::Args;
use corpus::{BenchCorpus, BenchTruth};
use own_index::OwnLogBench;
use peers::PeerLogBench;
use timed::RunStatistics;

use super::{build_release, format_table};
use crate::print_line;
use crate::process::{cargo_command, run_program};

/// Measure reading, counting, searching and watching logs
#[derive(Args)]
pub struct LogsBench {
    /// How many megabytes of logs
    #[arg(long, default_value_t = 500)]
    size: u64,
    /// In about how many files
    #[arg(long, default_value_t = 300)]
    files: u64,
    /// Chance; the same seed writes the same logs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often each is measured; what is quick more often
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Without other programs
    #[arg(long)]
    alone: bool,
    /// Measure the programs that are there, and build none
    #[arg(long)]
    no_build: bool,
    /// Remove the logs afterwards
    #[arg(long)]
    remove: bool,
}

pub fn run(args: &LogsBench) -> anyhow::Result<()> {
    if !args.no_build {
        build_release()?;
        run_program(&mut cargo_command(&["build", "--release", "--package", "switchboard-testkit"]))?;
    }
    let corpus = BenchCorpus::find_or_write(args.size, args.files, args.seed)?;
    if !corpus::drop_page_cache() {
        print_line("NOT MEASURED  with a cold cache: only root can empty it");
    }
    let program = OwnLogBench::new(&corpus, args.runs)?;
    let peers = match args.alone {
        true => Err("they were not asked for".to_owned()),
        false => PeerLogBench::new(&corpus, &program, args.runs),
    };
    let mut ours = program.measure_all();
    let theirs = match peers {
        Ok(peers) => peers.measure_all(),
        Err(why) => {
            print_line(&format!("NOT MEASURED  other programs: {why}"));
            peers::PeerLogFigures::default()
        }
    };
    // Figures measured in alternation with the peer are the ones to compare.
    ours.first = theirs.first.map(|(ours, _)| ours).or(ours.first);
    ours.first_cold = theirs.first_cold.map(|(ours, _)| ours).or(ours.first_cold);
    print_report(&ours, &theirs, &corpus.truth);
    let exact = ours.tokens.is_none_or(|tokens| tokens == corpus.truth.all.total_tokens());
    if args.remove {
        corpus.remove()?;
    }
    ensure!(exact, "the tokens are not those of the corpus");
    Ok(())
}

struct LogFigureRow {
    what: &'static str,
    unit: &'static str,
    ours: Option<f64>,
    median: Option<f64>,
    processor: Option<f64>,
    budget: Option<f64>,
    peer: Option<(&'static str, RunStatistics)>,
}

/// Prints all figures, including those over budget.
pub fn print_report(ours: &own_index::OwnLogFigures, peers: &peers::PeerLogFigures, truth: &BenchTruth) {
    let rows = figure_rows(ours, peers);
    print_line("\nthe least of all runs, the one in the middle, and what processors did for one; ! is over the budget");
    print_line(&format_table(
        &["", "", "least", "median", "processor", "budget", "other", "its processor", "", "ratio", "of processor"],
        &rows.iter().map(LogFigureRow::to_cells).collect::<Vec<_>>(),
    ));
    let missed: Vec<_> = rows.iter().filter(|row| !row.is_within_budget()).map(|row| row.what).collect();
    let missed = if missed.is_empty() { "none".to_owned() } else { missed.join(", ") };
    print_line(&format!("over the budget: {missed}"));
    let not_measured: Vec<_> = rows.iter().filter(|row| row.ours.is_none()).map(|row| row.what).collect();
    if !not_measured.is_empty() {
        print_line(&format!("NOT MEASURED  {}", not_measured.join(", ")));
    }
    let counted = |tokens: Option<u64>| {
        tokens.map_or_else(|| "not measured".to_owned(), |tokens| describe_count(tokens, truth.all.total_tokens()))
    };
    print_line(&format!("\ntokens in the logs: {}", truth.all.total_tokens()));
    print_line(&format!("switchboard counts {}", counted(ours.tokens)));
    print_line(&format!("{} counts {}", peers::CCUSAGE, counted(peers.tokens)));
}

fn describe_count(tokens: u64, truth: u64) -> String {
    if tokens == truth {
        return format!("{tokens}: exact");
    }
    let (sign, off) = if tokens > truth { ("too many", tokens - truth) } else { ("too few", truth - tokens) };
    format!("{tokens}: {off} {sign}")
}

fn figure_rows(ours: &own_index::OwnLogFigures, peers: &peers::PeerLogFigures) -> Vec<LogFigureRow> {
    let counter = |runs: &Option<RunStatistics>| runs.map(|runs| (peers::CCUSAGE, runs));
    let tracer = |runs: &Option<RunStatistics>| runs.map(|runs| (peers::AGTRACE, runs));
    // The goal is twice the speed of the peer, so the budget is half of its time.
    let half = |runs: &Option<RunStatistics>| runs.map(|runs| runs.least / 2.0);
    let theirs = |pair: &Option<(RunStatistics, RunStatistics)>| pair.map(|(_, theirs)| theirs);
    let (usage, usage_cold) = (theirs(&peers.first), theirs(&peers.first_cold));
    let row = |what, runs: &Option<RunStatistics>, budget, peer| LogFigureRow {
        what,
        unit: "ms",
        ours: runs.map(|runs| runs.least),
        median: runs.map(|runs| runs.median),
        processor: runs.map(|runs| runs.processor),
        budget,
        peer,
    };
    let figure = |what, unit, ours, budget| LogFigureRow {
        what,
        unit,
        ours,
        median: None,
        processor: None,
        budget: Some(budget),
        peer: None,
    };
    vec![
        row("first usage, cold", &ours.first_cold, half(&usage_cold), counter(&usage_cold)),
        row("first usage, warm", &ours.first, half(&usage).or(Some(500.0)), counter(&usage)),
        row("usage again", &ours.again, Some(30.0), counter(&usage)),
        row("usage after an appended line", &ours.grown, Some(50.0), counter(&peers.usage_grown)),
        row("search of a rare word", &ours.rare, Some(15.0), tracer(&peers.search)),
        row("the same beside grep", &ours.rare, Some(15.0), peers.grep.map(|runs| ("grep", runs))),
        row("search of a rare word, cold", &ours.rare_cold, None, None),
        row("search of the commonest word", &ours.common, None, None),
        row("full index, cold", &ours.scan_cold, Some(2_000.0), None),
        row("full index, warm", &ours.scan, Some(2_000.0), tracer(&peers.index)),
        figure("most memory of it", "MB", ours.scan_megabytes, 150.0),
        LogFigureRow { budget: None, ..figure("size of the index", "MB", ours.index_megabytes, 0.0) },
        row("an appended line is shown by watch", &ours.watch, Some(100.0), None),
        figure("processor of watch while idle", "%", ours.watch_percent, 1.0),
    ]
}

impl LogFigureRow {
    /// Returns whether the budget is kept; true if nothing was measured.
    fn is_within_budget(&self) -> bool {
        self.ours.zip(self.budget).is_none_or(|(ours, budget)| ours <= budget)
    }

    fn to_cells(&self) -> Vec<String> {
        let shown = |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), format_figure);
        let mark = if self.is_within_budget() { "" } else { " !" };
        let ratio = |ours: Option<f64>, peer: fn(&RunStatistics) -> f64| {
            let ratio =
                ours.zip(self.peer).map(|(ours, (_, runs))| peer(&runs) / ours).filter(|ratio| ratio.is_finite());
            ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.1}×"))
        };
        vec![
            self.what.to_owned(),
            self.unit.to_owned(),
            format!("{}{mark}", shown(self.ours)),
            shown(self.median),
            shown(self.processor),
            self.budget.map_or_else(|| "–".to_owned(), |budget| format!("≤ {}", format_figure(budget))),
            shown(self.peer.map(|(_, runs)| runs.least)),
            shown(self.peer.map(|(_, runs)| runs.processor)),
            self.peer.map_or_else(String::new, |(name, _)| name.to_owned()),
            ratio(self.ours, |runs| runs.least),
            ratio(self.processor, |runs| runs.processor),
        ]
    }
}

fn format_figure(figure: f64) -> String {
    if figure >= 100.0 { format!("{figure:.0}") } else { format!("{figure:.1}") }
}
