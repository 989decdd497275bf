//! All sessions in a table on a terminal, drawn again in its place.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use anstyle::Style;
use switchboard_event::Timestamp;
use switchboard_logs::live::{Activity, Change, Running};
use unicode_width::UnicodeWidthStr as _;

use super::{all::Show, row};
use crate::{
    failure::Failure,
    host,
    terminal::Terminal,
    view::{
        clean,
        figures::{dollars, tokens},
        fold, paint,
        style::{BOLD, CYAN, DIM, PLAIN, YELLOW},
    },
};

/// How long ago things were changes by itself.
const TICK: Duration = Duration::from_secs(1);

/// What the last column has at least.
const NARROWEST: usize = 16;

/// Hides the cursor, and shows it again.
const HIDE: &str = "\x1b[?25l";
const SHOW: &str = "\x1b[?25h";

/// The table, as far as it is on the screen.
pub struct Table<'a> {
    terminal: &'a Terminal,
    /// How many lines of it there are.
    lines: usize,
}

/// A text and how it is painted.
type Cell = (Style, String);

impl<'a> Table<'a> {
    /// Nothing is drawn yet.
    pub fn new(terminal: &'a Terminal) -> Self {
        Self { terminal, lines: 0 }
    }

    /// Draws lines in place of those that are there.
    fn draw(&mut self, lines: &[String]) -> Result<(), Failure> {
        let up = if self.lines > 0 { format!("\x1b[{}A", self.lines) } else { String::new() };
        let text: String = lines.iter().map(|line| format!("{line}\x1b[K\n")).collect();
        self.lines = lines.len();
        write(&format!("{HIDE}{up}\r{text}\x1b[J"))
    }
}

impl Show for Table<'_> {
    fn patience(&self) -> Duration {
        TICK
    }

    fn is_picture(&self) -> bool {
        true
    }

    fn show(&mut self, running: &[Running], _: &[Change]) -> Result<(), Failure> {
        let (columns, rows) = (usize::from(self.terminal.width()), usize::from(self.terminal.height()));
        let mut lines = table(running, host::now(), columns, self.terminal.colour);
        // What does not fit on the screen cannot be drawn over.
        let room = rows.saturating_sub(1).max(3);
        if lines.len() > room {
            let hidden = lines.len() + 1 - room;
            lines.truncate(room - 1);
            lines.push(format!("… and {hidden} more"));
        }
        self.draw(&lines)
    }

    fn end(&mut self) -> Result<(), Failure> {
        write(SHOW)
    }
}

impl Drop for Table<'_> {
    fn drop(&mut self) {
        // Also if it ended badly; a terminal that is gone needs nothing.
        drop(write(SHOW));
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
}

/// The lines of the table.
fn table(running: &[Running], now: Timestamp, columns: usize, colour: bool) -> Vec<String> {
    let mut lines = vec![clip(&summary(running), columns)];
    if running.is_empty() {
        return lines;
    }
    let titles = ["ID", "AGENT", "AGE", "CONTEXT", "TOKENS", "COST", "FOLDER"];
    let home = host::home();
    let mut rows = vec![titles.map(|title| (DIM, title.to_owned())).to_vec()];
    rows.extend(running.iter().map(|session| cells(session, now, home.as_deref())));
    let widths: Vec<usize> = (0..titles.len())
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.1.width()).max().unwrap_or(0))
        .collect();
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let room = columns.saturating_sub(used + 1).max(NARROWEST);
    let last = std::iter::once((DIM, "NOW".to_owned())).chain(running.iter().map(|session| what(session, now)));
    for (row, (style, last)) in rows.iter().zip(last) {
        lines.push(line(row, &widths, (style, clip(&last, room)), colour));
    }
    lines
}

fn summary(running: &[Running]) -> String {
    let busy = running.iter().filter(|session| session.activity.is_busy()).count();
    let sum: u64 = running.iter().map(|session| session.used.total).sum();
    let cost: f64 = running.iter().filter_map(|session| session.used.cost_usd).sum();
    match running.len() {
        0 => "no session runs now; Ctrl-C ends this".to_owned(),
        1 => format!("1 session, {busy} at work · {} tokens · {}", tokens(sum), dollars(cost)),
        many => format!("{many} sessions, {busy} at work · {} tokens · {}", tokens(sum), dollars(cost)),
    }
}

fn cells(session: &Running, now: Timestamp, home: Option<&str>) -> Vec<Cell> {
    let facts = &session.facts;
    let age = facts.began.map(|began| crate::sessions::age(now.millis_since(began))).unwrap_or_default();
    let cost = session.used.cost_usd.map(dollars).unwrap_or_default();
    vec![
        (BOLD, crate::sessions::short(&session.id)),
        (PLAIN, clip(&clean::line(&session.agent), 12)),
        (DIM, age),
        (context_style(session), context(session)),
        (PLAIN, tokens(session.used.total)),
        (PLAIN, cost),
        (DIM, crate::sessions::folder(&clean::line(facts.cwd.as_deref().unwrap_or_default()), home)),
    ]
}

/// How full the context is.
fn context(session: &Running) -> String {
    let Some(used) = session.facts.context_used else { return String::new() };
    match session.facts.context_size.filter(|size| *size > 0) {
        Some(size) => format!("{} {} %", tokens(used), used.saturating_mul(100) / size),
        None => tokens(used),
    }
}

fn context_style(session: &Running) -> Style {
    let full = session
        .facts
        .context_used
        .zip(session.facts.context_size)
        .is_some_and(|(used, size)| size > 0 && used.saturating_mul(10) >= size.saturating_mul(8));
    if full { YELLOW } else { PLAIN }
}

fn what(session: &Running, now: Timestamp) -> Cell {
    let style = match session.activity {
        Activity::Asking(_) => YELLOW.effects(BOLD.get_effects()),
        Activity::Waiting => DIM,
        _ => CYAN,
    };
    let since = session.since.map(|since| format!(" · {}", crate::sessions::age(now.millis_since(since))));
    (style, format!("{}{}", row::doing(session), since.unwrap_or_default()))
}

fn line(cells: &[Cell], widths: &[usize], (style, last): Cell, colour: bool) -> String {
    let mut text = String::new();
    for ((style, cell), width) in cells.iter().zip(widths) {
        text.push_str(&paint(colour, *style, cell));
        text.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
    }
    text.push_str(&paint(colour, style, &last));
    text
}

fn clip(text: &str, columns: usize) -> String {
    let (cells, more) = fold::cells([text], columns);
    fold::cut(cells, more, columns).into_iter().map(|cell| cell.c).collect()
}
