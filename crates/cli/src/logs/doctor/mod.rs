//! `switchboard logs doctor`: which directories were read, what could not be read and why, what agents will delete soon, and
//! whether the index is intact.

mod checkup;
mod report;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use checkup::LogsCheckup;
use clap::Args;
use report::CheckupReport;
use serde_json::{Value, json};
use switchboard_agents::ScanDepth;
use switchboard_logs::{LogLibrary, LogsError};
use switchboard_store::SessionLog as _;

use super::{LogLocationArgs, filter::parse_time_zone_option, refresh_index};
use crate::{data, failure::Failure, host, terminal::Terminal};

/// Report unreadable logs, sessions that agents will delete soon, and the state of the index
///
/// Exits with 1 if the index or an event of a session is damaged. Malformed records and unreadable directories are not
/// failures: everything else was read.
#[derive(Args)]
pub struct LogsDoctorArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// List every unreadable file, not only the worst
    #[arg(long, short)]
    all: bool,
    /// Time zone for times [default: the system's]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

pub fn run(args: &LogsDoctorArgs, location: &LogLocationArgs) -> Result<ExitCode, Failure> {
    let zone = parse_time_zone_option(args.timezone.as_deref())?;
    let mut checkup = match check_logs(location) {
        Err(Failure::Logs(error)) => check_without_index(location, error)?,
        checkup => checkup?,
    };
    checkup.damaged = data::open_log(Some(location.data_directory()?))?.find_damaged_events()?;
    let terminal = Terminal::new();
    let color = terminal.stdout && terminal.color;
    let text = if args.json {
        json_lines(&checkup)
    } else {
        CheckupReport { home: host::home_directory(), zone, color, room: terminal.max_line_width(), all: args.all }
            .text(&checkup)
    };
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)?;
    Ok(if checkup.health.problem.is_some() || !checkup.damaged.is_empty() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn check_logs(location: &LogLocationArgs) -> Result<LogsCheckup, Failure> {
    let (library, _) = location.open_refreshed(ScanDepth::All)?;
    LogsCheckup::new(&library, &location.searched_homes()?, host::now())
}

/// Checks the logs with a temporary index, as the usual one is damaged. Returns the original error if that was a
/// different problem, or if there is no space for another index.
fn check_without_index(location: &LogLocationArgs, error: LogsError) -> Result<LogsCheckup, Failure> {
    let data = location.data_directory()?;
    let Some(health) = LogLibrary::describe_damage(&data, &error) else { return Err(error.into()) };
    let Ok(folder) = tempfile::Builder::new().prefix("checkup-").tempdir_in(&data) else { return Err(error.into()) };
    let library = location.open_library_in(folder.path())?;
    refresh_index(&library, ScanDepth::All)?;
    Ok(LogsCheckup { health, ..LogsCheckup::new(&library, &location.searched_homes()?, host::now())? })
}

pub fn json_lines(checkup: &LogsCheckup) -> String {
    json_objects(checkup).iter().map(|object| format!("{object}\n")).collect()
}

fn json_objects(checkup: &LogsCheckup) -> Vec<Value> {
    let health = &checkup.health;
    let homes = checkup.homes.iter().map(|looked| {
        json!({
            "type": "home",
            "agent": looked.home.logs.agent,
            "path": looked.home.folder.to_string_lossy(),
            "machine": looked.home.machine,
            "found": looked.is_there,
            "sessions": looked.sessions,
            "bytes": looked.bytes,
        })
    });
    let index = json!({
        "type": "index",
        "path": health.path.to_string_lossy(),
        "bytes": health.bytes,
        "logs": health.logs,
        "gone": health.gone,
        "problem": health.problem,
    });
    let versions = checkup.versions.iter().map(|seen| {
        json!({
            "type": "version",
            "agent": seen.agent,
            "version": seen.version,
            "sessions": seen.sessions,
            "newerThanTested": seen.newer_than,
        })
    });
    let troubles = checkup.troubles.iter().map(|trouble| {
        json!({
            "type": "trouble",
            "agent": trouble.agent,
            "path": trouble.path.to_string_lossy(),
            "offset": trouble.offset,
            "what": trouble.what,
            "times": trouble.times,
        })
    });
    let leaving = checkup.leaving.iter().map(|leaving| {
        json!({
            "type": "retention",
            "agent": leaving.session.agent,
            "session": leaving.session.id,
            "updated": leaving.session.facts.updated,
            "days": leaving.days,
        })
    });
    let damaged = checkup
        .damaged
        .iter()
        .map(|(session, events)| json!({ "type": "damaged", "session": session, "seqs": events }));
    homes.chain([index]).chain(versions).chain(troubles).chain(leaving).chain(damaged).collect()
}
