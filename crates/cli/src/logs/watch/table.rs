//! All sessions in a table on a terminal, drawn again as they change.

use std::time::Duration;

use anstyle::Style;
use switchboard_event::Timestamp;
use switchboard_logs::live::{RunningSession, SessionActivity, SessionChange};

use super::{all::Show, row, screen::Screen};
use crate::{
    failure::Failure,
    host,
    logs::columns::{self, Column, Last, Row, STAYS},
    sessions::{age, clip, tilde},
    short_ids::ShortIds,
    terminal::Terminal,
    view::{
        clean,
        figures::{dollars, tokens},
        pieces::Piece,
        style::{BOLD, CYAN, DIM, PLAIN, YELLOW},
    },
};

/// How long ago things were changes by itself.
const TICK: Duration = Duration::from_secs(1);

const COLUMNS: &[Column] = &[
    Column { title: "ID", cut: None, goes: STAYS },
    Column { title: "AGENT", cut: Some((8, 12)), goes: 6 },
    Column { title: "AGE", cut: None, goes: 1 },
    Column { title: "CONTEXT", cut: None, goes: 4 },
    Column { title: "TOKENS", cut: None, goes: 2 },
    Column { title: "COST", cut: None, goes: 3 },
    Column { title: "FOLDER", cut: Some((10, 28)), goes: 5 },
];

/// Its room does not depend on what is in it, so that columns stay where they are.
const NOW: Last = Last { title: "NOW", least: 18, wanted: 40 };

/// The table.
pub struct Table<'a> {
    terminal: &'a Terminal,
    screen: Screen,
    /// Notes above the table: the alternate screen hides what was printed before.
    notes: Vec<String>,
    /// The ids of all other sessions, so that short ids mean one.
    known_ids: Vec<String>,
}

impl<'a> Table<'a> {
    /// Nothing is drawn yet.
    pub fn new(terminal: &'a Terminal, notes: Vec<String>, known_ids: Vec<String>) -> Result<Self, Failure> {
        Ok(Self { terminal, screen: Screen::enter()?, notes, known_ids })
    }
}

impl Show for Table<'_> {
    fn patience(&self) -> Duration {
        TICK
    }

    fn is_picture(&self) -> bool {
        true
    }

    fn show(&mut self, running: &[RunningSession], _: &[SessionChange]) -> Result<(), Failure> {
        let columns = self.terminal.room().unwrap_or_default();
        let mut lines: Vec<String> = self.notes.iter().map(|note| clip(note, columns)).collect();
        let ids = running.iter().map(|session| session.id.clone());
        let short_ids = ShortIds::among(self.known_ids.iter().cloned().chain(ids));
        lines.extend(table(running, &short_ids, host::now(), columns, self.terminal.colour));
        fold(&mut lines, usize::from(self.terminal.height()));
        self.screen.draw(&lines)
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.screen.leave()
    }
}

/// What does not fit on the screen is only counted.
fn fold(lines: &mut Vec<String>, room: usize) {
    if lines.len() > room {
        let hidden = lines.len() + 1 - room;
        lines.truncate(room.saturating_sub(1));
        lines.push(format!("… and {hidden} more"));
    }
}

/// The lines of the table.
fn table(
    running: &[RunningSession],
    short_ids: &ShortIds,
    now: Timestamp,
    columns: usize,
    colour: bool,
) -> Vec<String> {
    let mut lines = vec![clip(&summary(running), columns)];
    if running.is_empty() {
        return lines;
    }
    let home = host::home();
    let row = |session: &RunningSession| {
        let (style, doing) = what(session);
        let since = session.since.map(|since| format!(" · {}", age(now.millis_since(since)))).unwrap_or_default();
        let cells = cells(session, short_ids, now, home.as_deref());
        Row { cells, last: vec![(style, doing)], end: (style, since) }
    };
    lines.extend(columns::lines(COLUMNS, &NOW, running.iter().map(row).collect(), Some(columns), colour));
    lines
}

fn summary(running: &[RunningSession]) -> String {
    let busy = running.iter().filter(|session| session.activity.is_busy()).count();
    let sum: u64 = running.iter().map(|session| session.used.total).sum();
    let cost: f64 = running.iter().filter_map(|session| session.used.cost_usd).sum();
    match running.len() {
        0 => "no session runs now; Ctrl-C ends this".to_owned(),
        1 => format!("1 session, {busy} at work · {} tokens · {}", tokens(sum), dollars(cost)),
        many => format!("{many} sessions, {busy} at work · {} tokens · {}", tokens(sum), dollars(cost)),
    }
}

fn cells(session: &RunningSession, short_ids: &ShortIds, now: Timestamp, home: Option<&str>) -> Vec<Piece> {
    let facts = &session.facts;
    vec![
        (BOLD, short_ids.shorten(&session.id)),
        (PLAIN, clean::line(&session.agent)),
        (DIM, facts.began.map(|began| age(now.millis_since(began))).unwrap_or_default()),
        (context_style(session), context(session)),
        (PLAIN, tokens(session.used.total)),
        (PLAIN, session.used.cost_usd.map(dollars).unwrap_or_default()),
        (DIM, tilde(&clean::line(facts.cwd.as_deref().unwrap_or_default()), home)),
    ]
}

/// How full the context is.
fn context(session: &RunningSession) -> String {
    let Some(used) = session.facts.context_used else { return String::new() };
    match session.facts.context_size.filter(|size| *size > 0) {
        Some(size) => format!("{} {} %", tokens(used), used.saturating_mul(100) / size),
        None => tokens(used),
    }
}

fn context_style(session: &RunningSession) -> Style {
    let full = session
        .facts
        .context_used
        .zip(session.facts.context_size)
        .is_some_and(|(used, size)| size > 0 && used.saturating_mul(10) >= size.saturating_mul(8));
    if full { YELLOW } else { PLAIN }
}

fn what(session: &RunningSession) -> Piece {
    let style = match session.activity {
        SessionActivity::Asking(_) => YELLOW.effects(BOLD.get_effects()),
        SessionActivity::Waiting => DIM,
        _ => CYAN,
    };
    (style, row::doing(session))
}
