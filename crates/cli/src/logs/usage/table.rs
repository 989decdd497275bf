//! The table for people. It fits the terminal: numbers get shorter first, then the least of the columns goes. In a pipe
//! nothing is cut.

use anstyle::Style;
use switchboard_logs::usage::{Model, Row, Usage, UsageGrouping, UsageQuestion};
use unicode_width::UnicodeWidthStr as _;

use super::figures::{cost, grouped, part_cost, title};
use crate::{
    host,
    sessions::{clip, cut},
    terminal::Terminal,
    view::{
        clean, figures, paint,
        style::{BOLD, DIM, GREEN, PLAIN},
    },
};

/// A column: its title, and from which step on it goes where there is not enough room. The first and the cost stay.
struct Column {
    title: &'static str,
    goes: usize,
    row: fn(&Row, Digits) -> String,
    part: fn(&Model, Digits) -> String,
}

/// How a number is written.
type Digits = fn(u64) -> String;

const COLUMNS: &[Column] = &[
    Column { title: "INPUT", goes: 4, row: |row, of| of(row.input_tokens), part: |part, of| of(part.input_tokens) },
    Column { title: "OUTPUT", goes: 4, row: |row, of| of(row.output_tokens), part: |part, of| of(part.output_tokens) },
    Column {
        title: "CACHE WRITE",
        goes: 3,
        row: |row, of| of(row.cache_write_tokens),
        part: |part, of| of(part.cache_write_tokens),
    },
    Column {
        title: "CACHE READ",
        goes: 3,
        row: |row, of| of(row.cache_read_tokens),
        part: |part, of| of(part.cache_read_tokens),
    },
    Column { title: "TOTAL", goes: 9, row: |row, of| of(row.total_tokens), part: |part, of| of(part.total_tokens) },
    Column { title: "REPLIES", goes: 2, row: |row, of| of(row.replies), part: |part, of| of(part.replies) },
    CALLS,
    Column { title: "COST", goes: 9, row: |row, _| cost(row), part: |part, _| part_cost(part) },
];

const CALLS: Column = Column {
    title: "CALLS",
    goes: 9,
    row: |row, of| row.calls.map(of).unwrap_or_default(),
    part: |_, _| String::new(),
};

/// Minimum width of the last column on a terminal, and its width in a pipe.
const MODELS: (usize, usize) = (12, 200);

/// The first column is never narrower than the first, nor before another goes than the second; and never wider than
/// the last, in a terminal.
const KEY: (usize, usize, usize) = (10, 24, 40);

/// A table with a line for each row and one for all of them.
pub fn table(usage: &Usage, question: &UsageQuestion<'_>, terminal: &Terminal) -> String {
    if usage.rows.is_empty() {
        return String::new();
    }
    let room = terminal.stdout.then(|| usize::from(terminal.width()));
    let lines = Lines::of(usage, question);
    let shape = lines.fit(room);
    let colour = terminal.stdout && terminal.colour;
    lines.draw(&shape, colour)
}

/// What is to be shown, before it is known how.
struct Lines<'a> {
    title: String,
    lines: Vec<Line<'a>>,
    columns: Vec<&'static Column>,
    /// The last column says what sessions are about; else, which models were used.
    titled: bool,
    with_models: bool,
}

struct Line<'a> {
    key: String,
    of: Of<'a>,
    style: Style,
}

