//! `switchboard logs export`: sessions for other programs and for other people, without the secrets in them.

mod format;
mod part;
mod target;

use std::{collections::HashSet, mem, path::PathBuf};

use clap::Args;
use switchboard_agents::ScanDepth;
use switchboard_event::Timestamp;
use switchboard_logs::{LogFilter, LogLibrary, LogSession, LogsError, ReplyDeduplicator, export::Redactor};

use super::{
    filter::{self, Only},
    list,
    place::Place,
    show,
};
use crate::{failure::Failure, sessions::say, view::figures::count};
use format::{Format, Pen};
use target::Target;

/// Write sessions for other programs and people
///
/// Of the sessions that are named, or else of all, those that the options leave over. Keys, tokens, passwords and private
/// keys are taken out, as far as they can be told by their shape or their name.
#[derive(Args)]
pub struct Export {
    /// The sessions: ids or the beginnings of them, Switchboard's ids, or `last`
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// What to write
    #[arg(long, short, value_name = "FORMAT", default_value_t = Format::Trace, value_enum)]
    format: Format,
    /// Where to: a file, or a folder in which each session gets a file [default: standard output]
    #[arg(long, short, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// Secrets stay in
    #[arg(long)]
    no_redact: bool,
    /// Leave the agent's own records out of a trace
    #[arg(long)]
    no_raw: bool,
    /// Only sessions in which this is said or done: words, "phrases in quotation marks"
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
    #[command(flatten)]
    only: Only,
}

/// Runs the command.
pub fn run(args: &Export, place: &Place) -> Result<(), Failure> {
    let zone = args.only.zone()?;
    let wanted = args.only.filter(&zone)?;
    let (library, report) = place.current(ScanDepth::All)?;
    let mut sessions = args.sessions(&library, &filter::resolve(wanted, &library)?)?;
    if sessions.is_empty() {
        return if report.files == 0 { place.say_nothing_found() } else { Err(none()) };
    }
    // The first that began comes first, as in a diary: what others copied from it is counted there.
    sessions.reverse();
    sessions.sort_by_key(|session| session.facts.began.map_or((true, Timestamp::default()), |began| (false, began)));
    let target = Target::of(args.output.as_deref(), args.format, sessions.len())?;
    let redactor = if args.no_redact { None } else { Some(Redactor::new()?) };
    let pen = Pen::new(args.format, redactor.as_ref(), args.no_raw, zone);
    let written = write(&library, &sessions, &pen, target)?;
    if let Some(folder) = written {
        let secrets = redactor.map_or(0, |redactor| redactor.redaction_count());
        let secrets = if secrets > 0 { format!(" · {secrets} secrets taken out") } else { String::new() };
        say(&format!("{} written to {}{secrets}", count(sessions.len(), "session"), folder.display()));
    }
    Ok(())
}

/// What makes a session the same.
fn name(session: &LogSession) -> (&str, &str, Option<&str>) {
    (&session.agent, &session.id, session.machine.as_deref())
}

fn none() -> Failure {
    Failure::Refused("no such session\nhint: `switchboard logs list` lists them, with the same options".to_owned())
}

/// Writes them; gives where, if that is not standard output.
fn write(
    library: &LogLibrary,
    sessions: &[LogSession],
    pen: &Pen<'_>,
    mut target: Target,
) -> Result<Option<PathBuf>, Failure> {
    let mut counted = ReplyDeduplicator::default();
    let mut is_first = true;
    for session in sessions {
        if !pen.adds_up() {
            counted = ReplyDeduplicator::default();
        }
        let transcript = match library.read_transcript_after(session, &mut counted) {
            // One bad log is no reason to have none.
            Err(error @ LogsError::Unreadable { .. }) if sessions.len() > 1 => {
                say(&format!("left out: {error}"));
                continue;
            }
            transcript => transcript?,
        };
        let (events, _) = show::events(session, transcript);
        let is_first = mem::take(&mut is_first) || target.is_folder();
        pen.session(session, events, is_first, target.begin(session)?).map_err(Failure::Output)?;
    }
    target.finish()
}

impl Export {
    fn sessions(&self, library: &LogLibrary, filter: &LogFilter) -> Result<Vec<LogSession>, Failure> {
        let mut sessions = list::sessions(library, filter, self.text.as_deref())?;
        if !self.ids.is_empty() {
            let named = self
                .ids
                .iter()
                .map(|id| library.find_session_of_agents(id, &filter.agents))
                .collect::<Result<Vec<_>, _>>()?;
            let named: HashSet<_> = named.iter().map(name).collect();
            sessions.retain(|session| named.contains(&name(session)));
        }
        Ok(sessions)
    }
}
