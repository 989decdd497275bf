//! `switchboard logs doctor`: where it was looked, what could not be read and why, what will be deleted soon, and whether
//! the index is whole.

mod checkup;
mod damaged;
mod lines;
mod page;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::Args;
use switchboard_agents::ScanDepth;
use switchboard_store::SessionLog as _;

use super::{place::Place, times};
use crate::{data, failure::Failure, host, terminal::Terminal};
use checkup::Checkup;

/// Say what could not be read and why, what agents will delete soon, and how the index is
///
/// The exit code is 1 if the index or an event of a session is damaged. Records that make no sense and folders that may not be read are no failure:
/// everything else was read.
#[derive(Args)]
pub struct Doctor {
    /// One JSON object a line, of the types home, index, version, trouble, retention and damaged
    #[arg(long)]
    json: bool,
    /// Every file with what could not be read in it, not only the worst
    #[arg(long, short)]
    all: bool,
    /// The time zone of times [default: the system's]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

/// Runs the command.
pub fn run(args: &Doctor, place: &Place) -> Result<ExitCode, Failure> {
    let zone = times::zone(args.timezone.as_deref())?;
    let mut checkup = match checkup(place) {
        Err(Failure::Logs(error)) => damaged::checkup(place, error)?,
        checkup => checkup?,
    };
    checkup.damaged = data::log(Some(place.data()?))?.find_damaged_events()?;
    let terminal = Terminal::new();
    let colour = terminal.stdout && terminal.colour;
    let text = if args.json {
        lines::lines(&checkup)
    } else {
        page::Page { home: host::home(), zone, colour, room: terminal.room(), all: args.all }.text(&checkup)
    };
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)?;
    Ok(if checkup.health.problem.is_some() || !checkup.damaged.is_empty() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn checkup(place: &Place) -> Result<Checkup, Failure> {
    let (library, _) = place.current(ScanDepth::All)?;
    Checkup::of(&library, &place.looked_in()?, host::now())
}
