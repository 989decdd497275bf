//! The usage table. On a terminal, numbers are shortened first, then the least important columns are dropped; in a pipe,
//! nothing is cut.

use anstyle::Style;
use jiff::tz::TimeZone;
use switchboard_logs::usage::{Model, Row, Usage, UsageGrouping, UsageQuestion};
use unicode_width::UnicodeWidthStr as _;

use crate::{
    host,
    terminal::Terminal,
    view::{
        figures::{format_dollars, format_tokens},
        fold::{abbreviate_home, clip_line, clip_text},
        paint,
        sanitize::sanitize_line,
        style::{BOLD, DIM, GREEN, PLAIN},
    },
};

const CALLS_COLUMN: UsageColumn = UsageColumn {
    title: "CALLS",
    goes: 9,
    row: |row, of| row.calls.map(of).unwrap_or_default(),
    part: |_, _| String::new(),
};

/// Minimum width of the last column on a terminal, and its width in a pipe.
const MODELS_WIDTHS: (usize, usize) = (12, 200);

/// Widths of the first column on a terminal: the minimum, the minimum before another column is dropped, and the
/// maximum.
const KEY_WIDTHS: (usize, usize, usize) = (10, 24, 40);

/// A column and the step at which it is dropped if there is not enough room. The first column and the cost are never
/// dropped.
struct UsageColumn {
    title: &'static str,
    goes: usize,
    row: fn(&Row, NumberFormat) -> String,
    part: fn(&Model, NumberFormat) -> String,
}

type NumberFormat = fn(u64) -> String;

const COLUMNS: &[UsageColumn] = &[
    UsageColumn {
        title: "INPUT",
        goes: 4,
        row: |row, of| of(row.input_tokens),
        part: |part, of| of(part.input_tokens),
    },
    UsageColumn {
        title: "OUTPUT",
        goes: 4,
        row: |row, of| of(row.output_tokens),
        part: |part, of| of(part.output_tokens),
    },
    UsageColumn {
        title: "CACHE WRITE",
        goes: 3,
        row: |row, of| of(row.cache_write_tokens),
        part: |part, of| of(part.cache_write_tokens),
    },
    UsageColumn {
        title: "CACHE READ",
        goes: 3,
        row: |row, of| of(row.cache_read_tokens),
        part: |part, of| of(part.cache_read_tokens),
    },
    UsageColumn {
        title: "TOTAL",
        goes: 9,
        row: |row, of| of(row.total_tokens),
        part: |part, of| of(part.total_tokens),
    },
    UsageColumn { title: "REPLIES", goes: 2, row: |row, of| of(row.replies), part: |part, of| of(part.replies) },
    CALLS_COLUMN,
    UsageColumn { title: "COST", goes: 9, row: |row, _| format_row_cost(row), part: |part, _| format_model_cost(part) },
];

/// Renders a table with a line for each row and one for the total.
pub fn render_table(usage: &Usage, question: &UsageQuestion<'_>, terminal: &Terminal) -> String {
    if usage.rows.is_empty() {
        return String::new();
    }
    let room = terminal.stdout.then(|| usize::from(terminal.width()));
    let lines = UsageTable::new(usage, question);
    let shape = lines.fit(room);
    let color = terminal.stdout && terminal.color;
    lines.draw(&shape, color)
}

struct UsageTable<'a> {
    title: String,
    lines: Vec<UsageTableLine<'a>>,
    columns: Vec<&'static UsageColumn>,
    /// The last column has the titles of sessions, otherwise the models.
    titled: bool,
    with_models: bool,
}

struct UsageTableLine<'a> {
    key: String,
    of: LineData<'a>,
    style: Style,
}

