//! `switchboard sessions show`: a session from the log, whether it has ended or not.

use std::path::PathBuf;

use clap::Args;
use switchboard_agents::find_agent;
use switchboard_dialects::Dialect;
use switchboard_event::{Event, EventBody, Id, SessionState, Timestamp, Usage};
use switchboard_store::SessionRecord;

use super::{
    find_session,
    history::{HistoryPosition, SessionHistory},
    list::SessionListRow,
};
use crate::{
    args::{DIALECT_NAMES, choose_dialect},
    data,
    failure::Failure,
    host,
    remote::{ServerClient, session_record},
    terminal::{Terminal, print_output},
    view::{
        ScreenLayout, TranscriptView, ViewOptions, ViewOutput,
        figures::{format_age, format_dollars, format_duration, format_tokens, pluralize},
        paint,
        sanitize::sanitize_line,
        style::{BOLD, DIM},
    },
    watch::{DisplaySettings, MessageWriter},
};

/// Show a session: details and transcript
///
/// Shows the past of the session; `switchboard sessions follow` also shows live events.
#[derive(Args)]
pub struct ShowSessionArgs {
    /// Session: an ID or its beginning, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION")]
    session: String,
    /// Show only the last N turns
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Hide the agent's reasoning
    #[arg(long)]
    no_reasoning: bool,
    /// Print messages of the default dialect, one JSON object per line
    #[arg(long, conflicts_with = "dialect")]
    json: bool,
    /// Print messages of this dialect, one JSON object per line; `switchboard translate --help` lists the dialects
    #[arg(long, value_name = "DIALECT", value_parser = DIALECT_NAMES, hide_possible_values = true)]
    dialect: Option<String>,
}

pub fn run(args: &ShowSessionArgs, data: Option<PathBuf>) -> Result<(), Failure> {
    let dialect = choose_dialect(args.json, args.dialect.as_deref())?;
    let log = data::open_log(data)?;
    let session = find_session(&*log, &args.session)?;
    show_history(args, dialect, &session, &SessionHistory::new(&*log, &session))
}

pub fn run_on_server(args: &ShowSessionArgs, server: &ServerClient) -> Result<(), Failure> {
    let dialect = choose_dialect(args.json, args.dialect.as_deref())?;
    let session = session_record(&server.find_session(&args.session)?);
    show_history(args, dialect, &session, &SessionHistory::on_server(server, &session))
}

fn show_history(
    args: &ShowSessionArgs,
    dialect: Option<&Dialect>,
    session: &SessionRecord,
    history: &SessionHistory<'_>,
) -> Result<(), Failure> {
    let place = args.last.map(|turns| history.start_of_last_turns(turns)).transpose()?.unwrap_or_default();
    match dialect {
        Some(dialect) => write_messages(history, MessageWriter::new(dialect).after(place.after)),
        None => print_transcript(args, session, history, &place),
    }
}

fn write_messages(history: &SessionHistory<'_>, mut writer: MessageWriter) -> Result<(), Failure> {
    history.pages(0).try_for_each(|page| {
        page?.iter().for_each(|event| writer.event(event));
        writer.flush()
    })
}

/// Prints the header and the transcript to standard output.
fn print_transcript(
    args: &ShowSessionArgs,
    session: &SessionRecord,
    history: &SessionHistory<'_>,
    place: &HistoryPosition,
) -> Result<(), Failure> {
    let terminal = Terminal::new();
    let look = DisplaySettings { reasoning: !args.no_reasoning, first_prompt: true, ..DisplaySettings::default() };
    let options = ViewOptions { screen: ScreenLayout::Both, resume: false, ..look.options(&terminal) };
    let mut totals = SessionTotals::default();
    history.pages(0).try_for_each(|page| {
        page?.iter().for_each(|event| totals.apply(event));
        Ok::<_, Failure>(())
    })?;
    print_output(&session_header(session, &totals, host::now(), terminal.stdout && terminal.color))?;
    let (mut view, mut out) = (TranscriptView::new(options), ViewOutput::default());
    place.opening.iter().for_each(|event| view.event(event, &mut out));
    for page in history.pages(place.after) {
        page?.iter().for_each(|event| view.event(event, &mut out));
        out.pieces().try_for_each(|(_, text)| print_output(text))?;
        out.clear();
    }
    view.pause(&mut out);
    out.pieces().try_for_each(|(_, text)| print_output(text))
}

