//! `switchboard sessions list`: sessions, newest first.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anstyle::Style;
use clap::{Args, ValueEnum};
use switchboard_client::{Activity, SessionQuery, SessionStateFilter, SessionView};
use switchboard_event::Timestamp;
use switchboard_serve::read_session_view;
use switchboard_store::{SessionFilter, SessionLog, SessionPhase, SessionRecord, StoreError};
use unicode_width::UnicodeWidthStr as _;

use crate::{
    args::AGENT_NAMES,
    data,
    failure::Failure,
    host,
    remote::{ServerClient, session_record},
    short_ids::ShortIds,
    terminal::{Terminal, print_note},
    view::{
        figures::format_age,
        fold::{MAX_LINE_COLUMNS, abbreviate_home, clip_line, keep_end, truncate_bytes},
        paint,
        sanitize::sanitize_line,
        style::{BOLD, CYAN, DIM, GREEN, PLAIN, RED, YELLOW},
    },
};

/// Maximum width of all columns but the last.
const MAX_COLUMN_WIDTH: usize = 28;

/// Minimum width of the last column, and its width in a pipe.
const TASK_WIDTHS: (usize, usize) = (16, 200);

/// List sessions, newest first
///
/// Sessions that wait for an answer are marked: answer with `switchboard sessions approve ID`, or in place with
/// `follow`.
#[derive(Args)]
pub struct ListSessionsArgs {
    /// Only sessions of this agent
    #[arg(long, value_name = "AGENT", value_parser = AGENT_NAMES, hide_possible_values = true)]
    agent: Option<String>,
    /// Only sessions of this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only sessions in this state; open means not ended
    #[arg(long, value_name = "STATE")]
    state: Option<StateFilter>,
    /// Only sessions in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Only sessions with this text in the title or first prompt
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Only archived sessions, which are not listed otherwise
    #[arg(long)]
    archived: bool,
    /// Maximum number of results
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, conflicts_with = "all")]
    limit: usize,
    /// List everything
    #[arg(long, short)]
    all: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StateFilter {
    /// Has not ended
    Open,
    /// The agent works
    Running,
    /// The agent waits for an answer
    Waiting,
    /// The agent waits for a prompt
    Idle,
    /// Ended successfully
    Done,
    /// Ended with a failure
    Failed,
    /// Was cancelled
    Cancelled,
}

impl StateFilter {
    fn states(self) -> &'static [SessionPhase] {
        match self {
            Self::Open => &[SessionPhase::Running, SessionPhase::Waiting, SessionPhase::Idle],
            Self::Running => &[SessionPhase::Running],
            Self::Waiting => &[SessionPhase::Waiting],
            Self::Idle => &[SessionPhase::Idle],
            Self::Done => &[SessionPhase::Done],
            Self::Failed => &[SessionPhase::Failed],
            Self::Cancelled => &[SessionPhase::Cancelled],
        }
    }

    fn on_server(self) -> SessionStateFilter {
        match self {
            Self::Open | Self::Running => SessionStateFilter::Running,
            Self::Waiting => SessionStateFilter::Waiting,
            Self::Idle => SessionStateFilter::Idle,
            Self::Done => SessionStateFilter::Done,
            Self::Failed => SessionStateFilter::Failed,
            Self::Cancelled => SessionStateFilter::Cancelled,
        }
    }
}

pub fn run(args: &ListSessionsArgs, data: Option<PathBuf>) -> Result<(), Failure> {
    let folder = host::absolute_path(&host::data_directory(data.clone())?);
    let log = data::open_log(data)?;
    // One more than is shown, to detect whether there are more.
    let mut sessions = args.sessions(&*log, (!args.all).then_some(args.limit.saturating_add(1)))?;
    let more = !args.all && sessions.len() > args.limit;
    if !args.all {
        sessions.truncate(args.limit);
    }
    let terminal = Terminal::new();
    let text = match args.json {
        true => json_lines(&*log, sessions)?,
        false => render_table(&sessions, &ShortIds::of_data(&folder, &*log)?, &terminal),
    };
    args.print(&text, more)
}

