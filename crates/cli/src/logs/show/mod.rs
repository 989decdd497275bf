//! `switchboard logs show`: what was said and done in a session, read from its log, or what was kept of it.

pub mod about;
mod part;
mod person;
mod running;

use std::io::{self, BufWriter, Write as _};

use clap::Args;
use switchboard_agents::ScanDepth;
use switchboard_dialects::{DIALECTS, Dialect, MessageBuffer};
use switchboard_event::Event;
use switchboard_logs::{LogSession, Transcript, export::kept};

use super::{filter, place::Place, times};
use crate::{dialects, failure::Failure, host, offered, sessions::say};

/// Show what was said and done in a session
///
/// Turns, answers, thoughts, tools with what they were given and gave back, diffs, subagents, and what each turn used. Long
/// outputs are shortened. If the agent has deleted its log, what was kept of it is shown.
#[derive(Args)]
pub struct Show {
    /// The session: its id or the beginning of it, Switchboard's id of it, or `last`
    #[arg(value_name = "ID")]
    id: String,
    /// The agent, where several have sessions of that id
    #[arg(long, value_name = "AGENT", value_parser = offered::AGENT, hide_possible_values = true)]
    agent: Option<String>,
    /// Nothing is shortened
    #[arg(long)]
    full: bool,
    /// From this turn on; `search` says which
    #[arg(long, value_name = "N")]
    turn: Option<u32>,
    /// From the turn of this time on
    #[arg(long, value_name = "TIME", conflicts_with = "turn")]
    at: Option<String>,
    /// So many turns only
    #[arg(long, short = 'n', value_name = "N")]
    turns: Option<u32>,
    /// Do not show what the agent thought
    #[arg(long)]
    no_reasoning: bool,
    /// All events, with the agent's own records, one JSON object a line
    #[arg(long, conflicts_with_all = ["dialect", "turn", "at", "turns"])]
    json: bool,
    /// Messages of a dialect, one JSON object a line; `switchboard translate --help` lists them
    #[arg(long, value_name = "DIALECT", value_parser = offered::DIALECT, hide_possible_values = true, conflicts_with_all = ["turn", "at", "turns"])]
    dialect: Option<String>,
    /// The time zone of times [default: the system's]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

/// Runs the command.
pub fn run(args: &Show, place: &Place) -> Result<(), Failure> {
    let zone = times::zone(args.timezone.as_deref())?;
    let dialect = match &args.dialect {
        Some(name) => Some(dialects::find(name)?),
        None => DIALECTS.iter().find(|dialect| args.json && dialect.verbatim),
    };
    let from = part::From::typed(args.turn, args.at.as_deref(), &zone)?;
    filter::check_agents(args.agent.as_slice())?;
    let (library, _) = place.current(ScanDepth::All)?;
    let session = library.find_session_of_agents(&args.id, args.agent.as_slice())?;
    let (mut events, is_kept) = events(&session, library.read_transcript(&session)?);
    if is_kept {
        say(match library.kept_passages(&session)?.is_empty() {
            false => "the agent has deleted this log; this is what was kept of it",
            true => "the agent has deleted this log before its text was read: only what it used is known",
        });
    }
    match dialect {
        Some(dialect) => write(&events, dialect),
        None => {
            let is_running = running::is_at_work(&events, library.last_written(&session)?, host::now());
            if is_running {
                events.retain(|event| !running::is_open(event));
            }
            person::show(args, &session, &events, from, is_running, &zone)
        }
    }
}

/// The events of a session; true if its log is gone, and they are what was kept of it.
pub fn events(session: &LogSession, transcript: Transcript) -> (Vec<Event>, bool) {
    match transcript {
        Transcript::Events(events) => (events, false),
        Transcript::Kept(kept) => (kept::rebuild_events(session, &kept), true),
    }
}

/// All messages of a dialect.
fn write(events: &[Event], dialect: &Dialect) -> Result<(), Failure> {
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
