//! Running sessions in a table on the terminal's alternate screen, redrawn as they change.
//!
//! On the usual screen, a table cannot be found again once the terminal has another width: some terminals rewrap its lines and
//! some do not. The alternate screen is never rewrapped, and a table begins in its corner.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::net::UnixStream,
    thread,
    time::Duration,
};

use anstyle::Style;
use signal_hook::{
    consts::{SIGSTOP, SIGTSTP},
    low_level::{pipe, raise},
};
use switchboard_event::Timestamp;
use switchboard_logs::live::{RunningSession, SessionActivity, SessionChange};

use super::{RunningSessionsDisplay, lines::describe_activity};
use crate::{
    failure::Failure,
    host,
    logs::table_layout::{LastColumn, NEVER_DROPPED, TableColumn, TableRow, layout_table},
    short_ids::ShortIds,
    terminal::Terminal,
    view::{
        figures::{format_age, format_dollars, format_tokens},
        fold::{abbreviate_home, clip_line},
        sanitize::sanitize_line,
        style::{BOLD, CYAN, DIM, PLAIN, StyledText, YELLOW},
    },
};

/// Ages change even if nothing else does.
const REDRAW_INTERVAL: Duration = Duration::from_secs(1);

const COLUMNS: &[TableColumn] = &[
    TableColumn { title: "ID", cut: None, drop_step: NEVER_DROPPED },
    TableColumn { title: "AGENT", cut: Some((8, 12)), drop_step: 6 },
    TableColumn { title: "AGE", cut: None, drop_step: 1 },
    TableColumn { title: "CONTEXT", cut: None, drop_step: 4 },
    TableColumn { title: "TOKENS", cut: None, drop_step: 2 },
    TableColumn { title: "COST", cut: None, drop_step: 3 },
    TableColumn { title: "DIRECTORY", cut: Some((10, 28)), drop_step: 5 },
];

/// A fixed width, so that columns do not move.
const NOW_COLUMN: LastColumn = LastColumn { title: "NOW", min_width: 18, preferred_width: 40 };

/// Hides the cursor and disables line wrapping: terminals disagree about the width of some characters.
const ENTER_SCREEN: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";

const LEAVE_SCREEN: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

pub struct RunningSessionsTable<'a> {
    terminal: &'a Terminal,
    screen: AlternateScreen,
    /// Notes above the table: the alternate screen hides what was printed before.
    notes: Vec<String>,
    /// The IDs of all other sessions, so that short IDs are unique.
    known_ids: Vec<String>,
}

impl<'a> RunningSessionsTable<'a> {
    pub fn new(terminal: &'a Terminal, notes: Vec<String>, known_ids: Vec<String>) -> Result<Self, Failure> {
        Ok(Self { terminal, screen: AlternateScreen::enter()?, notes, known_ids })
    }
}

impl RunningSessionsDisplay for RunningSessionsTable<'_> {
    fn patience(&self) -> Duration {
        REDRAW_INTERVAL
    }

    fn is_picture(&self) -> bool {
        true
    }

    fn show(&mut self, running: &[RunningSession], _: &[SessionChange]) -> Result<(), Failure> {
        let columns = self.terminal.max_line_width().unwrap_or_default();
        let mut lines: Vec<String> = self.notes.iter().map(|note| clip_line(note, columns)).collect();
        let ids = running.iter().map(|session| session.id.clone());
        let short_ids = ShortIds::among(self.known_ids.iter().cloned().chain(ids));
        lines.extend(render_table(running, &short_ids, host::now(), columns, self.terminal.color));
        fold_lines(&mut lines, usize::from(self.terminal.height()));
        self.screen.draw(&lines)
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.screen.leave()
    }
}

/// Replaces lines that do not fit on the screen by their number.
fn fold_lines(lines: &mut Vec<String>, room: usize) {
    if lines.len() > room {
        let hidden = lines.len() + 1 - room;
        lines.truncate(room.saturating_sub(1));
        lines.push(format!("… and {hidden} more"));
    }
}

fn render_table(
    running: &[RunningSession],
    short_ids: &ShortIds,
    now: Timestamp,
    columns: usize,
    color: bool,
) -> Vec<String> {
    let mut lines = vec![clip_line(&summary_line(running), columns)];
    if running.is_empty() {
        return lines;
    }
    let home = host::home_directory();
    let row = |session: &RunningSession| {
        let (style, doing) = activity_cell(session);
        let since =
            session.since.map(|since| format!(" · {}", format_age(now.millis_since(since)))).unwrap_or_default();
        let cells = row_cells(session, short_ids, now, home.as_deref());
        TableRow { cells, last: vec![(style, doing)], end: (style, since) }
    };
    lines.extend(layout_table(COLUMNS, &NOW_COLUMN, running.iter().map(row).collect(), Some(columns), color));
    lines
}

