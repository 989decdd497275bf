//! `switchboard logs watch`: the sessions that run now, with or without Switchboard. Logs are read as they grow; nothing is
//! written.

mod lines;
mod table;

use std::{
    io::{self, Read as _},
    os::unix::net::UnixStream,
    process::ExitCode,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    low_level::pipe,
};
use switchboard_dialects::Dialect;
use switchboard_event::{Event, EventBody};
use switchboard_logs::live::{
    LogWatcher, OwnLogLocation, RunningSession, SessionChange, WatchUpdate, WatcherConfig, WatcherStopHandle,
};
use switchboard_store::{SqliteStore, StoreOptions};

use super::{
    LogLocationArgs,
    filter::{SessionScopeArgs, load_prices},
};
use crate::{
    args::{DIALECT_NAMES, choose_dialect},
    failure::Failure,
    host,
    short_ids::indexed_ids,
    terminal::{Terminal, print_note},
    view::{OutputSink, ScreenLayout, TranscriptView, ViewOutput},
    watch::{DisplaySettings, MessageWriter},
};

/// Faster redraws would not be noticed.
const MIN_REDRAW_INTERVAL: Duration = Duration::from_millis(40);

const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// Without a status line, nothing has to be redrawn.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// Maximum number of past events shown, from the last prompt on.
const MAX_PAST_EVENTS: usize = 200;

/// Watch running sessions of all agents, however they were started
///
/// A session is running if its log grew in the last minutes, or if Switchboard runs it. On a terminal, sessions are
/// shown in a live table; otherwise, each change is a line. If a session is given, its new events are shown as they
/// occur. Ctrl-C stops watching and nothing else.
#[derive(Args)]
pub struct WatchLogsArgs {
    /// Session to watch in detail: its ID or the beginning of it, or `last`
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Sessions whose log grew within this time are running
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = host::parse_duration)]
    within: Duration,
    /// Print one JSON object per change
    #[arg(long, conflicts_with = "dialect")]
    json: bool,
    /// For one session, print new messages of this dialect, one JSON object per line
    #[arg(long, value_name = "DIALECT", requires = "session", value_parser = DIALECT_NAMES, hide_possible_values = true)]
    dialect: Option<String>,
    /// Hide the agent's reasoning
    #[arg(long)]
    no_reasoning: bool,
    #[command(flatten)]
    whose: SessionScopeArgs,
}

pub fn run(args: &WatchLogsArgs, location: &LogLocationArgs) -> Result<ExitCode, Failure> {
    let dialect = choose_dialect(false, args.dialect.as_deref())?;
    let wanted = args.whose.filter()?;
    let (own, unread) = open_own_log(location)?;
    let watcher = LogWatcher::open(WatcherConfig {
        homes: location.watched_homes()?,
        own,
        within: args.within,
        only: args.session.clone(),
        wanted,
        prices: load_prices(None, &location.data_directory()?)?,
        now: host::now,
    })?;
    let deaf = watcher.watch_error().map(|why| format!("cannot watch for changes ({why}): checking logs every second"));
    let notes: Vec<String> = unread.into_iter().chain(deaf).collect();
    notes.iter().for_each(|note| print_note(note));
    stop_on_signals(watcher.stop_handle())?;
    watch(args, location, watcher, dialect, notes)?;
    Ok(ExitCode::SUCCESS)
}

fn watch(
    args: &WatchLogsArgs,
    location: &LogLocationArgs,
    mut watcher: LogWatcher,
    dialect: Option<&Dialect>,
    notes: Vec<String>,
) -> Result<(), Failure> {
    let terminal = Terminal::new();
    match (&args.session, dialect) {
        (Some(_), Some(dialect)) => write_messages(&mut watcher, dialect),
        (Some(_), None) if !args.json => watch_session(&mut watcher, &terminal, !args.no_reasoning),
        _ if args.json => watch_all(&mut watcher, &mut lines::JsonLines::default()),
        _ if terminal.stdout => {
            let known_ids = indexed_ids(&location.data_directory()?);
            watch_all(&mut watcher, &mut table::RunningSessionsTable::new(&terminal, notes, known_ids)?)
        }
        _ => watch_all(&mut watcher, &mut lines::PlainLines::default()),
    }
}

/// Opens the log of Switchboard's own sessions, or returns why they cannot be read.
fn open_own_log(location: &LogLocationArgs) -> Result<(Option<OwnLogLocation>, Option<String>), Failure> {
    let folder = location.data_directory()?;
    if !folder.exists() {
        // No session was run yet, and nothing is created here.
        return Ok((None, None));
    }
    Ok(match SqliteStore::open(&folder, &StoreOptions::default()) {
        Ok(store) => (Some(OwnLogLocation { log: Arc::new(store), folder }), None),
        Err(error) => (None, Some(format!("sessions of agents that leave no log are not shown: {error}"))),
    })
}

