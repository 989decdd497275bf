//! `switchboard translate`: a filter from an agent's records to a dialect.

mod input;
mod log_file;

use std::{
    io::{self, BufWriter, StdoutLock, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use input::{InterruptibleInput, ReadOutcome};
use log_file::LogFile;
use switchboard_agents::{
    LOGS, LineSplitter, Record, RecordSource, RecordTranslator, SOURCES, SessionContext, TranslatorOptions, find_source,
};
use switchboard_dialects::{Dialect, MessageBuffer, Projection};
use switchboard_event::{Event, Id};

use crate::{
    args::{DIALECT_NAMES, SOURCE_NAMES, parse_dialect},
    failure::{Failure, format_name_list},
    host,
};

/// Large enough to be fast, small enough to be prompt.
const READ_CHUNK_BYTES: usize = 128 << 10;

const SIGNAL_EXIT_CODE: u8 = 130;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Translate an agent's recorded or live output into another protocol
///
/// Reads an agent's native records, one JSON object per line, and writes messages of a dialect, one JSON object per
/// line, as they arrive. Nothing is lost: `--to events` contains every native record verbatim, even if the dialect
/// cannot express it.
///
/// A transcript of both directions is recognized by its lines: {"dir":"in"|"out","t":SECONDS,"msg":RECORD}.
///
/// A session log is read in the format that its agent uses: lines, compressed lines, a JSON document (each part is a
/// record), or a database (each row is a record, {"table":NAME,"row":{…}}; all sessions in sequence, or the one given
/// by --session).
#[derive(Args)]
#[command(after_help = usage_examples(), after_long_help = source_and_dialect_lists())]
pub struct TranslateArgs {
    /// Source of the records; `--help` lists the sources
    #[arg(long, value_name = "SOURCE", value_parser = SOURCE_NAMES, hide_possible_values = true)]
    pub from: String,
    /// Protocol to write; `--help` lists the dialects
    #[arg(long, value_name = "DIALECT", default_value = default_dialect_name(), value_parser = DIALECT_NAMES, hide_possible_values = true)]
    pub to: String,
    /// Session ID to use instead of the agent's own; for a database, the session to translate
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Session that the stream continues; some agents then count usage from its beginning
    #[arg(long, value_name = "ID")]
    resumed: Option<String>,
    /// Usage of the resumed session so far, as JSON: {"input":…,"output":…,"cache_read":…}
    #[arg(long, value_name = "JSON", requires = "resumed")]
    usage_base: Option<String>,
    /// File with the records; standard input if `-` or omitted
    pub file: Option<PathBuf>,
}

pub fn run(args: &TranslateArgs) -> Result<ExitCode, Failure> {
    let source = parse_source(&args.from)?;
    let dialect = parse_dialect(&args.to)?;
    let log = args.file.as_deref().and_then(|path| LogFile::find(source, path));
    let mut start = session_context(args)?;
    start.config.working_directory = log.as_ref().and_then(LogFile::root);
    let options = TranslatorOptions {
        session: args.session.as_deref().map(Id::from),
        made_up: args.file.as_deref().and_then(session_id_from_file_name).unwrap_or_else(host::new_id),
        arrival: host::now(),
        run: 1,
        start,
        ..TranslatorOptions::default()
    };
    let stage = RecordPipeline::new(source, dialect, options);
    match log.filter(|log| !log.is_lines()) {
        Some(log) => log.translate(args.session.as_deref(), stage).map(|()| ExitCode::SUCCESS),
        None => translate_lines(args, stage),
    }
}

/// Returns the ID of a session that names none: the name of its file, so that a second translation gives the same ID.
fn session_id_from_file_name(path: &Path) -> Option<Id> {
    let name = path.file_name()?.to_str().filter(|name| *name != "-")?;
    let stem = name.strip_suffix(".zst").unwrap_or(name);
    let stem = [".jsonl", ".json", ".ndjson"].into_iter().find_map(|ending| stem.strip_suffix(ending)).unwrap_or(stem);
    Some(Id::from(stem)).filter(|stem| !stem.is_empty())
}

fn translate_lines(args: &TranslateArgs, mut stage: RecordPipeline) -> Result<ExitCode, Failure> {
    let unreadable = |cause| Failure::Unreadable {
        path: args.file.clone().unwrap_or_else(|| PathBuf::from("standard input")),
        cause,
    };
    // A power failure leaves zeros in a log that was being written.
    stage.trims_zeros = LOGS.iter().any(|logs| logs.source == args.from);
    let mut input =
        host::open_file_or_stdin(args.file.as_deref()).and_then(InterruptibleInput::new).map_err(unreadable)?;
    let (mut lines, mut chunk) = (LineSplitter::default(), vec![0; READ_CHUNK_BYTES]);
    let outcome = loop {
        match input.read(&mut chunk) {
            Ok(ReadOutcome::Some(length)) => {
                lines.push(chunk.get(..length).unwrap_or_default(), |line| stage.line(line));
                stage.flush()?;
            }
            Ok(ReadOutcome::End) => break Ok(ExitCode::SUCCESS),
            Ok(ReadOutcome::Stopped) => break Ok(ExitCode::from(SIGNAL_EXIT_CODE)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(unreadable(error)),
        }
    };
    // After a signal or an error, what was read is translated, and the session is ended.
    lines.finish(|line| stage.line(line));
    stage.finish()?;
    outcome
}

fn session_context(args: &TranslateArgs) -> Result<SessionContext, Failure> {
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
        known: format_name_list(SOURCES.iter().copied().flatten().map(|s| (s.name, s.title))),
    })
}

fn default_dialect_name() -> &'static str {
    switchboard_dialects::DIALECTS.first().map_or("", |dialect| dialect.name)
}

