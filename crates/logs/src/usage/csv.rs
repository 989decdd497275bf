//! Comma-separated values, as RFC 4180 has them. The titles are the names of the JSON.

use switchboard_event::Timestamp;

use super::{Block, By, Model, Row};
use crate::export::csv::inert;

/// A line of titles, and a line for each row; with a breakdown, one for each model of it.
#[must_use]
pub fn csv(rows: &[Row], by: By, breakdown: bool) -> String {
    let mut text = line(titles(by, breakdown).iter().map(|title| (*title).to_owned()));
    for row in rows {
        if breakdown {
            row.breakdown.iter().for_each(|part| text.push_str(&line(part_cells(row, part).into_iter())));
        } else {
            text.push_str(&line(row_cells(row, by).into_iter()));
        }
    }
    text
}

const FIGURES: [&str; 8] = [
    "inputTokens",
    "outputTokens",
    "cacheReadTokens",
    "cacheWriteTokens",
    "reasoningTokens",
    "totalTokens",
    "replies",
    "costUsd",
];

fn titles(by: By, breakdown: bool) -> Vec<&'static str> {
    if breakdown {
        return [&["key", "model"], &FIGURES[..], &["cacheWrite1hTokens", "isUnpriced"]].concat();
    }
    let calls: &[&str] = if by == By::Tool { &["calls"] } else { &[] };
    let more = ["cacheWrite1hTokens", "firstAt", "lastAt", "agents", "models", "unpricedModels"];
    [&["key"], &FIGURES[..], calls, &more, own_titles(by)].concat()
}

/// What only some rows have. Of a block, only what lies in objects of its own in JSON has other names here.
fn own_titles(by: By) -> &'static [&'static str] {
    match by {
        By::Day | By::Week | By::Month => &["start", "end"],
        By::Block => {
            &["start", "end", "isActive", "tokensPerMinute", "costUsdPerHour", "projectedTokens", "projectedUsd"]
        }
        By::Session => &["project", "title"],
        By::Project | By::Model | By::Agent | By::Tool | By::Subagent => &[],
    }
}

fn own_cells(row: &Row, by: By) -> Vec<String> {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    match by {
        By::Day | By::Week | By::Month => vec![time(row.start), time(row.end)],
        By::Block => row.block.as_ref().map_or_else(|| vec![String::new(); own_titles(by).len()], block_cells),
        By::Session => [&row.project, &row.title].map(|text| text.clone().unwrap_or_default()).to_vec(),
        By::Project | By::Model | By::Agent | By::Tool | By::Subagent => Vec::new(),
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

fn part_cells(row: &Row, part: &Model) -> Vec<String> {
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

fn row_cells(row: &Row, by: By) -> Vec<String> {
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
    if by == By::Tool {
        cells.push(row.calls.unwrap_or_default().to_string());
    }
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    cells.extend([row.cache_write_1h_tokens.to_string(), time(row.first_at), time(row.last_at)]);
    cells.extend([&row.agents, &row.models, &row.unpriced_models].map(|names| names.join(" ")));
    cells.extend(own_cells(row, by));
    cells
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

fn quoted(cell: String) -> String {
    let is_number =
        cell.bytes().all(|byte| byte.is_ascii_digit() || b".-e".contains(&byte)) && cell.parse::<f64>().is_ok();
    let cell = if is_number { cell } else { inert(&cell) };
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use switchboard_event::Timestamp;

    use super::{By, Model, Row, csv};
    use crate::usage::{blocks, sums::Sums};

    fn row() -> Row {
        let part = Model { model: "m".to_owned(), total_tokens: 3, cost_usd: 0.5, ..Model::default() };
        Row { key: "a \"b\", c".to_owned(), total_tokens: 3, breakdown: vec![part], calls: Some(2), ..Row::default() }
    }

    #[test]
    fn every_line_has_as_many_cells_as_titles() {
        let plain = By::ALL.map(|by| (by, false));
        for (by, breakdown) in plain.into_iter().chain([(By::Day, true)]) {
            let mut plain = row();
            plain.key = "k".to_owned();
            plain.block = Some(blocks::describe(0, &Sums::default(), Timestamp::default()));
            let text = csv(&[plain], by, breakdown);
            let counts: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
            assert_eq!(counts.len(), 2);
            assert_eq!(counts[0], counts[1], "{text}");
        }
    }

    #[test]
    fn names_that_look_like_formulas_are_texts() {
        let rows = [Row { key: "=cmd|' /C calc'!A0".to_owned(), cost_usd: -0.5, ..row() }];
        let text = csv(&rows, By::Project, false);
        let line = text.lines().nth(1).unwrap();
        assert!(line.starts_with("'=cmd|") && line.contains(",-0.5,"), "{line}");
    }

    #[test]
    fn cells_are_quoted_where_they_must() {
        let text = csv(&[row()], By::Day, true);
        assert_eq!(text.lines().nth(1), Some("\"a \"\"b\"\", c\",m,0,0,0,0,0,3,0,0.5,0,false"));
    }
}
