//! `switchboard logs export`: sessions for other programs and other people, without the secrets in them.

mod target;

use std::{
    borrow::Cow,
    collections::HashSet,
    io::{self, Write},
    mem,
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use jiff::tz::TimeZone;
use switchboard_agents::{ScanDepth, agent_names};
use switchboard_dialects::{Dialect, DialectSurface, MessageBuffer, default_dialect};
use switchboard_event::{Event, Timestamp};
use switchboard_logs::{
    LogFilter, LogLibrary, LogSession, LogsError, ReplyDeduplicator,
    export::{Redactor, TranscriptDocument, csv, html, markdown},
};
use target::ExportTarget;

use super::{
    LogLocationArgs,
    filter::{self, LogFilterArgs},
    list,
    show::{self, full_title, session_facts, truncate_title},
};
use crate::{failure::Failure, terminal::print_note, view::figures::pluralize};

/// Export sessions for other programs and people
///
/// Exports the named sessions, or all that match the filters. Keys, tokens, passwords and private keys are redacted if
/// their form or name gives them away.
#[derive(Args)]
pub struct ExportArgs {
    /// Sessions: IDs or their beginnings, Switchboard's IDs, or `last`
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value_t = ExportFormat::Trace, value_enum)]
    format: ExportFormat,
    /// Output file, or a directory that gets a file for each session [default: standard output]
    #[arg(long, short, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// Do not redact secrets
    #[arg(long)]
    no_redact: bool,
    /// Omit the agent's own records from a trace
    #[arg(long)]
    no_raw: bool,
    /// Only sessions that contain this text: words, "phrases in quotation marks"
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
    #[command(flatten)]
    filter: LogFilterArgs,
}

pub fn run(args: &ExportArgs, location: &LogLocationArgs) -> Result<(), Failure> {
    let zone = args.filter.time_zone()?;
    let wanted = args.filter.filter(&zone)?;
    let (library, report) = location.open_refreshed(ScanDepth::All)?;
    let mut sessions = args.sessions(&library, &filter::resolve_session(wanted, &library)?)?;
    if sessions.is_empty() {
        return if report.files == 0 { location.report_no_logs() } else { Err(no_sessions_error()) };
    }
    // In the order in which they began: usage that others copied from a session is counted there.
    sessions.reverse();
    sessions.sort_by_key(|session| session.facts.began.map_or((true, Timestamp::default()), |began| (false, began)));
    let target = ExportTarget::new(args.output.as_deref(), args.format, sessions.len())?;
    let redactor = if args.no_redact { None } else { Some(Redactor::new()?) };
    let pen = SessionExporter::new(args.format, redactor.as_ref(), args.no_raw, zone);
    let written = write_sessions(&library, &sessions, &pen, target)?;
    if let Some(folder) = written {
        let secrets = redactor.map_or(0, |redactor| redactor.redaction_count());
        let secrets = if secrets > 0 { format!(" · {secrets} secrets redacted") } else { String::new() };
        print_note(&format!("{} written to {}{secrets}", pluralize(sessions.len(), "session"), folder.display()));
    }
    Ok(())
}

fn session_key(session: &LogSession) -> (&str, &str, Option<&str>) {
    (&session.agent, &session.id, session.machine.as_deref())
}

fn no_sessions_error() -> Failure {
    Failure::Refused(
        "no matching sessions\nhint: `switchboard logs list` lists sessions, with the same options".to_owned(),
    )
}

/// Writes the sessions; returns the path unless that is standard output.
fn write_sessions(
    library: &LogLibrary,
    sessions: &[LogSession],
    pen: &SessionExporter<'_>,
    mut target: ExportTarget,
) -> Result<Option<PathBuf>, Failure> {
    let mut counted = ReplyDeduplicator::default();
    let mut is_first = true;
    for session in sessions {
        if !pen.adds_up() {
            counted = ReplyDeduplicator::default();
        }
        let transcript = match library.read_transcript_after(session, &mut counted) {
            // One unreadable log does not fail the whole export.
            Err(error @ LogsError::Unreadable { .. }) if sessions.len() > 1 => {
                print_note(&format!("skipped: {error}"));
                continue;
            }
            transcript => transcript?,
        };
        let (events, _) = show::transcript_events(session, transcript);
        let is_first = mem::take(&mut is_first) || target.is_folder();
        pen.session(session, events, is_first, target.begin(session)?).map_err(Failure::Output)?;
    }
    target.finish()
}

