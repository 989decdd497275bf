//! `switchboard logs usage`: tokens and cost.

mod chart;
mod table;

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use chart::render_chart;
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use switchboard_agents::ScanDepth;
use switchboard_logs::{
    ScanReport,
    usage::{Row, TokenPrices, Unpriced, Usage, UsageGrouping, UsageOrder, UsageQuestion, usage_csv},
};
use table::{format_clock, format_grouped, format_money, render_table};

use super::{
    LogLocationArgs,
    filter::{self, LogFilterArgs, load_prices},
    on_server,
};
use crate::{
    failure::Failure,
    host,
    remote::ServerClient,
    short_ids::ShortIds,
    terminal::Terminal,
    view::{
        figures::{format_tokens, pluralize},
        sanitize::sanitize_line,
        style::{PLAIN, wrap_texts},
    },
};

const EXAMPLES: &str = "Examples:
  switchboard logs usage --since 7d
  switchboard logs usage --by project --since 2026-11 --breakdown
  switchboard logs usage --by block --chart
  switchboard logs usage --by model --json | jq -r '[.key, .costUsd] | @tsv'";

/// The most rows that a server returns.
const MAX_SERVER_ROWS: usize = 10_000;

/// Maximum number of models without a price that are named.
const MAX_NAMED_MODELS: usize = 6;

/// Report tokens and cost
///
/// Each model reply counts once, however often logs repeat it: in blocks, retries, forks, copies of sessions and
/// subagents. Input tokens exclude cached ones, output tokens include reasoning, and the total is input + output +
/// cache read + cache write.
///
/// The cost is the one that the agent reports, otherwise that of the tokens at the providers' list prices, even if a
/// subscription pays for them. Models without a price are listed and not guessed; prices.json in the data directory, or
/// --prices, adds and replaces prices:
/// {"models":{"NAME":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75,"cacheWrite1h":6}}}, in dollars per
/// million tokens, or {"models":{"NAME":"OTHER NAME"}}.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct UsageArgs {
    /// Group usage by
    #[arg(long, value_name = "WHAT", default_value = "day", value_parser = grouping_parser())]
    by: UsageGrouping,
    #[command(flatten)]
    filter: LogFilterArgs,
    /// Print one JSON object per line, and nothing else
    #[arg(long, help_heading = "Output", conflicts_with_all = ["csv", "chart"])]
    json: bool,
    /// Print comma-separated values with a header line
    #[arg(long, help_heading = "Output", conflicts_with = "chart")]
    csv: bool,
    /// Draw bars instead of a table, for tokens or cost
    #[arg(long, help_heading = "Output", value_name = "OF", num_args = 0..=1, require_equals = true, default_missing_value = "tokens", value_parser = ["tokens", "cost"])]
    chart: Option<String>,
    /// List the usage of each model below each row
    #[arg(long, help_heading = "Output", conflicts_with = "chart")]
    breakdown: bool,
    /// Order of rows [default: key for time-based groups, otherwise cost]
    #[arg(long, help_heading = "Output", value_name = "BY", value_parser = order_parser())]
    sort: Option<UsageOrder>,
    /// Reverse the order
    #[arg(long, help_heading = "Output")]
    reverse: bool,
    /// Maximum number of rows; of time-based groups, the latest
    #[arg(long, short = 'n', help_heading = "Output", value_name = "N")]
    limit: Option<usize>,
    /// File with prices to add or replace, instead of prices.json in the data directory
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    prices: Option<PathBuf>,
}

pub fn run(args: &UsageArgs, location: &LogLocationArgs) -> Result<(), Failure> {
    // Invalid options fail before anything is read.
    let zone = args.filter.time_zone()?;
    let wanted = args.filter.filter(&zone)?;
    let prices = load_prices(args.prices.as_deref(), &location.data_directory()?)?;
    let question =
        || UsageQuestion { by: args.by, zone: &zone, now: host::now(), prices: &prices, breakdown: args.breakdown };
    let (library, report, usage) = location.query(ScanDepth::Tokens, |library| {
        Ok(library.usage_report(&filter::resolve_session(wanted.clone(), library)?, &question())?)
    })?;
    args.print(usage, &report, &question(), || ShortIds::of_library(&library))
}

pub fn run_on_server(args: &UsageArgs, server: &ServerClient) -> Result<(), Failure> {
    if args.prices.is_some() {
        return Err(Failure::bad_value("--prices", "the server calculates the cost, with its own prices"));
    }
    let zone = args.filter.time_zone()?;
    let mut query = args.filter.server_query(&zone)?;
    let (by, breakdown) = (args.by.as_str().to_owned(), args.breakdown.to_string());
    query.extend([("by", by), ("breakdown", breakdown), ("limit", MAX_SERVER_ROWS.to_string())]);
    let usage: Usage = on_server::query(server, "/api/usage", &query)?;
    let prices = TokenPrices::embedded();
    let question = UsageQuestion { by: args.by, zone: &zone, now: host::now(), prices, breakdown: args.breakdown };
    // A server does not tell about unreadable logs.
    args.print(usage, &ScanReport::default(), &question, || on_server::short_ids(server))
}