fn usage_examples() -> String {
    // The names come from the tables: this file names no agent and no dialect.
    let source = SOURCES.iter().copied().flatten().map(|s| s.name).next().unwrap_or("SOURCE");
    let dialect = switchboard_dialects::DIALECTS.last().map_or("DIALECT", |d| d.name);
    format!(
        "Examples:\n  switchboard translate --from {source} recording.jsonl\n  \
         AGENT | switchboard translate --from {source} --to {dialect} > {dialect}.jsonl"
    )
}

fn source_and_dialect_lists() -> String {
    let sources = SOURCES.iter().copied().flatten().map(|s| (s.name, s.title));
    let dialects = switchboard_dialects::DIALECTS.iter().map(|d| (d.name, d.title));
    let (sources, dialects) = (format_name_list(sources), format_name_list(dialects));
    format!("Sources:\n{sources}\n\nDialects:\n{dialects}\n\n{}", usage_examples())
}

/// Translates records to messages on standard output, one session after the other.
pub struct RecordPipeline {
    source: &'static RecordSource,
    dialect: &'static Dialect,
    options: TranslatorOptions,
    translator: RecordTranslator,
    projection: Box<dyn Projection>,
    events: Vec<Event>,
    messages: MessageBuffer,
    /// Strip zeros around lines.
    trims_zeros: bool,
    begun: bool,
    out: BufWriter<StdoutLock<'static>>,
    broken: Option<io::Error>,
}

impl RecordPipeline {
    pub fn new(source: &'static RecordSource, dialect: &'static Dialect, options: TranslatorOptions) -> Self {
        Self {
            translator: RecordTranslator::new(source, options.clone()),
            projection: (dialect.projection)(),
            source,
            dialect,
            options,
            events: Vec::new(),
            messages: MessageBuffer::default(),
            trims_zeros: false,
            begun: false,
            out: BufWriter::with_capacity(READ_CHUNK_BYTES, io::stdout().lock()),
            broken: None,
        }
    }

    pub fn line(&mut self, line: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        let is_first = !std::mem::replace(&mut self.begun, true);
        let line = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_first).unwrap_or(line);
        let line = if self.trims_zeros { trim_zeros(line) } else { line };
        Record::for_each_in_line(line, |record| {
            if self.translator.starts_other_session(record) {
                self.next();
            }
            self.translator.translate_record(record, &mut self.events);
            self.project();
        });
    }

    /// Ends the session; the next record starts another one.
    pub fn next(&mut self) {
        self.translator.finish(&mut self.events);
        self.project();
        self.translator = RecordTranslator::new(self.source, self.options.clone());
        self.projection = (self.dialect.projection)();
    }

    pub fn finish(&mut self) -> Result<(), Failure> {
        self.translator.finish(&mut self.events);
        self.project();
        self.flush()
    }

    fn project(&mut self) {
        for event in self.events.drain(..) {
            self.projection.project_event(&event, &mut self.messages);
        }
        let written = self.messages.iter().try_for_each(|message| {
            self.out.write_all(message)?;
            self.out.write_all(b"\n")
        });
        self.messages.clear();
        self.broken = self.broken.take().or(written.err());
    }

    /// Flushes the output, so that the reader has everything before more input is awaited.
    pub fn flush(&mut self) -> Result<(), Failure> {
        if let Some(error) = self.broken.take() {
            return Err(Failure::Output(error));
        }
        self.out.flush().map_err(Failure::Output)
    }
}

/// Strips zeros around a line, unless it has nothing else.
fn trim_zeros(line: &[u8]) -> &[u8] {
    let Some(start) = line.iter().position(|byte| *byte != 0) else { return line };
    let end = line.iter().rposition(|byte| *byte != 0).map_or(start, |last| last + 1);
    line.get(start..end).unwrap_or_default()
}
