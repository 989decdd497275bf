//! `switchboard sessions follow`: a session as it goes on, wherever it runs.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use switchboard_engine::Engine;
use switchboard_event::{Event, EventBody, Id};
use switchboard_store::SessionRecord;

use super::{
    found,
    history::{History, Place},
    say,
    there::There,
};
use crate::{
    data, dialects,
    failure::Failure,
    host, offered, run,
    terminal::Terminal,
    watch::{self, Look, Signals, Watched, Writer},
};

/// Follow a session: what has happened, then what comes
///
/// Shows what `switchboard run` would, and asks what the agent asks, whichever process runs the session. Ctrl-C leaves;
/// the session goes on. When the session ends, the exit code is that of `switchboard run`.
#[derive(Args)]
pub struct Follow {
    /// The session: its id or the beginning of it, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION")]
    session: String,
    /// Of what has happened, only the last N turns; 0 for what comes alone
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Do not show what the agent thinks
    #[arg(long)]
    no_reasoning: bool,
    /// Write messages of the default dialect, one JSON object a line
    #[arg(long, conflicts_with = "dialect")]
    json: bool,
    /// Write messages of a dialect, one JSON object a line; `switchboard translate --help` lists them
    #[arg(long, value_name = "DIALECT", value_parser = offered::DIALECT, hide_possible_values = true)]
    dialect: Option<String>,
}

/// Runs the command.
pub fn run(args: &Follow, data: Option<PathBuf>) -> Result<ExitCode, Failure> {
    let dialect = dialects::chosen(args.json, args.dialect.as_deref())?;
    let folder = host::data_folder(data)?;
    let engine = data::engine(Some(folder.clone()))?;
    let session = found::find(&**engine.log(), &args.session)?;
    let history = History::new(&**engine.log(), &session);
    let place = args.last.map(|turns| history.last(turns)).transpose()?.unwrap_or_default();
    let there = There::new(engine.log().clone(), folder, &session);
    let watched = host::runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        match dialect {
            Some(dialect) => {
                let mut follower = engine.follow(&session.id, 0)?;
                watch::write(&mut follower, &there, Writer::new(dialect).after(place.after), &mut signals).await
            }
            None => {
                let mut follower = engine.follow(&session.id, place.after)?;
                watch::show(&mut follower, &there, &args.look(place), &Terminal::new(), &mut signals).await
            }
        }
    })?;
    match watched {
        Watched::ToItsEnd => over(&engine, &session.id),
        Watched::Left => {
            say(&format!("left; the session goes on: switchboard sessions follow {}", session.id));
            Ok(ExitCode::SUCCESS)
        }
    }
}

impl Follow {
    fn look(&self, place: Place) -> Look {
        Look { reasoning: !self.no_reasoning, first_prompt: true, opening: place.opening, ..Look::default() }
    }
}

/// The exit code of a session that has ended, as `run` would have it.
fn over(engine: &Engine, id: &Id) -> Result<ExitCode, Failure> {
    let log = &**engine.log();
    let session = log.get_session(id)?.ok_or_else(|| Failure::NoSession(id.to_string()))?;
    let reason = session.parse_end()?.map(|end| end.reason);
    Ok(run::code(reason, || began(engine, &session)))
}

/// The last run came as far as a turn.
fn began(engine: &Engine, session: &SessionRecord) -> bool {
    let is_turn = |event: &Event| event.run == session.runs && matches!(event.body, EventBody::TurnStarted(_));
    let history = History::new(&**engine.log(), session);
    history.pages(0).flatten().any(|page| page.iter().any(is_turn))
}
