//! `switchboard logs list`: the sessions that agents left on this machine, latest first.

use std::collections::{HashMap, HashSet};

use anstyle::Style;
use clap::Args;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use switchboard_agents::ScanDepth;
use switchboard_event::Timestamp;
use switchboard_logs::{
    LogFilter, LogLibrary, LogSearchQuery, LogSession, SearchWords, SessionView,
    export::format_minute,
    usage::{CostCalculator, Usage},
};
use unicode_width::UnicodeWidthStr as _;

use super::{
    LogLocationArgs,
    filter::{self, LogFilterArgs},
    on_server,
    table_layout::{LastColumn, NEVER_DROPPED, TableColumn, TableRow, layout_table},
};
use crate::{
    failure::Failure,
    host,
    remote::ServerClient,
    short_ids::ShortIds,
    terminal::{Terminal, print_note, print_output},
    view::{
        figures::{format_age, format_tokens},
        fold::{MAX_LINE_COLUMNS, abbreviate_home, clip_line, truncate_bytes},
        sanitize::sanitize_line,
        style::{BOLD, CYAN, DIM, PLAIN, StyledText, YELLOW},
    },
};

/// Maximum number of search hits that `--text` considers.
const MAX_HITS: usize = 100_000;

const COLUMNS: &[TableColumn] = &[
    TableColumn { title: "ID", cut: None, drop_step: NEVER_DROPPED },
    TableColumn { title: "WHEN", cut: None, drop_step: 5 },
    TableColumn { title: "AGENT", cut: None, drop_step: 6 },
    MACHINE_COLUMN,
    TableColumn { title: "PROJECT", cut: Some((10, 28)), drop_step: 4 },
    TableColumn { title: "TURNS", cut: None, drop_step: 1 },
    TableColumn { title: "TOKENS", cut: None, drop_step: 2 },
];

/// Only shown if there are several machines.
const MACHINE_COLUMN: TableColumn = TableColumn { title: "MACHINE", cut: Some((8, 16)), drop_step: 3 };

/// Minimum and preferred width of a title.
const TITLE_WIDTHS: (usize, usize) = (16, 40);

/// Maximum width of a title, in columns.
const MAX_TITLE_WIDTH: usize = 400;

/// List the sessions in the agents' logs, latest first
#[derive(Args)]
pub struct ListLogsArgs {
    /// Only sessions that contain this text: words, "phrases in quotation marks"
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
    /// Maximum number of results
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, conflicts_with = "all")]
    limit: usize,
    /// List everything
    #[arg(long, short)]
    all: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: LogFilterArgs,
}

pub fn run(args: &ListLogsArgs, location: &LogLocationArgs) -> Result<(), Failure> {
    let zone = args.filter.time_zone()?;
    let wanted = args.filter.filter(&zone)?;
    let (library, _) = location.open_refreshed(ScanDepth::All)?;
    let filter = filter::resolve_session(wanted, &library)?;
    let mut sessions = find_sessions(&library, &filter, args.text.as_deref())?;
    let all = sessions.len();
    if !args.all {
        sessions.truncate(args.limit);
    }
    let spent = UsageBySession::new(&library)?;
    args.print(&sessions, &spent, zone, || ShortIds::of_library(&library))?;
    if args.json { Ok(()) } else { print_remark(location, &library, sessions.len(), all) }
}

pub fn run_on_server(args: &ListLogsArgs, server: &ServerClient) -> Result<(), Failure> {
    let zone = args.filter.time_zone()?;
    let query = args.filter.server_query(&zone)?;
    let mut sessions = on_server::list_sessions(server, &query)?;
    if let Some(id) = query.iter().find_map(|(name, id)| (*name == "session").then_some(id)) {
        let wanted = on_server::find_session(server, id)?;
        sessions.retain(|session| session.id == wanted.id && session.agent == wanted.agent);
    }
    if let Some(text) = &args.text {
        let with = on_server::sessions_with_text(server, &query, text)?;
        sessions.retain(|session| with.contains(&(session.agent.clone(), session.id.clone())));
    }
    let all = sessions.len();
    if !args.all {
        sessions.truncate(args.limit);
    }
    let usage: Usage = on_server::query(server, "/api/usage", &[("by", "session"), ("limit", "10000")])?;
    let spent = UsageBySession::of_report(&sessions, &usage);
    args.print(&sessions, &spent, zone, || on_server::short_ids(server))?;
    match (args.json, sessions.len()) {
        (true, _) => {}
        (false, 0) => print_note("no matching sessions"),
        (false, shown) => note_older(shown, all),
    }
    Ok(())
}

