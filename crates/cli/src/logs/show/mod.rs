//! `switchboard logs show`: what was said and done in a session, read from its log or from the text kept of it.

mod transcript;

use std::io::{self, BufWriter, Write as _};

use clap::Args;
use jiff::tz::TimeZone;
use switchboard_agents::{ScanDepth, find_agent};
use switchboard_dialects::{DIALECTS, Dialect, MessageBuffer};
use switchboard_event::{Decider, Event, EventBody, Timestamp, Usage};
use switchboard_logs::{
    LogSession, Transcript,
    export::{format_minute, rebuild},
};
use transcript::{FirstTurn, print_transcript};

use super::{
    LogLocationArgs,
    filter::{self, parse_time_zone_option},
    on_server,
};
use crate::{
    args::{AGENT_NAMES, DIALECT_NAMES, parse_dialect},
    failure::Failure,
    host,
    remote::ServerClient,
    terminal::print_note,
    view::{
        figures::{format_bytes, format_dollars, format_tokens, pluralize},
        paint,
        sanitize::sanitize_line,
        style::{BOLD, DIM, YELLOW},
    },
};

/// A log that grew within this time is of a running session, as in `watch`.
const RUNNING_WITHIN_MS: u64 = 600_000;

/// Show the transcript of a session
///
/// Includes turns, answers, reasoning, tool calls with input and output, diffs, subagents, and the usage of each turn.
/// Long output is shortened. If the agent has deleted its log, the kept text is shown.
#[derive(Args)]
pub struct ShowLogArgs {
    /// Session: its ID or the beginning of it, Switchboard's ID, or `last`
    #[arg(value_name = "ID")]
    id: String,
    /// Agent, if several have sessions with that ID
    #[arg(long, value_name = "AGENT", value_parser = AGENT_NAMES, hide_possible_values = true)]
    agent: Option<String>,
    /// Show everything in full
    #[arg(long)]
    full: bool,
    /// First turn to show; `search` prints it
    #[arg(long, value_name = "N")]
    turn: Option<u32>,
    /// Show from the turn at this time
    #[arg(long, value_name = "TIME", conflicts_with = "turn")]
    at: Option<String>,
    /// Maximum number of turns
    #[arg(long, short = 'n', value_name = "N")]
    turns: Option<u32>,
    /// Hide the agent's reasoning
    #[arg(long)]
    no_reasoning: bool,
    /// Print all events with the agent's own records, one JSON object per line
    #[arg(long, conflicts_with_all = ["dialect", "turn", "at", "turns"])]
    json: bool,
    /// Print messages of this dialect, one JSON object per line; `switchboard translate --help` lists the dialects
    #[arg(long, value_name = "DIALECT", value_parser = DIALECT_NAMES, hide_possible_values = true, conflicts_with_all = ["turn", "at", "turns"])]
    dialect: Option<String>,
    /// Time zone for times [default: the system's]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

pub fn run(args: &ShowLogArgs, location: &LogLocationArgs) -> Result<(), Failure> {
    let zone = parse_time_zone_option(args.timezone.as_deref())?;
    let dialect = match &args.dialect {
        Some(name) => Some(parse_dialect(name)?),
        None => DIALECTS.iter().find(|dialect| args.json && dialect.verbatim),
    };
    let from = FirstTurn::typed(args.turn, args.at.as_deref(), &zone)?;
    filter::check_agents(args.agent.as_slice())?;
    let (library, _) = location.open_refreshed(ScanDepth::All)?;
    let session = library.find_session_of_agents(&args.id, args.agent.as_slice())?;
    let (mut events, is_kept) = transcript_events(&session, library.read_transcript(&session)?);
    if is_kept {
        print_note(match library.kept_passages(&session)?.is_empty() {
            false => "the agent has deleted this log; showing the kept text",
            true => "the agent deleted this log before its text was read; only its usage is known",
        });
    }
    match dialect {
        Some(dialect) => write_messages(&events, dialect),
        None => {
            let is_running = is_at_work(&events, library.last_written(&session)?, host::now());
            if is_running {
                events.retain(|event| !is_closed_by_end_of_log(event));
            }
            print_transcript(args, &session, &events, from, is_running, &zone)
        }
    }
}

pub fn run_on_server(args: &ShowLogArgs, server: &ServerClient) -> Result<(), Failure> {
    let zone = parse_time_zone_option(args.timezone.as_deref())?;
    let dialect = match &args.dialect {
        Some(name) => Some(parse_dialect(name)?),
        None => DIALECTS.iter().find(|dialect| args.json && dialect.verbatim),
    };
    let from = FirstTurn::typed(args.turn, args.at.as_deref(), &zone)?;
    if args.agent.is_some() {
        return Err(Failure::bad_value("--agent", "only works on this machine; name the session by its whole ID"));
    }
    let session = on_server::find_session(server, &args.id)?;
    let (mut events, is_kept) = on_server::read_events(server, &session)?;
    if is_kept {
        print_note("the agent has deleted this log; showing the kept text");
    }
    match dialect {
        Some(dialect) => write_messages(&events, dialect),
        None => {
            let is_running = is_at_work(&events, session.facts.updated, host::now());
            if is_running {
                events.retain(|event| !is_closed_by_end_of_log(event));
            }
            print_transcript(args, &session, &events, from, is_running, &zone)
        }
    }
}

/// Returns the events of a session, and whether they were rebuilt from kept text because its log is gone.
pub fn transcript_events(session: &LogSession, transcript: Transcript) -> (Vec<Event>, bool) {
    match transcript {
        Transcript::Events(events) => (events, false),
        Transcript::Kept(kept) => (rebuild::rebuild_events(session, &kept), true),
    }
}

fn write_messages(events: &[Event], dialect: &Dialect) -> Result<(), Failure> {
    let (mut out, mut messages) = (BufWriter::new(io::stdout().lock()), MessageBuffer::default());
    let mut projection = (dialect.projection)();
    for event in events {
        projection.project_event(event, &mut messages);
        messages
            .iter()
            .try_for_each(|message| out.write_all(message).and_then(|()| out.write_all(b"\n")))
            .map_err(Failure::Output)?;
        messages.clear();
    }
    out.flush().map_err(Failure::Output)
}

/// Returns whether the session is in the middle of a turn and its log grew recently.
fn is_at_work(events: &[Event], written: Option<Timestamp>, now: Timestamp) -> bool {
    let is_fresh = written.is_some_and(|at| now.millis_since(at) <= RUNNING_WITHIN_MS);
    // If the log ends in the middle of a turn, the session was not ended by the agent.
    let ended_by = events.iter().rev().find_map(|event| match &event.body {
        EventBody::SessionEnded(ended) if event.thread.is_none() => Some(ended.by),
        _ => None,
    });
    is_fresh && ended_by == Some(Decider::Switchboard)
}

/// Returns whether the event was caused by the end of the log, not by a record.
fn is_closed_by_end_of_log(event: &Event) -> bool {
    let closes =
        matches!(event.body, EventBody::ItemCompleted(_) | EventBody::RequestResolved(_) | EventBody::TurnCompleted(_));
    closes && event.native.is_none() && event.cause.is_none()
}

/// Returns the details of a session in display order.
pub fn session_facts(session: &LogSession, zone: &TimeZone) -> Vec<(&'static str, String)> {
    let facts = &session.facts;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let title = find_agent(&session.agent).map_or(session.agent.as_str(), |agent| agent.title);
    let version = facts.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let model = facts.model.as_deref().map(|model| format!(" · {model}")).unwrap_or_default();
    let time = |at: Option<_>| at.map(|at| format_minute(at, zone)).unwrap_or_default();
    let own = session.own.as_ref().map(|own| format!("{} ({})", own.id, own.state.name()));
    let subagents = session.subagents.len();
    vec![
        ("session", session.id.clone()),
        ("agent", format!("{title}{version}{model}")),
        ("machine", text(&session.machine)),
        ("project", text(&facts.cwd)),
        ("branch", text(&facts.branch)),
        ("started", time(facts.began)),
        ("updated", time(facts.updated)),
        ("turns", facts.prompts.to_string()),
        ("subagents", if subagents == 0 { String::new() } else { subagents.to_string() }),
        ("switchboard", own.unwrap_or_default()),
    ]
}

pub fn short_title(session: &LogSession) -> String {
    truncate_title(full_title(session))
}

pub fn truncate_title(title: &str) -> String {
    title.chars().take(120).collect()
}

/// Returns the title, or the first line of the first prompt.
pub fn full_title(session: &LogSession) -> &str {
    let said = |text: &&String| !text.trim().is_empty();
    let title = session.facts.title.as_ref().filter(said).or(session.facts.prompt.as_ref().filter(said));
    title.and_then(|title| title.trim().lines().next()).unwrap_or(&session.id)
}

pub fn transcript_header(session: &LogSession, events: &[Event], zone: &TimeZone, color: bool) -> String {
    let mut text = paint(color, BOLD, &sanitize_line(&short_title(session)));
    for (is, word) in [(session.gone, "gone"), (session.archived, "archived")] {
        if is {
            text.push_str(&paint(color, YELLOW, &format!("  [{word}]")));
        }
    }
    text.push('\n');
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("  {}  {}\n", paint(color, DIM, &format!("{name:<11}")), sanitize_line(value)));
        }
    };
    session_facts(session, zone).iter().for_each(|(name, value)| line(name, value));
    line("used", &describe_usage(events));
    line("log", &describe_files(session));
    text
}

