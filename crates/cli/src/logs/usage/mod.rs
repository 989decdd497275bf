//! `switchboard logs usage`: what was used, and what it cost.

mod chart;
mod figures;
mod remarks;
mod table;

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use switchboard_agents::ScanDepth;
use switchboard_logs::usage::{Row, UsageGrouping, UsageOrder, UsageQuestion, usage_csv};

use super::{
    filter::{self, Only},
    place::Place,
    prices::prices,
};
use crate::{failure::Failure, host, short_ids::ShortIds, terminal::Terminal};

/// Tokens and cost: by day, week, month, session, project, model, agent, tool, subagent or 5-hour block
///
/// Each reply of a model counts once, however often logs repeat it: over blocks, retries, forks, copies of sessions and
/// subagents. Tokens in are those that were not cached, tokens out include reasoning, and the total is in + out + cache
/// read + cache write.
///
/// Cost is what the agent says, else what the tokens cost at the makers' list prices, also where a subscription pays.
/// Models without a price are listed and not guessed; prices.json in the data folder, or --prices, adds and replaces
/// prices: {"models":{"NAME":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75,"cacheWrite1h":6}}}, in dollars
/// for a million tokens, or {"models":{"NAME":"OTHER NAME"}}.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Usage {
    /// What replies are put together by
    #[arg(long, value_name = "WHAT", default_value = "day", value_parser = by())]
    by: UsageGrouping,
    #[command(flatten)]
    only: Only,
    /// One JSON object a line, and nothing else
    #[arg(long, help_heading = "Output", conflicts_with_all = ["csv", "chart"])]
    json: bool,
    /// Comma-separated values, with a line of titles
    #[arg(long, help_heading = "Output", conflicts_with = "chart")]
    csv: bool,
    /// Bars instead of a table, of tokens or of cost
    #[arg(long, help_heading = "Output", value_name = "OF", num_args = 0..=1, require_equals = true, default_missing_value = "tokens", value_parser = ["tokens", "cost"])]
    chart: Option<String>,
    /// What each model used, below each row
    #[arg(long, help_heading = "Output", conflicts_with = "chart")]
    breakdown: bool,
    /// The order of rows [default: key along time, else cost]
    #[arg(long, help_heading = "Output", value_name = "BY", value_parser = order())]
    sort: Option<UsageOrder>,
    /// The other way round
    #[arg(long, help_heading = "Output")]
    reverse: bool,
    /// Only the first rows, as they are sorted; along time, the latest
    #[arg(long, short = 'n', help_heading = "Output", value_name = "N")]
    limit: Option<usize>,
    /// Prices to add or replace, in place of prices.json in the data folder
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    prices: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  switchboard logs usage --since 7d
  switchboard logs usage --by project --since 2026-11 --breakdown
  switchboard logs usage --by block --chart
  switchboard logs usage --by model --json | jq -r '[.key, .costUsd] | @tsv'";

/// Runs the command.
pub fn run(args: &Usage, place: &Place) -> Result<(), Failure> {
    // What is wrong with the options is said before anything is read.
    let zone = args.only.zone()?;
    let wanted = args.only.filter(&zone)?;
    let prices = prices(args.prices.as_deref(), &place.data()?)?;
    let question =
        || UsageQuestion { by: args.by, zone: &zone, now: host::now(), prices: &prices, breakdown: args.breakdown };
    let (library, report, mut usage) = place.ask(ScanDepth::Tokens, |library| {
        Ok(library.usage_report(&filter::resolve(wanted.clone(), library)?, &question())?)
    })?;
    let question = question();
    let more = args.arrange(&mut usage.rows);
    let terminal = Terminal::new();
    let mut text = match (args.json, args.csv, &args.chart) {
        (true, ..) => json(&usage.rows),
        (_, true, _) => usage_csv(&usage.rows, args.by, args.breakdown),
        (.., Some(what)) => {
            let short_ids = ShortIds::of_library(&library)?;
            chart::chart(&usage.rows, what == "cost", &question, &short_ids, &terminal)
        }
        _ => table::table(&usage, &question, &terminal),
    };
    let for_people = !args.json && !args.csv;
    if for_people {
        let remarks = remarks::Remarks { more, has_total: args.chart.is_none(), room: terminal.room() };
        text.push_str(&remarks.of(&usage, &report, &question));
    }
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

impl Usage {
    /// Puts rows in the order that was asked for, and leaves out the rest. How many were left out.
    fn arrange(&self, rows: &mut Vec<Row>) -> usize {
        if let Some(order) = self.sort {
            order.sort_rows(rows);
        }
        let Some(limit) = self.limit.filter(|limit| *limit < rows.len()) else {
            self.turn(rows);
            return 0;
        };
        let more = rows.len() - limit;
        if self.sort.is_none() && self.by.is_time_based() {
            rows.drain(..more);
            self.turn(rows);
        } else {
            self.turn(rows);
            rows.truncate(limit);
        }
        more
    }

    fn turn(&self, rows: &mut [Row]) {
        if self.reverse {
            rows.reverse();
        }
    }
}

fn json(rows: &[Row]) -> String {
    let line = |row: &Row| serde_json::to_string(row).unwrap_or_default() + "\n";
    rows.iter().map(line).collect()
}

fn by() -> impl TypedValueParser<Value = UsageGrouping> {
    let names = UsageGrouping::ALL.map(|by| PossibleValue::new(by.as_str()).help(by.description()));
    PossibleValuesParser::new(names).map(|name| name.parse().unwrap_or(UsageGrouping::Day))
}

fn order() -> impl TypedValueParser<Value = UsageOrder> {
    let names = UsageOrder::ALL.map(|order| PossibleValue::new(order.as_str()));
    PossibleValuesParser::new(names).map(|name| name.parse().unwrap_or(UsageOrder::Key))
}