impl ListLogsArgs {
    fn print(
        &self,
        sessions: &[LogSession],
        spent: &UsageBySession,
        zone: TimeZone,
        short_ids: impl FnOnce() -> Result<ShortIds, Failure>,
    ) -> Result<(), Failure> {
        if self.json {
            return print_output(&json_lines(sessions, spent));
        }
        let terminal = Terminal::new();
        let exact = self.filter.has_time_zone() || !terminal.stdout;
        let look = TableSettings { zone: exact.then_some(zone), now: host::now(), home: host::home_directory() };
        print_output(&render_table(sessions, &short_ids()?, spent, &look, &terminal))
    }
}

pub fn find_sessions(library: &LogLibrary, filter: &LogFilter, text: Option<&str>) -> Result<Vec<LogSession>, Failure> {
    let mut sessions = library.list_sessions(filter)?;
    if let Some(text) = text {
        let words = SearchWords::Plain(text.to_owned());
        let query = LogSearchQuery { words, kinds: Vec::new(), filter: filter.clone(), limit: MAX_HITS };
        let hits = library.search(&query)?.hits;
        let with: HashSet<_> = hits.iter().map(|hit| (&hit.agent, &hit.session, &hit.machine)).collect();
        sessions.retain(|session| with.contains(&(&session.agent, &session.id, &session.machine)));
    }
    Ok(sessions)
}

/// Prints a note about a list that is empty or cut.
fn print_remark(location: &LogLocationArgs, library: &LogLibrary, shown: usize, all: usize) -> Result<(), Failure> {
    match shown {
        0 if all == 0 && library.list_sessions(&LogFilter::default())?.is_empty() => location.report_no_logs()?,
        0 if all == 0 => print_note("no matching sessions"),
        _ => note_older(shown, all),
    }
    Ok(())
}

fn note_older(shown: usize, all: usize) {
    if shown < all {
        print_note(&format!("… and {} older sessions: use --limit N or --all", all - shown));
    }
}

fn json_lines(sessions: &[LogSession], spent: &UsageBySession) -> String {
    let mut text = String::new();
    for session in sessions {
        let mut object = serde_json::to_value(SessionView::from(session)).unwrap_or(Value::Null);
        if let (Some(fields), Some(used)) = (object.as_object_mut(), spent.of_session(session)) {
            fields.insert("totalTokens".to_owned(), json!(used.tokens));
            fields.insert("costUsd".to_owned(), json!(used.cost_usd));
        }
        text.push_str(&object.to_string());
        text.push('\n');
    }
    text
}

/// Usage by agent, session ID and machine, subagents included.
pub struct UsageBySession(HashMap<(String, String, String), TokensAndCost>);

#[derive(Clone, Copy, Debug, Default)]
struct TokensAndCost {
    pub tokens: u64,
    /// `None` if no part of the cost is known.
    pub cost_usd: Option<f64>,
}

impl UsageBySession {
    pub fn new(library: &LogLibrary) -> Result<Self, Failure> {
        let prices = library.load_prices()?;
        let (mut costs, mut sums): (_, HashMap<_, TokensAndCost>) = (CostCalculator::new(&prices), HashMap::new());
        let ledger = library.for_each_reply(&LogFilter::default(), |ledger, entry| {
            let used = sums.entry((entry.agent, entry.session, entry.machine)).or_default();
            let figures = [entry.input, entry.output, entry.cache_read, entry.cache_write, entry.cache_write_1h];
            used.tokens = figures.iter().fold(used.tokens, |sum, figure| sum.saturating_add(*figure));
            let cost = costs.reply_cost_usd(ledger, entry);
            used.cost_usd = cost.map(|cost| cost + used.cost_usd.unwrap_or_default()).or(used.cost_usd);
        })?;
        let name = |name| ledger.resolve_name(name).to_owned();
        let named = sums.into_iter().map(|((a, s, m), used)| ((name(a), name(s), name(m)), used));
        Ok(Self(named.collect()))
    }