fn summary_line(running: &[RunningSession]) -> String {
    let busy = running.iter().filter(|session| session.activity.is_busy()).count();
    let sum: u64 = running.iter().map(|session| session.used.total).sum();
    let cost: f64 = running.iter().filter_map(|session| session.used.cost_usd).sum();
    match running.len() {
        0 => "no session runs now; Ctrl-C ends this".to_owned(),
        1 => format!("1 session, {busy} at work · {} tokens · {}", format_tokens(sum), format_dollars(cost)),
        many => format!("{many} sessions, {busy} at work · {} tokens · {}", format_tokens(sum), format_dollars(cost)),
    }
}

fn row_cells(session: &RunningSession, short_ids: &ShortIds, now: Timestamp, home: Option<&str>) -> Vec<StyledText> {
    let facts = &session.facts;
    vec![
        (BOLD, short_ids.shorten(&session.id)),
        (PLAIN, sanitize_line(&session.agent)),
        (DIM, facts.began.map(|began| format_age(now.millis_since(began))).unwrap_or_default()),
        (context_style(session), format_context(session)),
        (PLAIN, format_tokens(session.used.total)),
        (PLAIN, session.used.cost_usd.map(format_dollars).unwrap_or_default()),
        (DIM, abbreviate_home(&sanitize_line(facts.cwd.as_deref().unwrap_or_default()), home)),
    ]
}

fn format_context(session: &RunningSession) -> String {
    let Some(used) = session.facts.context_used else { return String::new() };
    match session.facts.context_size.filter(|size| *size > 0) {
        Some(size) => format!("{} {} %", format_tokens(used), used.saturating_mul(100) / size),
        None => format_tokens(used),
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

fn activity_cell(session: &RunningSession) -> StyledText {
    let style = match session.activity {
        SessionActivity::Asking(_) => YELLOW.effects(BOLD.get_effects()),
        SessionActivity::Waiting => DIM,
        _ => CYAN,
    };
    (style, describe_activity(session))
}

/// The terminal's alternate screen, left on drop.
struct AlternateScreen {
    picture: String,
    /// Whether the screen was left. Leaving it twice would move the cursor to its original position.
    is_left: bool,
}

impl AlternateScreen {
    fn enter() -> Result<Self, Failure> {
        write_to_terminal(ENTER_SCREEN)?;
        leave_screen_while_stopped();
        Ok(Self { picture: String::new(), is_left: false })
    }

    pub fn draw(&mut self, lines: &[String]) -> Result<(), Failure> {
        self.picture = lines.join("\n");
        // The rest of each line is erased after it, so that nothing flickers.
        let text = lines.join("\x1b[K\r\n");
        write_to_terminal(&format!("\x1b[H{text}\x1b[K\x1b[J"))
    }

    /// Leaves the screen and prints its last content.
    pub fn leave(&mut self) -> Result<(), Failure> {
        self.is_left = true;
        write_to_terminal(&format!("{LEAVE_SCREEN}{}\n", self.picture))
    }
}

impl Drop for AlternateScreen {
    fn drop(&mut self) {
        if !self.is_left {
            // If the terminal is gone, there is nothing to restore.
            drop(write_to_terminal(LEAVE_SCREEN));
        }
    }
}

/// Leaves the screen while the program is stopped by Ctrl-Z, and enters it again when it continues.
fn leave_screen_while_stopped() {
    let Ok((mut heard, told)) = UnixStream::pair() else { return };
    if pipe::register(SIGTSTP, told).is_err() {
        return;
    }
    thread::spawn(move || {
        while heard.read_exact(&mut [0]).is_ok() {
            // The lock prevents drawing in the meantime.
            let mut out = io::stdout().lock();
            let stopped =
                out.write_all(LEAVE_SCREEN.as_bytes()).and_then(|()| out.flush()).and_then(|()| raise(SIGSTOP));
            drop(stopped.and_then(|()| out.write_all(ENTER_SCREEN.as_bytes())));
        }
    });
}

fn write_to_terminal(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
}