pub fn run_on_server(args: &ListSessionsArgs, server: &ServerClient) -> Result<(), Failure> {
    let limit = if args.all { usize::MAX } else { args.limit.saturating_add(1) };
    // The state `running` of a server includes sessions that wait.
    let is_wanted =
        |session: &SessionView| args.state != Some(StateFilter::Running) || session.activity == Some(Activity::Running);
    let mut sessions = server.list_sessions(&args.query(), limit, is_wanted)?;
    let more = !args.all && sessions.len() > args.limit;
    if !args.all {
        sessions.truncate(args.limit);
    }
    let text = match args.json {
        true => sessions.iter().map(json_line).collect(),
        false => {
            let short_ids = ShortIds::among(sessions.iter().map(|session| session.id.to_string()));
            let sessions: Vec<_> = sessions.iter().map(session_record).collect();
            render_table(&sessions, &short_ids, &Terminal::new())
        }
    };
    args.print(&text, more)
}

impl ListSessionsArgs {
    fn sessions(&self, log: &dyn SessionLog, limit: Option<usize>) -> Result<Vec<SessionRecord>, StoreError> {
        let cwd = self.cwd.as_ref().map(|cwd| std::fs::canonicalize(cwd).unwrap_or_else(|_| host::absolute_path(cwd)));
        log.list_sessions(&SessionFilter {
            agent: self.agent.clone(),
            project: self.project.clone(),
            cwd: cwd.map(|cwd| cwd.to_string_lossy().into_owned()),
            states: self.state.map(|state| state.states().to_vec()).unwrap_or_default(),
            text: self.text.clone(),
            archived: Some(self.archived),
            limit,
            ..SessionFilter::default()
        })
    }

    /// Returns the query to a server. The directory is one on its machine.
    fn query(&self) -> SessionQuery {
        SessionQuery {
            agent: self.agent.clone(),
            project: self.project.clone(),
            state: self.state.map(StateFilter::on_server),
            text: self.text.clone(),
            cwd: self.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()),
            archived: Some(self.archived),
            ..SessionQuery::default()
        }
    }

    fn print(&self, text: &str, more: bool) -> Result<(), Failure> {
        io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)?;
        if !self.json {
            self.remark(text.is_empty(), more);
        }
        Ok(())
    }

    /// Prints a note about a list that is empty or cut.
    fn remark(&self, empty: bool, more: bool) {
        let asks = [&self.agent, &self.project, &self.text].iter().any(|what| what.is_some());
        match (empty, more) {
            (true, _) if asks || self.archived || self.state.is_some() || self.cwd.is_some() => {
                print_note("no matching sessions")
            }
            (true, _) => print_note("no sessions yet\nhint: start one with: switchboard run AGENT \"TASK\""),
            (_, true) => print_note("… and older sessions: use --limit N or --all"),
            _ => {}
        }
    }
}

/// Print one JSON object per line
fn json_lines(log: &dyn SessionLog, sessions: Vec<SessionRecord>) -> Result<String, Failure> {
    let mut text = String::new();
    for session in sessions {
        text.push_str(&json_line(&read_session_view(log, session)?));
    }
    Ok(text)
}

fn json_line(session: &SessionView) -> String {
    serde_json::to_string(session).unwrap_or_default() + "\n"
}

/// Renders a table of sessions. In a pipe only very long tasks are cut.
pub fn render_table(sessions: &[SessionRecord], short_ids: &ShortIds, terminal: &Terminal) -> String {
    if sessions.is_empty() {
        return String::new();
    }
    let (now, home) = (host::now(), host::home_directory());
    let rows: Vec<SessionListRow> = sessions.iter().map(|session| SessionListRow::new(session, now)).collect();
    let ids = sessions.iter().map(|session| short_ids.shorten_own(&session.id));
    let has_projects = rows.iter().any(|row| !row.project.is_empty());
    let mut lines = vec![column_titles(has_projects)];
    lines.extend(ids.zip(&rows).map(|(id, row)| row_cells(id, row, has_projects, home.as_deref())));
    let widths = column_widths(&lines);
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let room = match terminal.stdout {
        true => usize::from(terminal.width()).saturating_sub(used + 1).max(TASK_WIDTHS.0),
        false => TASK_WIDTHS.1,
    };
    let tasks = std::iter::once((DIM, "TASK".to_owned())).chain(rows.iter().map(|row| (PLAIN, row.task(room))));
    let color = terminal.stdout && terminal.color;
    lines.iter().zip(tasks).map(|(line, task)| render_row(line, &widths, &task, color)).collect()
}