impl UsageArgs {
    fn print(
        &self,
        mut usage: Usage,
        report: &ScanReport,
        question: &UsageQuestion<'_>,
        short_ids: impl FnOnce() -> Result<ShortIds, Failure>,
    ) -> Result<(), Failure> {
        let more = self.arrange(&mut usage.rows);
        let terminal = Terminal::new();
        let mut text = match (self.json, self.csv, &self.chart) {
            (true, ..) => json_lines(&usage.rows),
            (_, true, _) => usage_csv(&usage.rows, self.by, self.breakdown),
            (.., Some(what)) => render_chart(&usage.rows, what == "cost", question, &short_ids()?, &terminal),
            _ => render_table(&usage, question, &terminal),
        };
        let for_people = !self.json && !self.csv;
        if for_people {
            let remarks = UsageRemarks { more, has_total: self.chart.is_none(), room: terminal.max_line_width() };
            text.push_str(&remarks.of(&usage, report, question));
        }
        io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
    }

    /// Sorts and cuts the rows; returns how many were cut.
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

fn json_lines(rows: &[Row]) -> String {
    let line = |row: &Row| serde_json::to_string(row).unwrap_or_default() + "\n";
    rows.iter().map(line).collect()
}

fn grouping_parser() -> impl TypedValueParser<Value = UsageGrouping> {
    let names = UsageGrouping::ALL.map(|by| PossibleValue::new(by.as_str()).help(by.description()));
    PossibleValuesParser::new(names).map(|name| name.parse().unwrap_or(UsageGrouping::Day))
}

fn order_parser() -> impl TypedValueParser<Value = UsageOrder> {
    let names = UsageOrder::ALL.map(|order| PossibleValue::new(order.as_str()));
    PossibleValuesParser::new(names).map(|name| name.parse().unwrap_or(UsageOrder::Key))
}

struct UsageRemarks {
    /// The number of rows that were cut.
    pub more: usize,
    /// The table has a total, which includes the cut rows.
    has_total: bool,
    pub room: Option<usize>,
}

impl UsageRemarks {
    pub fn of(&self, usage: &Usage, report: &ScanReport, question: &UsageQuestion<'_>) -> String {
        let mut lines = Vec::new();
        if usage.rows.is_empty() && self.more == 0 {
            let nothing =
                "no usage: no logs, or none that match; `switchboard logs doctor` lists the searched directories";
            lines.push(nothing.to_owned());
        }
        lines.extend((self.more > 0).then(|| self.left_out()));
        lines.extend(usage.rows.iter().filter_map(|row| block_forecast(row, question)));
        lines.extend(describe_unpriced(&usage.unpriced));
        // Records of an unknown kind probably have no usage.
        let unread = report.troubles.saturating_sub(report.unknown);
        lines.extend((unread > 0).then(|| {
            let unread = format_grouped(unread);
            format!("unreadable records and files: {unread}; `switchboard logs doctor` lists them")
        }));
        let wrapped = |line| wrap_texts(&[(PLAIN, line)], self.room, 2, false) + "\n";
        let text: String = lines.into_iter().map(wrapped).collect();
        if usage.rows.is_empty() || text.is_empty() { text } else { format!("\n{text}") }
    }

    fn left_out(&self) -> String {
        let total = if self.has_total { String::from(", included in the total") } else { String::new() };
        format!("… and {} more{total}", pluralize(self.more, "row"))
    }
}

fn block_forecast(row: &Row, question: &UsageQuestion<'_>) -> Option<String> {
    let block = row.block.as_ref()?;
    let to_come = block.projection.as_ref()?;
    let minutes = to_come.remaining_minutes;
    let end = format_clock(block.end.as_micros(), question.zone, "%H:%M");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate for people, never negative")]
    let rate = format_grouped(block.burn_rate.tokens_per_minute as u64);
    Some(format!(
        "the current block ends at {end}, in {} h {:02} m: {rate} tokens a minute and {} an hour come to {} tokens and {} by then",
        minutes / 60,
        minutes % 60,
        format_money(block.burn_rate.cost_usd_per_hour),
        format_tokens(to_come.total_tokens),
        format_money(to_come.cost_usd),
    ))
}

fn describe_unpriced(models: &[Unpriced]) -> Option<String> {
    let named = models
        .iter()
        .take(MAX_NAMED_MODELS)
        .map(|model| format!("{} ({} tokens)", sanitize_line(&model.model), format_tokens(model.total_tokens)));
    let names = named.collect::<Vec<_>>().join(", ");
    let rest = models.len().saturating_sub(MAX_NAMED_MODELS);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    (!models.is_empty())
        .then(|| format!("+ excluded from cost (no price): {names}{rest}; use --prices FILE to add one"))
}
