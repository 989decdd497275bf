//! `switchboard logs watch`: the sessions that run now, with or without Switchboard. Logs are read
//! as they grow; nothing is written.

mod all;
mod lines;
mod one;
mod row;
mod screen;
mod table;

use std::{
    io::{self, Read as _},
    os::unix::net::UnixStream,
    process::ExitCode,
    sync::Arc,
    thread,
    time::Duration,
};

use clap::Args;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    low_level::pipe,
};
use switchboard_dialects::Dialect;
use switchboard_logs::live::{LogWatcher, OwnLogLocation, WatcherConfig, WatcherStopHandle};
use switchboard_store::{SqliteStore, StoreOptions};

use super::{filter::Whose, place::Place, prices::prices};
use crate::{dialects, failure::Failure, host, offered, sessions::say, short_ids::indexed_ids, terminal::Terminal};

/// Watch the sessions that run now, of all agents, whoever began them
///
/// A session runs if its log grew in the last minutes, or if Switchboard runs it. On a terminal all are shown in a table
/// that is drawn again as they change; otherwise, a line a change. With a session, its new lines are shown as they come.
/// Ctrl-C ends it, and nothing else.
#[derive(Args)]
pub struct Watch {
    /// One session in detail: its id or the beginning of it, or `last`
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// What grew in this time is running
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = host::duration)]
    within: Duration,
    /// One JSON object a change
    #[arg(long, conflicts_with = "dialect")]
    json: bool,
    /// Of one session, write new messages of a dialect, one JSON object a line
    #[arg(long, value_name = "DIALECT", requires = "session", value_parser = offered::DIALECT, hide_possible_values = true)]
    dialect: Option<String>,
    /// Do not show what the agent thinks
    #[arg(long)]
    no_reasoning: bool,
    #[command(flatten)]
    whose: Whose,
}

/// Runs the command.
pub fn run(args: &Watch, place: &Place) -> Result<ExitCode, Failure> {
    let dialect = dialects::chosen(false, args.dialect.as_deref())?;
    let wanted = args.whose.filter()?;
    let (own, unread) = own(place)?;
    let watcher = LogWatcher::open(WatcherConfig {
        homes: place.watched()?,
        own,
        within: args.within,
        only: args.session.clone(),
        wanted,
        prices: prices(None, &place.data()?)?,
        now: host::now,
    })?;
    let deaf =
        watcher.watch_error().map(|why| format!("changes cannot be heard of ({why}): logs are looked at every second"));
    let notes: Vec<String> = unread.into_iter().chain(deaf).collect();
    notes.iter().for_each(|note| say(note));
    stop_by_signals(watcher.stop_handle())?;
    show(args, place, watcher, dialect, notes)?;
    Ok(ExitCode::SUCCESS)
}

fn show(
    args: &Watch,
    place: &Place,
    mut watcher: LogWatcher,
    dialect: Option<&Dialect>,
    notes: Vec<String>,
) -> Result<(), Failure> {
    let terminal = Terminal::new();
    match (&args.session, dialect) {
        (Some(_), Some(dialect)) => one::write(&mut watcher, dialect),
        (Some(_), None) if !args.json => one::show(&mut watcher, &terminal, !args.no_reasoning),
        _ if args.json => all::show(&mut watcher, &mut lines::Json::default()),
        _ if terminal.stdout => {
            let known_ids = indexed_ids(&place.data()?);
            all::show(&mut watcher, &mut table::Table::new(&terminal, notes, known_ids)?)
        }
        _ => all::show(&mut watcher, &mut lines::Plain::default()),
    }
}

/// Switchboard's own sessions, or why they cannot be read.
fn own(place: &Place) -> Result<(Option<OwnLogLocation>, Option<String>), Failure> {
    let folder = place.data()?;
    if !folder.exists() {
        // Nothing was run yet, and nothing is made here.
        return Ok((None, None));
    }
    Ok(match SqliteStore::open(&folder, &StoreOptions::default()) {
        Ok(store) => (Some(OwnLogLocation { log: Arc::new(store), folder }), None),
        Err(error) => (None, Some(format!("sessions of agents that leave no log are not shown: {error}"))),
    })
}

/// Ctrl-C and its like end the watching, in good order.
fn stop_by_signals(stopper: WatcherStopHandle) -> Result<(), Failure> {
    let deaf = |cause: io::Error| Failure::Machine(format!("cannot hear signals: {cause}"));
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
