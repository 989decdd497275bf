//! `bench board`: the page's weight, first paint, and the cost of watching a busy session and of opening a long one, in
//! a real browser with its own trace and counters, compared with the budgets.

use anyhow::{Context as _, ensure};
use clap::Args;
use serde_json::Value;

use super::format_table;
use crate::{browser::release_command, print_line, process::read_output};

/// Measure the page in a real browser: weight, first paint, a busy session, a long one
#[derive(Args)]
pub struct BoardBench {
    /// For how long a busy session is watched
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// How many events a second it has
    #[arg(long, default_value_t = 1_000)]
    rate: u64,
    /// How often pages are loaded
    #[arg(long, default_value_t = 10)]
    runs: u32,
    /// Only the case with this in its name: paint, stream, open
    #[arg(long, default_value = "")]
    only: String,
}

/// Case, field, description, divisor, unit and budget.
type BoardFigure = (&'static str, &'static str, &'static str, f64, &'static str, Option<f64>);

const BOARD_FIGURES: &[BoardFigure] = &[
    ("paint", "bytes", "page without content, uncompressed", 1_000.0, "KB", Some(150.0)),
    ("paint", "files", "files of it", 1.0, "", None),
    ("paint", "first_paint_ms", "first paint, median", 1.0, "ms", Some(200.0)),
    ("paint", "content_paint_ms", "first paint with content, median", 1.0, "ms", Some(200.0)),
    ("paint", "content_paint_most_ms", "first paint with content, slowest", 1.0, "ms", None),
    ("stream", "events_a_second", "events of the busy session", 1.0, "1/s", None),
    ("stream", "busy_percent", "main thread busy", 1.0, "%", Some(50.0)),
    ("stream", "script_percent", "of that in scripts", 1.0, "%", None),
    ("stream", "layout_percent", "of that in layout and painting", 1.0, "%", None),
    ("stream", "longest_ms", "longest task", 1.0, "ms", None),
    ("stream", "heap_mb", "heap of the page", 1.0, "MB", None),
    ("stream", "heap_growth_mb", "grown meanwhile", 1.0, "MB", Some(5.0)),
    ("stream", "nodes", "nodes of the page", 1.0, "", None),
    ("stream", "nodes_growth", "more meanwhile", 1.0, "", Some(2_000.0)),
    ("stream", "server_mb", "memory of the server", 1.0, "MB", None),
    ("open", "session_events", "events of the long session", 1.0, "", None),
    ("open", "first_ms", "its end is shown, after a restart", 1.0, "ms", Some(1_000.0)),
    ("open", "again_ms", "its end is shown, again", 1.0, "ms", Some(300.0)),
    ("open", "elements", "elements of its page", 1.0, "", Some(4_000.0)),
];

pub fn run(args: &BoardBench) -> anyhow::Result<()> {
    let (mut cells, mut over) = (Vec::new(), Vec::new());
    for case in ["paint", "stream", "open"].into_iter().filter(|case| case.contains(&args.only)) {
        let figures = measure_case(case, args)?;
        for (_, field, what, by, unit, budget) in BOARD_FIGURES.iter().filter(|row| row.0 == case) {
            let figure = figures[*field].as_f64().with_context(|| format!("no {field}"))? / by;
            let is_over = budget.is_some_and(|budget| figure > budget);
            let mark = if is_over { " !" } else { "" };
            let budget = budget.map_or_else(|| "–".to_owned(), |budget| format!("≤ {budget}"));
            cells.push(vec![(*what).to_owned(), (*unit).to_owned(), format!("{figure:.1}{mark}"), budget]);
            over.extend(is_over.then_some(*what));
        }
    }
    print_line(&format_table(&["", "", "the page", "budget"], &cells));
    ensure!(over.is_empty(), "over budget: {}", over.join(", "));
    Ok(())
}

fn measure_case(case: &str, args: &BoardBench) -> anyhow::Result<Value> {
    let BoardBench { seconds, rate, runs, .. } = args;
    let (seconds, rate, runs) = (seconds.to_string(), rate.to_string(), runs.to_string());
    let words = ["measure", case, "--seconds", &seconds, "--rate", &rate, "--runs", &runs];
    print_line(&format!("$ switchboard-browser {}", words.join(" ")));
    let said = read_output(&mut release_command(&words)?)?;
    let line = said.lines().last().context("nothing was said")?;
    print_line(line);
    Ok(serde_json::from_str(line)?)
}