type StyledCell = (Style, String);

fn column_titles(has_projects: bool) -> Vec<StyledCell> {
    let project = if has_projects { &["PROJECT"][..] } else { &[] };
    let names = [&["ID", "AGENT", "STATE", "AGE", "TURNS"], project, &["DIRECTORY"]].concat();
    names.into_iter().map(|name| (DIM, name.to_owned())).collect()
}

fn row_cells(id: String, row: &SessionListRow, has_projects: bool, home: Option<&str>) -> Vec<StyledCell> {
    let mut cells = vec![
        (BOLD, id),
        (PLAIN, clip_line(&row.agent, MAX_COLUMN_WIDTH)),
        (row.state.style(), row.state.word().to_owned()),
        (DIM, row.age.clone()),
        (DIM, row.turns.clone()),
    ];
    if has_projects {
        cells.push((PLAIN, clip_line(&row.project, MAX_COLUMN_WIDTH)));
    }
    cells.push((DIM, keep_end(abbreviate_home(&row.cwd, home), MAX_COLUMN_WIDTH)));
    cells
}

fn column_widths(lines: &[Vec<StyledCell>]) -> Vec<usize> {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().filter_map(|line| Some(line.get(column)?.1.width())).max();
    (0..columns).map(|column| width(column).unwrap_or_default()).collect()
}

fn render_row(cells: &[StyledCell], widths: &[usize], (style, task): &StyledCell, color: bool) -> String {
    let mut text = String::new();
    for ((style, cell), width) in cells.iter().zip(widths) {
        text.push_str(&paint(color, *style, cell));
        text.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
    }
    text.push_str(&paint(color, *style, task));
    format!("{}\n", text.trim_end())
}

/// A session in a list.
pub struct SessionListRow {
    pub agent: String,
    pub state: PhaseLabel,
    pub age: String,
    pub turns: String,
    pub project: String,
    pub cwd: String,
    /// The title or the first prompt.
    task: String,
}

#[derive(Clone, Copy)]
pub struct PhaseLabel(SessionPhase);

impl SessionListRow {
    pub fn new(session: &SessionRecord, now: Timestamp) -> Self {
        let task = session.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(&session.prompt);
        Self {
            agent: sanitize_line(&session.agent),
            state: PhaseLabel(session.state),
            age: format_age(now.millis_since(session.created)),
            turns: session.turns.to_string(),
            project: sanitize_line(session.project.as_deref().unwrap_or_default()),
            cwd: sanitize_line(&session.cwd),
            task: sanitize_line(truncate_bytes(task.trim(), 4 * MAX_LINE_COLUMNS)),
        }
    }

    /// Returns the title or first prompt, cut to a number of columns.
    pub fn task(&self, columns: usize) -> String {
        clip_line(&self.task, columns)
    }
}

impl PhaseLabel {
    pub fn word(self) -> &'static str {
        match self.0 {
            SessionPhase::Waiting => "needs you",
            other => other.name(),
        }
    }

    pub fn style(self) -> Style {
        match self.0 {
            SessionPhase::Running => CYAN,
            SessionPhase::Waiting => YELLOW.effects(BOLD.get_effects()),
            SessionPhase::Done => GREEN,
            SessionPhase::Failed => RED,
            SessionPhase::Cancelled => DIM,
            SessionPhase::Idle | SessionPhase::Other => PLAIN,
        }
    }
}