/// The state of a session with what only this view needs.
#[derive(Default)]
struct SessionTotals {
    state: SessionState,
    /// The agent's own ID of the session, which the list of a server lacks.
    agent_session: Option<Id>,
    /// The agent's running total, if it reports no amounts to add.
    running_total: Option<Usage>,
    /// The cost of turns, if replies have none.
    turn_cost: Option<f64>,
}

impl SessionTotals {
    fn apply(&mut self, event: &Event) {
        self.state.apply(event);
        match &event.body {
            EventBody::SessionStarted(started) => {
                self.agent_session = started.agent_session.clone().or(self.agent_session.take());
            }
            EventBody::Usage(usage) if usage.cumulative => self.running_total = Some((**usage).clone()),
            EventBody::TurnCompleted(turn) if event.thread.is_none() => {
                self.turn_cost = turn.cost_usd.map(|cost| cost + self.turn_cost.unwrap_or_default()).or(self.turn_cost);
            }
            _ => {}
        }
    }

    fn format_usage(&self) -> String {
        let summed = self.state.total_usage();
        let usage = if summed.is_zero() { self.running_total.as_ref().unwrap_or(&summed) } else { &summed };
        let mut words = Vec::new();
        if !usage.is_zero() {
            let cached = match usage.cache_read {
                0 => String::new(),
                read => format!(" ({} cached)", format_tokens(read)),
            };
            words.push(format!(
                "{} in{cached} · {} out",
                format_tokens(usage.all_input()),
                format_tokens(usage.output)
            ));
        }
        let cost = self.turn_cost.or(usage.cost_usd).filter(|cost| *cost > 0.0);
        words.extend(cost.map(format_dollars));
        words.join(" · ")
    }
}

fn session_header(session: &SessionRecord, totals: &SessionTotals, now: Timestamp, color: bool) -> String {
    let row = SessionListRow::new(session, now);
    let (id, state) = (sanitize_line(&session.id), row.state);
    let mut text = format!("{}  {}\n", paint(color, BOLD, &id), paint(color, state.style(), state.word()));
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("  {}  {}\n", paint(color, DIM, &format!("{name:<9}")), sanitize_line(&value)));
        }
    };
    line("title", session.title.clone().unwrap_or_default());
    line("agent", describe_agent(session, totals));
    line("directory", session.cwd.clone());
    line("project", session.project.clone().unwrap_or_default());
    line("started", format!("{} ({} ago)", format_utc(session.created), row.age));
    line("ended", session.ended.map(|ended| describe_end(session, ended, now)).unwrap_or_default());
    line("error", error_message(session));
    line("turns", describe_turns(session));
    line("tokens", totals.format_usage());
    let agent_session = session.agent_session.as_ref().or(totals.agent_session.as_ref());
    line("agent ID", agent_session.map(ToString::to_string).unwrap_or_default());
    text + "\n"
}

fn describe_agent(session: &SessionRecord, totals: &SessionTotals) -> String {
    let title = find_agent(&session.agent).map_or_else(|| session.agent.to_string(), |agent| agent.title.to_owned());
    let version = totals.state.info.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let model = totals.state.model().map(|model| format!(" · {model}")).unwrap_or_default();
    format!("{title}{version}{model}")
}

fn describe_end(session: &SessionRecord, ended: Timestamp, now: Timestamp) -> String {
    let took = format_duration(ended.millis_since(session.created));
    format!("{} ({} ago), after {took}", format_utc(ended), format_age(now.millis_since(ended)))
}

fn error_message(session: &SessionRecord) -> String {
    let end = session.parse_end().ok().flatten();
    end.and_then(|end| end.error).map(|error| error.message).unwrap_or_default()
}

fn describe_turns(session: &SessionRecord) -> String {
    let runs = if session.runs > 1 { format!(" in {} runs", session.runs) } else { String::new() };
    let turns = usize::try_from(session.turns).unwrap_or_default();
    format!("{}{runs}, {} events", pluralize(turns, "turn"), session.head)
}

fn format_utc(at: Timestamp) -> String {
    let text = at.to_string().replace('T', " ");
    format!("{} UTC", text.get(..19).unwrap_or(&text))
}
