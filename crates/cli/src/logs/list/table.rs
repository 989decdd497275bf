//! The table of sessions for people. In a pipe only very long titles are cut.

use anstyle::Style;
use jiff::tz::TimeZone;
use switchboard_event::Timestamp;
use switchboard_logs::{LogSession, export::format_minute};
use unicode_width::UnicodeWidthStr as _;

use super::spent::Spent;
use crate::{
    logs::columns::{self, Column, Last, Row, STAYS},
    sessions::{age, clip, tilde},
    short_ids::ShortIds,
    terminal::Terminal,
    view::{
        clean,
        figures::tokens,
        fold,
        pieces::Piece,
        style::{BOLD, CYAN, DIM, PLAIN, YELLOW},
    },
};

const COLUMNS: &[Column] = &[
    Column { title: "ID", cut: None, goes: STAYS },
    Column { title: "WHEN", cut: None, goes: 5 },
    Column { title: "AGENT", cut: None, goes: 6 },
    MACHINE,
    Column { title: "PROJECT", cut: Some((10, 28)), goes: 4 },
    Column { title: "TURNS", cut: None, goes: 1 },
    Column { title: "TOKENS", cut: None, goes: 2 },
];

/// Only there if there are several.
const MACHINE: Column = Column { title: "MACHINE", cut: Some((8, 16)), goes: 3 };

/// What a title has at least, and what folders give way for.
const TITLE: (usize, usize) = (16, 40);

/// Maximum width of a title, in columns.
const LONGEST: usize = 400;

/// How times and folders are shown.
pub struct Look {
    /// Times are shown as such, in this time zone; without it, how long they are ago.
    pub zone: Option<TimeZone>,
    /// What they are ago from.
    pub now: Timestamp,
    /// The user's home.
    pub home: Option<String>,
}

/// A table of sessions, a line each.
pub fn table(sessions: &[LogSession], short_ids: &ShortIds, spent: &Spent, look: &Look, terminal: &Terminal) -> String {
    if sessions.is_empty() {
        return String::new();
    }
    let has_machines = sessions.iter().any(|session| session.machine.is_some());
    let is_shown = |column: &&Column| has_machines || column.title != MACHINE.title;
    let shown: Vec<Column> = COLUMNS.iter().filter(is_shown).copied().collect();
    let row = |session: &LogSession| Row {
        cells: cells(session, short_ids, spent, look, has_machines),
        last: title(session),
        end: Piece::default(),
    };
    let rows: Vec<Row> = sessions.iter().map(row).collect();
    let longest = rows.iter().map(|row| row.last.iter().map(|(_, text)| text.width()).sum()).max().unwrap_or(0);
    let last = Last { title: "TITLE", least: TITLE.0, wanted: longest.min(TITLE.1) };
    let lines = columns::lines(&shown, &last, rows, terminal.room(), terminal.stdout && terminal.colour);
    lines.into_iter().map(|line| line + "\n").collect()
}

fn cells(session: &LogSession, short_ids: &ShortIds, spent: &Spent, look: &Look, has_machines: bool) -> Vec<Piece> {
    let facts = &session.facts;
    let used = spent.of_session(session).filter(|used| used.tokens > 0);
    let mut cells = vec![
        (BOLD, short_ids.shorten(&session.id)),
        (DIM, when(facts.updated.or(facts.began), look)),
        (PLAIN, clean::line(&session.agent)),
    ];
    if has_machines {
        cells.push((PLAIN, clean::line(session.machine.as_deref().unwrap_or_default())));
    }
    let cwd = clean::line(facts.cwd.as_deref().unwrap_or_default());
    cells.push((DIM, tilde(&cwd, look.home.as_deref())));
    cells.push((DIM, facts.prompts.to_string()));
    cells.push((DIM, used.map(|used| tokens(used.tokens)).unwrap_or_default()));
    cells
}

fn when(at: Option<Timestamp>, look: &Look) -> String {
    match (at, &look.zone) {
        (None, _) => String::new(),
        (Some(at), Some(zone)) => format_minute(at, zone),
        (Some(at), None) => age(look.now.millis_since(at)),
    }
}

/// What it is about, behind what is to be known of it.
fn title(session: &LogSession) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut mark = |is: bool, style: Style, word: String| {
        if is {
            pieces.push((style, format!("[{word}] ")));
        }
    };
    mark(session.gone, YELLOW, "gone".to_owned());
    mark(session.archived, DIM, "archived".to_owned());
    mark(session.own.is_some(), CYAN, "switchboard".to_owned());
    let subagents = session.subagents.len();
    mark(subagents > 0, DIM, format!("+{subagents}"));
    let said = |text: &&String| !text.trim().is_empty();
    let text = session.facts.title.as_ref().filter(said).or(session.facts.prompt.as_ref().filter(said));
    let text = text.map_or("", |text| fold::beginning(text.trim(), 4 * fold::LONGEST));
    pieces.push((PLAIN, clip(&clean::line(text), LONGEST)));
    pieces
}