enum Of<'a> {
    Row(&'a Row),
    Part(&'a Model),
}

/// How it fits.
struct Shape {
    digits: Digits,
    step: usize,
    key: usize,
    widths: Vec<usize>,
    models: usize,
}

impl<'a> Lines<'a> {
    fn of(usage: &'a Usage, question: &UsageQuestion<'_>) -> Self {
        let home = host::home();
        let mut lines = Vec::new();
        for row in &usage.rows {
            let active = row.block.as_ref().is_some_and(|block| block.is_active);
            let key = title(row, question.zone, home.as_deref());
            lines.push(Line { key, of: Of::Row(row), style: if active { GREEN } else { PLAIN } });
            let part = |part: &'a Model| Line {
                key: format!("  {}", clean::line(&part.model)),
                of: Of::Part(part),
                style: DIM,
            };
            lines.extend(row.breakdown.iter().map(part));
        }
        lines.push(Line { key: "total".to_owned(), of: Of::Row(&usage.total), style: BOLD });
        let is_tool = question.by == UsageGrouping::Tool;
        let columns = COLUMNS.iter().filter(|column| is_tool || column.title != CALLS.title).collect();
        let with_models = question.by != UsageGrouping::Model && !question.breakdown;
        // Who has only counted does not know what sessions are about.
        let titled = usage.rows.iter().any(|row| row.title.is_some());
        Self { title: question.by.as_str().to_uppercase(), lines, columns, titled, with_models }
    }

    /// The first shape that fits.
    fn fit(&self, room: Option<usize>) -> Shape {
        let Some(room) = room else { return self.shape(grouped, 0, usize::MAX, MODELS.1) };
        let short = figures::tokens as Digits;
        let steps = [(grouped as Digits, 0, KEY.2), (short, 1, KEY.1), (short, 2, KEY.0), (short, 3, KEY.0)];
        let mut shape = self.shape(short, 4, KEY.0, 0);
        for (digits, step, least) in steps {
            let tried = self.shape(digits, step, KEY.2, 0);
            // The first column may give way, down to what still says something.
            let over = tried.used().saturating_sub(room);
            if tried.key.saturating_sub(over) >= least.min(tried.key) {
                shape = Shape { key: tried.key - over.min(tried.key), ..tried };
                break;
            }
        }
        let left = room.saturating_sub(shape.used() + 2);
        Shape { models: if left >= MODELS.0 { left } else { 0 }, ..shape }
    }

    fn shape(&self, digits: Digits, step: usize, widest: usize, models: usize) -> Shape {
        let keys = self.lines.iter().map(|line| line.key.width()).chain([self.title.width()]);
        let key = keys.max().unwrap_or_default().min(widest);
        let columns = self.columns.iter().filter(|column| step < column.goes);
        let width = |column: &&&Column| {
            let cells = self.lines.iter().map(|line| line.cell(column, digits).width());
            cells.chain([column.title.width()]).max().unwrap_or_default()
        };
        Shape { digits, step, key, widths: columns.map(|column| width(&column)).collect(), models }
    }

    fn draw(&self, shape: &Shape, colour: bool) -> String {
        let columns: Vec<&&Column> = self.columns.iter().filter(|column| shape.step < column.goes).collect();
        let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
        let has_models = self.with_models && shape.models > 0;
        let models = match has_models {
            true if self.titled => "TITLE",
            true => "MODELS",
            false => "",
        };
        let mut text = shape.line(&self.title, &titles, (models, DIM), DIM, colour);
        for line in &self.lines {
            let cells: Vec<String> = columns.iter().map(|column| line.cell(column, shape.digits)).collect();
            let models = if has_models { line.last(self.titled, shape.models) } else { String::new() };
            text.push_str(&shape.line(&line.key, &cells, (&models, DIM), line.style, colour));
        }
        text
    }
}

impl Line<'_> {
    fn cell(&self, column: &Column, digits: Digits) -> String {
        match self.of {
            Of::Row(row) => (column.row)(row, digits),
            Of::Part(part) => (column.part)(part, digits),
        }
    }

    fn last(&self, titled: bool, room: usize) -> String {
        match self.of {
            Of::Row(row) if self.style != BOLD => {
                let models = || row.models.join(", ");
                let text = if titled { row.title.clone().unwrap_or_default() } else { models() };
                clip(&clean::line(&text), room)
            }
            // Those of all rows say nothing about any.
            _ => String::new(),
        }
    }
}

impl Shape {
    fn used(&self) -> usize {
        self.key + self.widths.iter().map(|width| width + 2).sum::<usize>()
    }

    fn line(&self, key: &str, cells: &[String], models: (&str, Style), style: Style, colour: bool) -> String {
        let key = cut(key, self.key);
        let mut text = format!("{key}{}", " ".repeat(self.key.saturating_sub(key.width())));
        for (cell, width) in cells.iter().zip(&self.widths) {
            text.push_str(&" ".repeat(2 + width.saturating_sub(cell.width())));
            text.push_str(cell);
        }
        let models =
            if models.0.is_empty() { String::new() } else { format!("  {}", paint(colour, models.1, models.0)) };
        format!("{}{models}\n", paint(colour, style, text.trim_end()))
    }
}