    /// Returns the usage of sessions from a report by session.
    pub fn of_report(sessions: &[LogSession], usage: &Usage) -> Self {
        let rows: HashMap<_, _> = usage.rows.iter().map(|row| (row.key.as_str(), row)).collect();
        let used = |session: &LogSession| {
            let row = rows.get(session.id.as_str())?;
            let is_priced = row.cost_usd > 0.0 || row.unpriced_models.len() < row.models.len();
            let used = TokensAndCost { tokens: row.total_tokens, cost_usd: is_priced.then_some(row.cost_usd) };
            let machine = session.machine.clone().unwrap_or_default();
            Some(((session.agent.clone(), session.id.clone(), machine), used))
        };
        Self(sessions.iter().filter_map(used).collect())
    }

    fn of_session(&self, session: &LogSession) -> Option<TokensAndCost> {
        let machine = session.machine.clone().unwrap_or_default();
        self.0.get(&(session.agent.clone(), session.id.clone(), machine)).copied()
    }
}

pub struct TableSettings {
    /// The time zone of times; without one, ages are shown.
    pub zone: Option<TimeZone>,
    pub now: Timestamp,
    pub home: Option<String>,
}

/// Renders a table of sessions. In a pipe only very long titles are cut.
pub fn render_table(
    sessions: &[LogSession],
    short_ids: &ShortIds,
    spent: &UsageBySession,
    look: &TableSettings,
    terminal: &Terminal,
) -> String {
    if sessions.is_empty() {
        return String::new();
    }
    let has_machines = sessions.iter().any(|session| session.machine.is_some());
    let is_shown = |column: &&TableColumn| has_machines || column.title != MACHINE_COLUMN.title;
    let shown: Vec<TableColumn> = COLUMNS.iter().filter(is_shown).copied().collect();
    let row = |session: &LogSession| TableRow {
        cells: row_cells(session, short_ids, spent, look, has_machines),
        last: title_texts(session),
        end: StyledText::default(),
    };
    let rows: Vec<TableRow> = sessions.iter().map(row).collect();
    let longest = rows.iter().map(|row| row.last.iter().map(|(_, text)| text.width()).sum()).max().unwrap_or(0);
    let last = LastColumn { title: "TITLE", min_width: TITLE_WIDTHS.0, preferred_width: longest.min(TITLE_WIDTHS.1) };
    let lines = layout_table(&shown, &last, rows, terminal.max_line_width(), terminal.stdout && terminal.color);
    lines.into_iter().map(|line| line + "\n").collect()
}

fn row_cells(
    session: &LogSession,
    short_ids: &ShortIds,
    spent: &UsageBySession,
    look: &TableSettings,
    has_machines: bool,
) -> Vec<StyledText> {
    let facts = &session.facts;
    let used = spent.of_session(session).filter(|used| used.tokens > 0);
    let mut cells = vec![
        (BOLD, short_ids.shorten(&session.id)),
        (DIM, format_when(facts.updated.or(facts.began), look)),
        (PLAIN, sanitize_line(&session.agent)),
    ];
    if has_machines {
        cells.push((PLAIN, sanitize_line(session.machine.as_deref().unwrap_or_default())));
    }
    let cwd = sanitize_line(facts.cwd.as_deref().unwrap_or_default());
    cells.push((DIM, abbreviate_home(&cwd, look.home.as_deref())));
    cells.push((DIM, facts.prompts.to_string()));
    cells.push((DIM, used.map(|used| format_tokens(used.tokens)).unwrap_or_default()));
    cells
}

fn format_when(at: Option<Timestamp>, look: &TableSettings) -> String {
    match (at, &look.zone) {
        (None, _) => String::new(),
        (Some(at), Some(zone)) => format_minute(at, zone),
        (Some(at), None) => format_age(look.now.millis_since(at)),
    }
}

/// Returns the title, after marks for special sessions.
fn title_texts(session: &LogSession) -> Vec<StyledText> {
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
    let text = text.map_or("", |text| truncate_bytes(text.trim(), 4 * MAX_LINE_COLUMNS));
    pieces.push((PLAIN, clip_line(&sanitize_line(text), MAX_TITLE_WIDTH)));
    pieces
}