/// Stops the watcher on a signal, so that it ends in an orderly way.
fn stop_on_signals(stopper: WatcherStopHandle) -> Result<(), Failure> {
    let deaf = |cause: io::Error| Failure::Machine(format!("cannot handle signals: {cause}"));
    let (mut heard, told) = UnixStream::pair().map_err(deaf)?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        pipe::register(signal, told.try_clone().map_err(deaf)?).map_err(deaf)?;
    }
    thread::spawn(move || {
        if heard.read_exact(&mut [0]).is_ok() {
            stopper.stop();
        }
    });
    Ok(())
}

/// A display of running sessions.
pub trait RunningSessionsDisplay {
    /// The maximum time between updates if nothing changes.
    fn patience(&self) -> Duration;

    /// Whether each update replaces the one before, so that some can be skipped.
    fn is_picture(&self) -> bool;

    fn show(&mut self, running: &[RunningSession], changes: &[SessionChange]) -> Result<(), Failure>;

    fn end(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

fn watch_all(watcher: &mut LogWatcher, show: &mut dyn RunningSessionsDisplay) -> Result<(), Failure> {
    show.show(&watcher.running_sessions(), &[])?;
    let (mut shown, mut waits) = (Instant::now(), false);
    loop {
        let patience = if waits { MIN_REDRAW_INTERVAL.saturating_sub(shown.elapsed()) } else { show.patience() };
        let changes = match watcher.next_update(patience) {
            WatchUpdate::Stopped => return show.end(),
            WatchUpdate::Changed(changes) => changes,
            WatchUpdate::Quiet => Vec::new(),
        };
        waits = show.is_picture() && shown.elapsed() < MIN_REDRAW_INTERVAL;
        if !waits {
            show.show(&watcher.running_sessions(), &changes)?;
            shown = Instant::now();
        }
    }
}

pub fn write_messages(watcher: &mut LogWatcher, dialect: &Dialect) -> Result<(), Failure> {
    let mut writer = MessageWriter::new(dialect);
    let mut events = watcher.take_initial_events();
    loop {
        events.iter().for_each(|event| writer.event(event));
        writer.flush()?;
        events = match watcher.next_update(IDLE_TIMEOUT) {
            WatchUpdate::Stopped => return Ok(()),
            WatchUpdate::Quiet => Vec::new(),
            WatchUpdate::Changed(changes) => changes.into_iter().flat_map(|change| change.events).collect(),
        };
    }
}

fn watch_session(watcher: &mut LogWatcher, terminal: &Terminal, reasoning: bool) -> Result<(), Failure> {
    let options = DisplaySettings { reasoning, first_prompt: true, ..DisplaySettings::default() }.options(terminal);
    let is_drawn = options.screen != ScreenLayout::None;
    let (mut view, mut out, began) = (TranscriptView::new(options), ViewOutput::default(), Instant::now());
    let before = watcher.take_initial_events();
    let mut events = before.get(last_turn_start(&before)..).unwrap_or_default().to_vec();
    loop {
        events.iter().for_each(|event| view.event(event, &mut out));
        if is_drawn && watcher.running_sessions().iter().any(|session| session.activity.is_busy()) {
            view.resize(terminal.width());
            view.draw_status(began.elapsed(), &mut out);
        }
        flush_output(&mut out, options.screen)?;
        events = match watcher.next_update(if is_drawn { STATUS_INTERVAL } else { IDLE_TIMEOUT }) {
            WatchUpdate::Changed(changes) => changes.into_iter().flat_map(|change| change.events).collect(),
            WatchUpdate::Quiet => Vec::new(),
            WatchUpdate::Stopped => {
                view.pause(&mut out);
                return flush_output(&mut out, options.screen);
            }
        };
    }
}

fn last_turn_start(events: &[Event]) -> usize {
    let begins = |event: &Event| event.thread.is_none() && matches!(event.body, EventBody::TurnStarted(_));
    let least = events.len().saturating_sub(MAX_PAST_EVENTS);
    events.iter().rposition(begins).unwrap_or(0).max(least)
}

fn flush_output(out: &mut ViewOutput, screen: ScreenLayout) -> Result<(), Failure> {
    let written = out.pieces().try_for_each(|(sink, text)| match (sink, screen) {
        (OutputSink::Answer, _) | (_, ScreenLayout::Both) => write_and_flush(&mut io::stdout().lock(), text),
        (OutputSink::Activity, _) => write_and_flush(&mut io::stderr().lock(), text),
    });
    out.clear();
    written.map_err(Failure::Output)
}

fn write_and_flush(to: &mut impl io::Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}
