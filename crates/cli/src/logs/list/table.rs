//! The table of sessions for people. In a pipe nothing is cut but what nobody would read.

use anstyle::Style;
use jiff::tz::TimeZone;
use switchboard_event::Timestamp;
use switchboard_logs::{Session, export::minute};
use unicode_width::UnicodeWidthStr as _;

use super::{Names, spent::Spent};
use crate::{
    sessions::{age, clip, folder},
    terminal::Terminal,
    view::{
        clean,
        figures::tokens,
        fold, paint,
        style::{BOLD, CYAN, DIM, PLAIN, YELLOW},
    },
};

/// The last column has at least so much room, and in a pipe so much.
const TASK: (usize, usize) = (16, 200);

/// How times and folders are shown.
pub struct Look {
    /// Times are shown as such, in this time zone; without it, how long they are ago.
    pub zone: Option<TimeZone>,
    /// What they are ago from.
    pub now: Timestamp,
    /// The user's home.
    pub home: Option<String>,
}

/// A text and how it is painted.
type Cell = (Style, String);

/// A table of sessions, a line each.
pub fn table(sessions: &[Session], names: &Names, spent: &Spent, look: &Look, terminal: &Terminal) -> String {
    if sessions.is_empty() {
        return String::new();
    }
    let has_machines = sessions.iter().any(|session| session.machine.is_some());
    let mut lines = vec![titles(has_machines)];
    lines.extend(sessions.iter().map(|session| cells(session, names, spent, look, has_machines)));
    let widths = widths(&lines);
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let room = match terminal.stdout {
        true => usize::from(terminal.width()).saturating_sub(used + 1).max(TASK.0),
        false => TASK.1,
    };
    let titles = std::iter::once(vec![(DIM, "TITLE".to_owned())]);
    let tasks = titles.chain(sessions.iter().map(|session| task(session, room)));
    let colour = terminal.stdout && terminal.colour;
    lines.iter().zip(tasks).map(|(line, task)| draw(line, &widths, &task, colour)).collect()
}

fn titles(has_machines: bool) -> Vec<Cell> {
    let machine = if has_machines { &["MACHINE"][..] } else { &[] };
    let names = [&["ID", "WHEN", "AGENT"], machine, &["PROJECT", "TURNS", "TOKENS"]].concat();
    names.into_iter().map(|name| (DIM, name.to_owned())).collect()
}

fn cells(session: &Session, names: &Names, spent: &Spent, look: &Look, has_machines: bool) -> Vec<Cell> {
    let facts = &session.facts;
    let used = spent.of_session(session).filter(|used| used.tokens > 0);
    let mut cells = vec![
        (BOLD, names.short(&session.id)),
        (DIM, when(facts.updated.or(facts.began), look)),
        (PLAIN, clean::line(&session.agent)),
    ];
    if has_machines {
        cells.push((PLAIN, clip(&clean::line(session.machine.as_deref().unwrap_or_default()), 16)));
    }
    let cwd = clean::line(facts.cwd.as_deref().unwrap_or_default());
    cells.push((DIM, folder(&cwd, look.home.as_deref())));
    cells.push((DIM, facts.prompts.to_string()));
    cells.push((DIM, used.map(|used| tokens(used.tokens)).unwrap_or_default()));
    cells
}

fn when(at: Option<Timestamp>, look: &Look) -> String {
    match (at, &look.zone) {
        (None, _) => String::new(),
        (Some(at), Some(zone)) => minute(at, zone),
        (Some(at), None) => age(look.now.millis_since(at)),
    }
}

/// What it is about, behind what is to be known of it.
fn task(session: &Session, room: usize) -> Vec<Cell> {
    let mut marks = Vec::new();
    let mut mark = |is: bool, style: Style, word: String| {
        if is {
            marks.push((style, format!("[{word}] ")));
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
    let used: usize = marks.iter().map(|(_, text)| text.width()).sum();
    marks.push((PLAIN, clip(&clean::line(text), room.saturating_sub(used).max(1))));
    marks
}

fn widths(lines: &[Vec<Cell>]) -> Vec<usize> {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().filter_map(|line| Some(line.get(column)?.1.width())).max();
    (0..columns).map(|column| width(column).unwrap_or_default()).collect()
}

fn draw(cells: &[Cell], widths: &[usize], task: &[Cell], colour: bool) -> String {
    let mut text = String::new();
    for ((style, cell), width) in cells.iter().zip(widths) {
        text.push_str(&paint(colour, *style, cell));
        text.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
    }
    task.iter().for_each(|(style, cell)| text.push_str(&paint(colour, *style, cell)));
    format!("{}\n", text.trim_end())
}
