//! One session in detail: what happens, as it happens.

use std::{
    io,
    time::{Duration, Instant},
};

use switchboard_dialects::Dialect;
use switchboard_event::{Event, EventBody};
use switchboard_logs::live::{LogWatcher, WatchUpdate};

use crate::{
    failure::Failure,
    terminal::Terminal,
    view::{Output, Screen, Sink, View},
    watch::{Look, Writer},
};

/// The status line counts seconds.
const TICK: Duration = Duration::from_secs(1);

/// Where there is none, nothing has to be done.
const LONG: Duration = Duration::from_secs(600);

/// Maximum number of past events shown, from the last prompt on.
const BEFORE: usize = 200;

/// Writes what happens in messages of a dialect.
pub fn write(watcher: &mut LogWatcher, dialect: &Dialect) -> Result<(), Failure> {
    let mut writer = Writer::new(dialect);
    let mut events = watcher.take_initial_events();
    loop {
        events.iter().for_each(|event| writer.event(event));
        writer.flush()?;
        events = match watcher.next_update(LONG) {
            WatchUpdate::Stopped => return Ok(()),
            WatchUpdate::Quiet => Vec::new(),
            WatchUpdate::Changed(changes) => changes.into_iter().flat_map(|change| change.events).collect(),
        };
    }
}

/// Shows what happens to a person.
pub fn show(watcher: &mut LogWatcher, terminal: &Terminal, reasoning: bool) -> Result<(), Failure> {
    let options = Look { reasoning, first_prompt: true, ..Look::default() }.options(terminal);
    let is_drawn = options.screen != Screen::None;
    let (mut view, mut out, began) = (View::new(options), Output::default(), Instant::now());
    let before = watcher.take_initial_events();
    let mut events = before.get(last_prompt(&before)..).unwrap_or_default().to_vec();
    loop {
        events.iter().for_each(|event| view.event(event, &mut out));
        if is_drawn && watcher.running_sessions().iter().any(|session| session.activity.is_busy()) {
            view.resize(terminal.width());
            view.draw_status(began.elapsed(), &mut out);
        }
        flush(&mut out, options.screen)?;
        events = match watcher.next_update(if is_drawn { TICK } else { LONG }) {
            WatchUpdate::Changed(changes) => changes.into_iter().flat_map(|change| change.events).collect(),
            WatchUpdate::Quiet => Vec::new(),
            WatchUpdate::Stopped => {
                view.pause(&mut out);
                return flush(&mut out, options.screen);
            }
        };
    }
}

/// Where the last turn begins.
fn last_prompt(events: &[Event]) -> usize {
    let begins = |event: &Event| event.thread.is_none() && matches!(event.body, EventBody::TurnStarted(_));
    let least = events.len().saturating_sub(BEFORE);
    events.iter().rposition(begins).unwrap_or(0).max(least)
}

fn flush(out: &mut Output, screen: Screen) -> Result<(), Failure> {
    let written = out.pieces().try_for_each(|(sink, text)| match (sink, screen) {
        (Sink::Answer, _) | (_, Screen::Both) => put(&mut io::stdout().lock(), text),
        (Sink::Activity, _) => put(&mut io::stderr().lock(), text),
    });
    out.clear();
    written.map_err(Failure::Output)
}

fn put(to: &mut impl io::Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}
