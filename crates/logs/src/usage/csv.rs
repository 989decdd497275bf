//! Usage as CSV (RFC 4180). The column titles are the JSON names.

use switchboard_event::Timestamp;

use super::{Block, Model, Row, UsageGrouping};
use crate::export::csv::{join_row, quote_field};

/// Returns a header line and a line per row; with a breakdown, a line per model of each row.
#[must_use]
pub fn usage_csv(rows: &[Row], by: UsageGrouping, breakdown: bool) -> String {
    let mut text = csv_line(column_titles(by, breakdown).iter().map(|title| (*title).to_owned()));
    for row in rows {
        if breakdown {
            row.breakdown.iter().for_each(|part| text.push_str(&csv_line(model_cells(row, part).into_iter())));
        } else {
            text.push_str(&csv_line(row_cells(row, by).into_iter()));
        }
    }
    text
}

const TOKEN_COLUMNS: [&str; 8] = [
    "inputTokens",
    "outputTokens",
    "cacheReadTokens",
    "cacheWriteTokens",
    "reasoningTokens",
    "totalTokens",
    "replies",
    "costUsd",
];

fn column_titles(by: UsageGrouping, breakdown: bool) -> Vec<&'static str> {
    if breakdown {
        return [&["key", "model"], &TOKEN_COLUMNS[..], &["cacheWrite1hTokens", "isUnpriced"]].concat();
    }
    let calls: &[&str] = if by == UsageGrouping::Tool { &["calls"] } else { &[] };
    let more = ["cacheWrite1hTokens", "firstAt", "lastAt", "agents", "models", "unpricedModels"];
    [&["key"], &TOKEN_COLUMNS[..], calls, &more, grouping_titles(by)].concat()
}

/// Columns that only some groupings have. Fields of nested JSON objects have names of their own here.
fn grouping_titles(by: UsageGrouping) -> &'static [&'static str] {
    match by {
        UsageGrouping::Day | UsageGrouping::Week | UsageGrouping::Month => &["start", "end"],
        UsageGrouping::Block => {
            &["start", "end", "isActive", "tokensPerMinute", "costUsdPerHour", "projectedTokens", "projectedUsd"]
        }
        UsageGrouping::Session => &["project", "title"],
        UsageGrouping::Project
        | UsageGrouping::Model
        | UsageGrouping::Agent
        | UsageGrouping::Tool
        | UsageGrouping::Subagent => &[],
    }
}

fn grouping_cells(row: &Row, by: UsageGrouping) -> Vec<String> {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    match by {
        UsageGrouping::Day | UsageGrouping::Week | UsageGrouping::Month => vec![time(row.start), time(row.end)],
        UsageGrouping::Block => {
            row.block.as_ref().map_or_else(|| vec![String::new(); grouping_titles(by).len()], block_cells)
        }
        UsageGrouping::Session => [&row.project, &row.title].map(|text| text.clone().unwrap_or_default()).to_vec(),
        UsageGrouping::Project
        | UsageGrouping::Model
        | UsageGrouping::Agent
        | UsageGrouping::Tool
        | UsageGrouping::Subagent => Vec::new(),
    }
}

fn block_cells(block: &Block) -> Vec<String> {
    let to_come = block.projection.as_ref();
    vec![
        block.start.to_string(),
        block.end.to_string(),
        block.is_active.to_string(),
        block.burn_rate.tokens_per_minute.to_string(),
        block.burn_rate.cost_usd_per_hour.to_string(),
        to_come.map(|to_come| to_come.total_tokens.to_string()).unwrap_or_default(),
        to_come.map(|to_come| to_come.cost_usd.to_string()).unwrap_or_default(),
    ]
}

fn model_cells(row: &Row, part: &Model) -> Vec<String> {
    let tokens = [
        part.input_tokens,
        part.output_tokens,
        part.cache_read_tokens,
        part.cache_write_tokens,
        part.reasoning_tokens,
        part.total_tokens,
        part.replies,
    ];
    let names = [row.key.clone(), part.model.clone()];
    let more = [part.cost_usd.to_string(), part.cache_write_1h_tokens.to_string(), part.is_unpriced.to_string()];
    names.into_iter().chain(tokens.map(|count| count.to_string())).chain(more).collect()
}

fn row_cells(row: &Row, by: UsageGrouping) -> Vec<String> {
    let tokens = [
        row.input_tokens,
        row.output_tokens,
        row.cache_read_tokens,
        row.cache_write_tokens,
        row.reasoning_tokens,
        row.total_tokens,
        row.replies,
    ];
    let mut cells = vec![row.key.clone()];
    cells.extend(tokens.map(|count| count.to_string()));
    cells.push(row.cost_usd.to_string());
    if by == UsageGrouping::Tool {
        cells.push(row.calls.unwrap_or_default().to_string());
    }
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    cells.extend([row.cache_write_1h_tokens.to_string(), time(row.first_at), time(row.last_at)]);
    cells.extend([&row.agents, &row.models, &row.unpriced_models].map(|names| names.join(" ")));
    cells.extend(grouping_cells(row, by));
    cells
}

fn csv_line(cells: impl Iterator<Item = String>) -> String {
    join_row(cells.map(format_cell))
}

fn format_cell(cell: String) -> String {
    let is_number =
        cell.bytes().all(|byte| byte.is_ascii_digit() || b".-e".contains(&byte)) && cell.parse::<f64>().is_ok();
    if is_number || cell.is_empty() { cell } else { quote_field(&cell) }
}

#[cfg(test)]
mod tests {
    use switchboard_event::Timestamp;

    use super::{Model, Row, UsageGrouping, usage_csv};
    use crate::usage::{periods, sums::UsageSums};

    fn sample_row() -> Row {
        let part = Model { model: "m".to_owned(), total_tokens: 3, cost_usd: 0.5, ..Model::default() };
        Row { key: "a \"b\", c".to_owned(), total_tokens: 3, breakdown: vec![part], calls: Some(2), ..Row::default() }
    }

    #[test]
    fn every_line_has_as_many_cells_as_titles() {
        let plain = UsageGrouping::ALL.map(|by| (by, false));
        for (by, breakdown) in plain.into_iter().chain([(UsageGrouping::Day, true)]) {
            let mut plain = sample_row();
            plain.key = "k".to_owned();
            plain.block = Some(periods::describe_block(0, &UsageSums::default(), Timestamp::default()));
            let text = usage_csv(&[plain], by, breakdown);
            let counts: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
            assert_eq!(counts.len(), 2);
            assert_eq!(counts[0], counts[1], "{text}");
        }
    }

    #[test]
    fn names_that_look_like_formulas_are_texts() {
        let rows = [Row { key: "=cmd|' /C calc'!A0".to_owned(), cost_usd: -0.5, ..sample_row() }];
        let text = usage_csv(&rows, UsageGrouping::Project, false);
        let line = text.lines().nth(1).unwrap();
        assert!(line.starts_with("'=cmd|") && line.contains(",-0.5,"), "{line}");
    }

    #[test]
    fn cells_are_quoted_where_they_must() {
        let text = usage_csv(&[sample_row()], UsageGrouping::Day, true);
        assert_eq!(text.lines().nth(1), Some("\"a \"\"b\"\", c\",m,0,0,0,0,0,3,0,0.5,0,false"));
    }
}
