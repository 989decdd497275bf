//! `switchboard translate`: a filter from an agent's records to a dialect.

mod log;
mod stage;

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use switchboard_agents::{LOGS, LineSplitter, RecordSource, SOURCES, SessionContext, TranslatorOptions, find_source};
use switchboard_event::Id;

use self::{log::Log, stage::Stage};
use crate::{
    args, dialects,
    failure::{Failure, names},
    host,
    input::{Input, Read},
};

/// How much is read at once: large enough to be fast, small enough to be prompt.
const CHUNK: usize = 128 << 10;

/// The exit code of what was stopped.
const STOPPED: u8 = 130;

/// Runs the command.
pub fn run(args: &args::Translate) -> Result<ExitCode, Failure> {
    let source = parse_source(&args.from)?;
    let dialect = dialects::find(&args.to)?;
    let log = args.file.as_deref().and_then(|path| Log::find(source, path));
    let mut start = start(args)?;
    start.config.working_directory = log.as_ref().and_then(Log::root);
    let options = TranslatorOptions {
        session: args.session.as_deref().map(Id::from),
        made_up: args.file.as_deref().and_then(session_of_name).unwrap_or_else(host::fresh_id),
        arrival: host::now(),
        run: 1,
        start,
        ..TranslatorOptions::default()
    };
    let stage = Stage::new(source, dialect, options);
    match log.filter(|log| !log.is_lines()) {
        Some(log) => log.translate(args.session.as_deref(), stage).map(|()| ExitCode::SUCCESS),
        None => lines(args, stage),
    }
}

/// The id of a session that names none: the name of its file, so that translating it again gives the same.
fn session_of_name(path: &Path) -> Option<Id> {
    let name = path.file_name()?.to_str().filter(|name| *name != "-")?;
    let stem = name.strip_suffix(".zst").unwrap_or(name);
    let stem = [".jsonl", ".json", ".ndjson"].into_iter().find_map(|ending| stem.strip_suffix(ending)).unwrap_or(stem);
    Some(Id::from(stem)).filter(|stem| !stem.is_empty())
}

/// Translates lines as they come.
fn lines(args: &args::Translate, mut stage: Stage) -> Result<ExitCode, Failure> {
    let unreadable = |cause| Failure::Unreadable {
        path: args.file.clone().unwrap_or_else(|| PathBuf::from("standard input")),
        cause,
    };
    // What was being written when the machine went down is zeros, in a file that is kept.
    stage.trims_zeros = LOGS.iter().any(|logs| logs.source == args.from);
    let mut input = host::open(args.file.as_deref()).and_then(Input::new).map_err(unreadable)?;
    let (mut lines, mut chunk) = (LineSplitter::default(), vec![0; CHUNK]);
    let code = loop {
        match input.read(&mut chunk) {
            Ok(Read::Some(length)) => {
                lines.push(chunk.get(..length).unwrap_or_default(), |line| stage.line(line));
                stage.flush()?;
            }
            Ok(Read::End) => break ExitCode::SUCCESS,
            // It is closed like any other stream that stops; the exit code reports the signal.
            Ok(Read::Stopped) => break ExitCode::from(STOPPED),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                // What was read is worth having, and it must be closed like any other stream that stops.
                lines.finish(|line| stage.line(line));
                stage.finish()?;
                return Err(unreadable(error));
            }
        }
    };
    lines.finish(|line| stage.line(line));
    stage.finish().map(|()| code)
}

fn start(args: &args::Translate) -> Result<SessionContext, Failure> {
    let base = args.usage_base.as_deref().map(serde_json::from_str).transpose();
    Ok(SessionContext {
        resumed: args.resumed.as_deref().map(Id::from),
        usage_base: base.map_err(|cause| Failure::BadValue { option: "--usage-base", cause: cause.to_string() })?,
        ..SessionContext::default()
    })
}

fn parse_source(name: &str) -> Result<&'static RecordSource, Failure> {
    find_source(name).ok_or_else(|| Failure::UnknownName {
        what: "source",
        given: name.to_owned(),
        known: names(SOURCES.iter().copied().flatten().map(|s| (s.name, s.title))),
    })
}