enum LineData<'a> {
    Row(&'a Row),
    Part(&'a Model),
}

/// The widths and number format that fit the terminal.
struct TableShape {
    digits: NumberFormat,
    step: usize,
    key: usize,
    widths: Vec<usize>,
    models: usize,
}

impl<'a> UsageTable<'a> {
    fn new(usage: &'a Usage, question: &UsageQuestion<'_>) -> Self {
        let home = host::home_directory();
        let mut lines = Vec::new();
        for row in &usage.rows {
            let active = row.block.as_ref().is_some_and(|block| block.is_active);
            let key = row_label(row, question.zone, home.as_deref());
            lines.push(UsageTableLine { key, of: LineData::Row(row), style: if active { GREEN } else { PLAIN } });
            let part = |part: &'a Model| UsageTableLine {
                key: format!("  {}", sanitize_line(&part.model)),
                of: LineData::Part(part),
                style: DIM,
            };
            lines.extend(row.breakdown.iter().map(part));
        }
        lines.push(UsageTableLine { key: "total".to_owned(), of: LineData::Row(&usage.total), style: BOLD });
        let is_tool = question.by == UsageGrouping::Tool;
        let columns = COLUMNS.iter().filter(|column| is_tool || column.title != CALLS_COLUMN.title).collect();
        let with_models = question.by != UsageGrouping::Model && !question.breakdown;
        // Titles are not known if only usage was indexed.
        let titled = usage.rows.iter().any(|row| row.title.is_some());
        Self { title: question.by.as_str().to_uppercase(), lines, columns, titled, with_models }
    }

    fn fit(&self, room: Option<usize>) -> TableShape {
        let Some(room) = room else { return self.shape(format_grouped, 0, usize::MAX, MODELS_WIDTHS.1) };
        let short = format_tokens as NumberFormat;
        let steps = [
            (format_grouped as NumberFormat, 0, KEY_WIDTHS.2),
            (short, 1, KEY_WIDTHS.1),
            (short, 2, KEY_WIDTHS.0),
            (short, 3, KEY_WIDTHS.0),
        ];
        let mut shape = self.shape(short, 4, KEY_WIDTHS.0, 0);
        for (digits, step, least) in steps {
            let tried = self.shape(digits, step, KEY_WIDTHS.2, 0);
            // The first column may be cut, down to a useful width.
            let over = tried.used().saturating_sub(room);
            if tried.key.saturating_sub(over) >= least.min(tried.key) {
                shape = TableShape { key: tried.key - over.min(tried.key), ..tried };
                break;
            }
        }
        let left = room.saturating_sub(shape.used() + 2);
        TableShape { models: if left >= MODELS_WIDTHS.0 { left } else { 0 }, ..shape }
    }

    fn shape(&self, digits: NumberFormat, step: usize, widest: usize, models: usize) -> TableShape {
        let keys = self.lines.iter().map(|line| line.key.width()).chain([self.title.width()]);
        let key = keys.max().unwrap_or_default().min(widest);
        let columns = self.columns.iter().filter(|column| step < column.goes);
        let width = |column: &&&UsageColumn| {
            let cells = self.lines.iter().map(|line| line.cell(column, digits).width());
            cells.chain([column.title.width()]).max().unwrap_or_default()
        };
        TableShape { digits, step, key, widths: columns.map(|column| width(&column)).collect(), models }
    }

    fn draw(&self, shape: &TableShape, color: bool) -> String {
        let columns: Vec<&&UsageColumn> = self.columns.iter().filter(|column| shape.step < column.goes).collect();
        let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
        let has_models = self.with_models && shape.models > 0;
        let models = match has_models {
            true if self.titled => "TITLE",
            true => "MODELS",
            false => "",
        };
        let mut text = shape.line(&self.title, &titles, (models, DIM), DIM, color);
        for line in &self.lines {
            let cells: Vec<String> = columns.iter().map(|column| line.cell(column, shape.digits)).collect();
            let models = if has_models { line.last(self.titled, shape.models) } else { String::new() };
            text.push_str(&shape.line(&line.key, &cells, (&models, DIM), line.style, color));
        }
        text
    }
}

impl UsageTableLine<'_> {
    fn cell(&self, column: &UsageColumn, digits: NumberFormat) -> String {
        match self.of {
            LineData::Row(row) => (column.row)(row, digits),
            LineData::Part(part) => (column.part)(part, digits),
        }
    }

    fn last(&self, titled: bool, room: usize) -> String {
        match self.of {
            LineData::Row(row) if self.style != BOLD => {
                let models = || row.models.join(", ");
                let text = if titled { row.title.clone().unwrap_or_default() } else { models() };
                clip_line(&sanitize_line(&text), room)
            }
            // The models of the total are of no interest.
            _ => String::new(),
        }
    }
}

impl TableShape {
    fn used(&self) -> usize {
        self.key + self.widths.iter().map(|width| width + 2).sum::<usize>()
    }

    fn line(&self, key: &str, cells: &[String], models: (&str, Style), style: Style, color: bool) -> String {
        let key = clip_text(key, self.key);
        let mut text = format!("{key}{}", " ".repeat(self.key.saturating_sub(key.width())));
        for (cell, width) in cells.iter().zip(&self.widths) {
            text.push_str(&" ".repeat(2 + width.saturating_sub(cell.width())));
            text.push_str(cell);
        }
        let models =
            if models.0.is_empty() { String::new() } else { format!("  {}", paint(color, models.1, models.0)) };
        format!("{}{models}\n", paint(color, style, text.trim_end()))
    }
}

pub fn format_grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a cost. A partial one is marked with `+`, and an unknown one is a dash.
pub fn format_row_cost(row: &Row) -> String {
    match (row.unpriced_models.is_empty(), row.cost_usd) {
        (true, format_row_cost) => format_money(format_row_cost),
        (false, 0.0) => "–".to_owned(),
        (false, format_row_cost) => format_money(format_row_cost) + "+",
    }
}

fn format_model_cost(part: &Model) -> String {
    if part.is_unpriced { "–".to_owned() } else { format_money(part.cost_usd) }
}

/// Formats an amount in cents, with more digits if it is less than one.
pub fn format_money(dollars: f64) -> String {
    match dollars {
        0.0 => "$0.00".to_owned(),
        ..0.01 => format_dollars(dollars),
        _ => format!("${dollars:.2}"),
    }
}

/// Returns the label of a row: a time for a block, an abbreviated path for a directory.
pub fn row_label(row: &Row, zone: &TimeZone, home: Option<&str>) -> String {
    if let Some(block) = &row.block {
        return format_clock(block.start.as_micros(), zone, "%Y-%m-%d %H:%M");
    }
    sanitize_line(&abbreviate_home(&row.key, home))
}

pub fn format_clock(micros: i64, zone: &TimeZone, format: &str) -> String {
    let at = jiff::Timestamp::from_microsecond(micros).unwrap_or_default();
    zone.to_datetime(at).strftime(format).to_string()
}

#[cfg(test)]
mod tests {

    use super::{format_grouped, format_money};

    #[test]
    fn numbers_are_for_people() {
        assert_eq!(
            [0, 999, 1_000, 12_345, 1_234_567].map(format_grouped),
            ["0", "999", "1,000", "12,345", "1,234,567"]
        );
        assert_eq!(
            [0.0, 0.00012, 0.009, 0.01, 12.345, 1234.5].map(format_money),
            ["$0.00", "$0.0001", "$0.0090", "$0.01", "$12.35", "$1234.50"]
        );
    }
}