fn describe_usage(events: &[Event]) -> String {
    let mut usage = Usage::default();
    for event in events {
        if let EventBody::Usage(used) = &event.body
            && !used.cumulative
        {
            usage.add(used);
        }
    }
    if usage.is_zero() {
        return String::new();
    }
    let cached =
        if usage.cache_read == 0 { String::new() } else { format!(" ({} cached)", format_tokens(usage.cache_read)) };
    let cost = usage
        .cost_usd
        .filter(|cost| *cost > 0.0)
        .map(|cost| format!(" · {}", format_dollars(cost)))
        .unwrap_or_default();
    format!("{} in{cached} · {} out{cost}", format_tokens(usage.all_input()), format_tokens(usage.output))
}

fn describe_files(session: &LogSession) -> String {
    let Some(first) = session.files.first() else { return String::new() };
    let more = session.files.len() - 1;
    let more = if more > 0 { format!(" and {}", pluralize(more, "more file")) } else { String::new() };
    let size = session.bytes.map(|size| format!(" · {}", format_bytes(size))).unwrap_or_default();
    format!("{}{more}{size}", first.display())
}

#[cfg(test)]
mod tests {

    use switchboard_event::{EventBody, Timestamp};
    use switchboard_testkit::recording::{self, load_recordings};

    use super::{is_at_work, is_closed_by_end_of_log};

    #[test]
    fn a_log_that_is_cut_off_is_at_work_while_it_is_fresh() {
        let now = Timestamp::from_millis(1_790_000_000_000).unwrap();
        let ago = |millis: i64| Timestamp::from_millis(1_790_000_000_000 - millis);
        let mut open = 0;
        for recording in load_recordings().unwrap().into_iter().filter(|recording| recording.log.is_some()) {
            let events = recording::stream_events(recording.source, &recording.bytes);
            assert!(!is_at_work(&events, ago(600_001), now) && !is_at_work(&events, None, now), "{recording}");
            if !is_at_work(&events, ago(1_000), now) {
                continue;
            }
            let begun = events.iter().filter(|event| matches!(event.body, EventBody::TurnStarted(_))).count();
            let ended = events
                .iter()
                .filter(|event| matches!(event.body, EventBody::TurnCompleted(_)) && !is_closed_by_end_of_log(event));
            assert!(begun == 0 || ended.count() < begun, "{recording}: no turn is open");
            open += begun;
        }
        assert!(open > 0);
    }
}
