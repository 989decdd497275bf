//! `switchboard sessions follow`: a session as it happens, whichever process runs it.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use switchboard_dialects::Dialect;
use switchboard_engine::Engine;
use switchboard_event::Id;

use super::{
    find_session,
    history::{HistoryPosition, SessionHistory},
    remote::RemoteSession,
};
use crate::{
    args::{DIALECT_NAMES, choose_dialect},
    data,
    failure::Failure,
    host,
    remote::{RemoteEvents, ServerClient, ServerSession, session_record},
    run,
    signals::StopSignals,
    terminal::{Terminal, print_note},
    watch::{self, DisplaySettings, EventSource, MessageWriter, SessionControl, WatchEnd, interactive::show_session},
};

/// Follow a session: its past, then its live events
///
/// Shows what `switchboard run` would show and asks you for approvals, whichever process runs the session. Ctrl-C stops
/// following; the session continues. When the session ends, the exit code is that of `switchboard run`.
#[derive(Args)]
pub struct FollowSessionArgs {
    /// Session: an ID or its beginning, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION")]
    session: String,
    /// Show only the last N turns of the past; 0 for live events only
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

pub fn run(args: &FollowSessionArgs, data: Option<PathBuf>) -> Result<ExitCode, Failure> {
    let dialect = choose_dialect(args.json, args.dialect.as_deref())?;
    let folder = host::data_directory(data)?;
    let engine = data::open_engine(Some(folder.clone()))?;
    let session = find_session(&**engine.log(), &args.session)?;
    let history = SessionHistory::new(&**engine.log(), &session);
    let place = args.last.map(|turns| history.start_of_last_turns(turns)).transpose()?.unwrap_or_default();
    let there = RemoteSession::new(engine.log().clone(), folder, &session);
    let watched = host::build_runtime()?.block_on(async {
        // Messages depend on the events before them, the view does not.
        let mut follower = engine.follow(&session.id, if dialect.is_some() { 0 } else { place.after })?;
        args.watch(dialect, place, &mut follower, &there).await
    })?;
    match watched {
        WatchEnd::ToItsEnd => ended_exit_code(&engine, &session.id),
        WatchEnd::Left => Ok(note_left(&session.id)),
    }
}

pub fn run_on_server(args: &FollowSessionArgs, server: &ServerClient) -> Result<ExitCode, Failure> {
    let dialect = choose_dialect(args.json, args.dialect.as_deref())?;
    let view = server.find_session(&args.session)?;
    let session = session_record(&view);
    let history = SessionHistory::on_server(server, &session);
    let place = args.last.map(|turns| history.start_of_last_turns(turns)).transpose()?.unwrap_or_default();
    let control = ServerSession::watched(&server.server, &view);
    let watched = server.runtime.block_on(async {
        let after = if dialect.is_some() { 0 } else { place.after };
        let mut events = RemoteEvents::follow(&server.server, &view, after);
        args.watch(dialect, place, &mut events, &control).await
    })?;
    match watched {
        WatchEnd::ToItsEnd => run::ended_exit_code_on_server(server, &session.id),
        WatchEnd::Left => Ok(note_left(&session.id)),
    }
}

fn note_left(session: &Id) -> ExitCode {
    print_note(&format!("stopped following; the session continues: switchboard sessions follow {session}"));
    ExitCode::SUCCESS
}

impl FollowSessionArgs {
    async fn watch(
        &self,
        dialect: Option<&Dialect>,
        place: HistoryPosition,
        events: &mut impl EventSource,
        control: &impl SessionControl,
    ) -> Result<WatchEnd, Failure> {
        let mut signals = StopSignals::listen()?;
        match dialect {
            Some(dialect) => {
                let writer = MessageWriter::new(dialect).after(place.after);
                watch::write_messages(events, control, writer, &mut signals).await
            }
            None => show_session(events, control, &self.look(place), &Terminal::new(), &mut signals).await,
        }
    }

    fn look(&self, place: HistoryPosition) -> DisplaySettings {
        DisplaySettings {
            reasoning: !self.no_reasoning,
            first_prompt: true,
            opening: place.opening,
            ..DisplaySettings::default()
        }
    }
}

/// Returns the exit code that `run` would have for a session that has ended.
fn ended_exit_code(engine: &Engine, id: &Id) -> Result<ExitCode, Failure> {
    let log = &**engine.log();
    let session = log.get_session(id)?.ok_or_else(|| Failure::NoSession(id.to_string()))?;
    let reason = session.parse_end()?.map(|end| end.reason);
    Ok(run::exit_code(reason, || SessionHistory::new(log, &session).has_started_turn()))
}