impl ExportArgs {
    fn sessions(&self, library: &LogLibrary, filter: &LogFilter) -> Result<Vec<LogSession>, Failure> {
        let mut sessions = list::find_sessions(library, filter, self.text.as_deref())?;
        if !self.ids.is_empty() {
            let named = self
                .ids
                .iter()
                .map(|id| library.find_session_of_agents(id, &filter.agents))
                .collect::<Result<Vec<_>, _>>()?;
            let named: HashSet<_> = named.iter().map(session_key).collect();
            sessions.retain(|session| named.contains(&session_key(session)));
        }
        Ok(sessions)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// agtrace.event.v1, one JSON object per line
    Trace,
    /// The same as a table, without the agent's own records
    Csv,
    /// Readable text
    Markdown,
    /// Self-contained page without scripts
    Html,
}

impl ExportFormat {
    pub fn extension(self) -> &'static str {
        match self {
            Self::Trace => "jsonl",
            Self::Csv => "csv",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }

    /// Returns whether one file can hold several sessions.
    pub fn takes_several(self) -> bool {
        self != Self::Html
    }
}

struct SessionExporter<'a> {
    format: ExportFormat,
    redactor: Option<&'a Redactor>,
    no_raw: bool,
    zone: TimeZone,
    dialect: &'static Dialect,
    columns: Vec<String>,
}

impl<'a> SessionExporter<'a> {
    pub fn new(format: ExportFormat, redactor: Option<&'a Redactor>, no_raw: bool, zone: TimeZone) -> Self {
        let dialect = default_dialect(DialectSurface::Log);
        let no_raw = no_raw || format == ExportFormat::Csv;
        Self { format, redactor, no_raw, zone, dialect, columns: csv_columns(dialect) }
    }

    /// Returns whether readers add up the usage of all sessions; documents are read one by one.
    fn adds_up(&self) -> bool {
        matches!(self.format, ExportFormat::Trace | ExportFormat::Csv)
    }

    /// Writes a session. `is_first` marks the first of a file.
    pub fn session(
        &self,
        session: &LogSession,
        events: Vec<Event>,
        is_first: bool,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self.format {
            ExportFormat::Trace => self.messages(events, &mut |message| {
                out.write_all(message.as_bytes())?;
                out.write_all(b"\n")
            }),
            ExportFormat::Csv => {
                if is_first {
                    out.write_all(csv::header_row(&self.columns).as_bytes())?;
                }
                self.messages(events, &mut |message| {
                    let row = csv::object_row(&self.columns, message.as_bytes());
                    row.map_or(Ok(()), |row| out.write_all(row.as_bytes()))
                })
            }
            ExportFormat::Markdown => {
                if !is_first {
                    out.write_all(b"\n---\n\n")?;
                }
                out.write_all(markdown::render_markdown(&self.story(session, &events), &self.zone).as_bytes())
            }
            ExportFormat::Html => {
                out.write_all(html::render_html(&self.story(session, &events), &self.zone).as_bytes())
            }
        }
    }

    fn messages(&self, events: Vec<Event>, each: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        let (mut projection, mut messages) = ((self.dialect.projection)(), MessageBuffer::default());
        for mut event in events {
            if self.no_raw {
                event.native = None;
            }
            projection.project_event(&event, &mut messages);
            for message in messages.iter() {
                // Valid UTF-8, as it almost always is, is not copied.
                let message = str::from_utf8(message).map_or_else(|_| String::from_utf8_lossy(message), Cow::Borrowed);
                each(&self.redactor.map_or(Cow::Borrowed(&*message), |redactor| redactor.redact_json(&message)))?;
            }
            messages.clear();
        }
        Ok(())
    }

    fn story(&self, session: &LogSession, events: &[Event]) -> TranscriptDocument {
        // Secrets are removed before the title is cut, so that no part of one remains.
        let title = full_title(session);
        let title = truncate_title(&self.redactor.map_or(Cow::Borrowed(title), |redactor| redactor.redact_text(title)));
        let about = session_facts(session, &self.zone);
        let mut story = TranscriptDocument { title, about, ..TranscriptDocument::from_events(events) };
        if let Some(redactor) = self.redactor {
            story.redact(redactor);
        }
        story
    }
}

/// Returns the columns of a table: the properties of a message in schema order, without the raw record.
fn csv_columns(dialect: &Dialect) -> Vec<String> {
    let schema = (dialect.schema)(&agent_names());
    let properties = schema.get("properties").and_then(|properties| properties.as_object());
    let names = properties.into_iter().flat_map(|properties| properties.keys());
    names.filter(|name| *name != "raw").cloned().collect()
}
