//! The figures as a table: ours, the budget, the others, and how many times better we are.

use super::{corpus::Truth, ours, peers, timed::Runs};
use crate::{bench::table::table, say};

/// One line of the table.
struct Row {
    what: &'static str,
    unit: &'static str,
    ours: Option<f64>,
    median: Option<f64>,
    processor: Option<f64>,
    budget: Option<f64>,
    peer: Option<(&'static str, Runs)>,
}

/// Shows everything, also what is over its budget.
pub fn show(ours: &ours::Figures, peers: &peers::Figures, truth: &Truth) {
    let rows = rows(ours, peers);
    say("\nthe least of all runs, the one in the middle, and what processors did for one; ! is over the budget");
    say(&table(
        &["", "", "least", "median", "processor", "budget", "other", "its processor", "", "ratio", "of processor"],
        &rows.iter().map(Row::cells).collect::<Vec<_>>(),
    ));
    let missed: Vec<_> = rows.iter().filter(|row| !row.is_kept()).map(|row| row.what).collect();
    let missed = if missed.is_empty() { "none".to_owned() } else { missed.join(", ") };
    say(&format!("over the budget: {missed}"));
    let not_measured: Vec<_> = rows.iter().filter(|row| row.ours.is_none()).map(|row| row.what).collect();
    if !not_measured.is_empty() {
        say(&format!("NOT MEASURED  {}", not_measured.join(", ")));
    }
    let counted = |tokens: Option<u64>| {
        tokens.map_or_else(|| "not measured".to_owned(), |tokens| share(tokens, truth.all.total()))
    };
    say(&format!("\ntokens in the logs: {}", truth.all.total()));
    say(&format!("switchboard counts {}", counted(ours.tokens)));
    say(&format!("{} counts {}", peers::COUNTER, counted(peers.tokens)));
}

fn share(tokens: u64, truth: u64) -> String {
    if tokens == truth {
        return format!("{tokens}: exact");
    }
    let (sign, off) = if tokens > truth { ("too many", tokens - truth) } else { ("too few", truth - tokens) };
    format!("{tokens}: {off} {sign}")
}

fn rows(ours: &ours::Figures, peers: &peers::Figures) -> Vec<Row> {
    let counter = |runs: &Option<Runs>| runs.map(|runs| (peers::COUNTER, runs));
    let tracer = |runs: &Option<Runs>| runs.map(|runs| (peers::TRACER, runs));
    // What must be twice as fast as the other has half of its time.
    let half = |runs: &Option<Runs>| runs.map(|runs| runs.least / 2.0);
    let theirs = |pair: &Option<(Runs, Runs)>| pair.map(|(_, theirs)| theirs);
    let (usage, usage_cold) = (theirs(&peers.first), theirs(&peers.first_cold));
    let row = |what, runs: &Option<Runs>, budget, peer| Row {
        what,
        unit: "ms",
        ours: runs.map(|runs| runs.least),
        median: runs.map(|runs| runs.median),
        processor: runs.map(|runs| runs.processor),
        budget,
        peer,
    };
    let figure = |what, unit, ours, budget| Row {
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
        Row { budget: None, ..figure("size of the index", "MB", ours.index_megabytes, 0.0) },
        row("an appended line is shown by watch", &ours.watch, Some(100.0), None),
        figure("processor of watch while idle", "%", ours.watch_percent, 1.0),
    ]
}

impl Row {
    /// The budget is kept, or nothing was measured.
    fn is_kept(&self) -> bool {
        self.ours.zip(self.budget).is_none_or(|(ours, budget)| ours <= budget)
    }

    fn cells(&self) -> Vec<String> {
        let shown = |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), number);
        let mark = if self.is_kept() { "" } else { " !" };
        let ratio = |ours: Option<f64>, peer: fn(&Runs) -> f64| {
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
            self.budget.map_or_else(|| "–".to_owned(), |budget| format!("≤ {}", number(budget))),
            shown(self.peer.map(|(_, runs)| runs.least)),
            shown(self.peer.map(|(_, runs)| runs.processor)),
            self.peer.map_or_else(String::new, |(name, _)| name.to_owned()),
            ratio(self.ours, |runs| runs.least),
            ratio(self.processor, |runs| runs.processor),
        ]
    }
}

fn number(figure: f64) -> String {
    if figure >= 100.0 { format!("{figure:.0}") } else { format!("{figure:.1}") }
}
