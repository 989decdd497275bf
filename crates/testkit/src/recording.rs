//! The recordings: `crates/agents/src/AGENT/testdata/KIND/*.jsonl`. The kind `live` belongs to the source named after
//! the directory, any other kind to `AGENT:KIND`. The directory `log` stands for the agent's own directory: session
//! logs lie in it where the agent puts them, and each is played as the records it holds, whatever its form.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::{Context as _, bail};
use switchboard_agents::{
    AgentLogs, LOGS, LineSplitter, LogFile, LogFormat, Record, RecordSource, RecordTranslator, TranslatorOptions,
};
use switchboard_dialects::{MessageBuffer, Projection};
use switchboard_event::{Event, Id, Timestamp};

use crate::repository_root;

/// The recorded output of an agent in one session.
#[derive(Clone)]
pub struct Recording {
    pub source: &'static RecordSource,
    /// The directory: `live`, or the part after the colon of the source's name.
    pub kind: String,
    /// The file name without `.jsonl`, with its subdirectories joined by dots.
    pub name: String,
    pub path: PathBuf,
    /// The agent's `testdata` directory.
    pub testdata: PathBuf,
    /// The content, one record per line.
    pub bytes: Vec<u8>,
    /// The log file it represents; only for session logs.
    pub log: Option<(&'static AgentLogs, LogFile)>,
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.source.name, self.kind, self.name)
    }
}

impl Recording {
    #[must_use]
    pub fn line_count(&self) -> usize {
        self.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count()
    }
}

/// Returns all recordings of all agents, in a fixed order.
pub fn load_recordings() -> anyhow::Result<Vec<Recording>> {
    let mut found = Vec::new();
    for agent in directories_in(&repository_root().join("crates/agents/src"))? {
        let testdata = agent.join("testdata");
        if !testdata.is_dir() {
            continue;
        }
        for kind in directories_in(&testdata)?.iter().filter(|kind| file_name(kind) != "snapshots") {
            let source = source_of(&file_name(&agent), &file_name(kind))
                .with_context(|| format!("{} belongs to no source", kind.display()))?;
            for file in files_below(kind)?.into_iter().filter(|file| is_recording(source, kind, file)) {
                found.push(read_recording(source, &testdata, kind, &file)?);
            }
        }
    }
    if found.is_empty() {
        bail!("there are no recordings");
    }
    Ok(found)
}

/// Returns the source of `AGENT/testdata/KIND`.
fn source_of(agent: &str, kind: &str) -> Option<&'static RecordSource> {
    match kind {
        "live" => switchboard_agents::find_source(agent),
        kind => switchboard_agents::find_source(&format!("{agent}:{kind}")),
    }
}

fn read_recording(
    source: &'static RecordSource,
    testdata: &Path,
    kind: &Path,
    file: &Path,
) -> anyhow::Result<Recording> {
    let place = file.strip_prefix(kind).unwrap_or(file);
    let log = log_of(source, place);
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(Recording {
        source,
        kind: file_name(kind),
        name: place.to_string_lossy().trim_end_matches(".jsonl").replace('/', "."),
        path: file.to_owned(),
        testdata: testdata.to_owned(),
        bytes: as_lines(log.as_ref().map(|(_, file)| file.form), bytes)?,
        log,
    })
}

/// Returns the log file that a recording represents. A file outside of the agent's log paths holds the records, one per
/// line, of a log that is read as a whole.
fn log_of(source: &RecordSource, place: &Path) -> Option<(&'static AgentLogs, LogFile)> {
    let logs = LOGS.iter().find(|logs| logs.source == source.name)?;
    let whole = || LogFile { form: LogFormat::Replayed, ..LogFile::line_log(None) };
    Some((logs, (logs.file)(place).unwrap_or_else(whole)))
}

/// Returns the records of a file, one per line.
fn as_lines(form: Option<LogFormat>, bytes: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    let line = |part: String| part.replace(['\n', '\r'], " ") + "\n";
    match form {
        Some(LogFormat::Document(parts)) => {
            Ok(parts(&String::from_utf8_lossy(&bytes)).into_iter().map(line).collect::<String>().into_bytes())
        }
        Some(LogFormat::SharedDocument(parts)) => {
            let parts = parts(&String::from_utf8_lossy(&bytes)).into_iter().map(|(_, part)| part);
            Ok(parts.map(line).collect::<String>().into_bytes())
        }
        Some(LogFormat::Compressed) => zstd::decode_all(&*bytes).context("not compressed by zstd"),
        _ => Ok(bytes),
    }
}

/// Apart from `.jsonl` and `.txt`, only log files are recordings.
fn is_recording(source: &RecordSource, kind: &Path, file: &Path) -> bool {
    let is_log = || {
        let place = file.strip_prefix(kind).unwrap_or(file);
        LOGS.iter().any(|logs| logs.source == source.name && (logs.file)(place).is_some())
    };
    matches!(file.extension().and_then(OsStr::to_str), Some("jsonl" | "txt")) || is_log()
}

/// Returns the files of a directory tree, sorted.
fn files_below(of: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in sorted_entries(of)? {
        match entry.is_dir() {
            true => found.extend(files_below(&entry)?),
            false => found.push(entry),
        }
    }
    Ok(found)
}

pub fn directories_in(of: &Path) -> anyhow::Result<Vec<PathBuf>> {
    Ok(sorted_entries(of)?.into_iter().filter(|entry| entry.is_dir()).collect())
}

fn sorted_entries(of: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = fs::read_dir(of).with_context(|| format!("cannot read {}", of.display()))?;
    let mut entries = read.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

#[must_use]
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The session of a stream that names none.
pub const MADE_UP_SESSION_ID: &str = "made-up-session";

/// Translates a source's bytes, in pieces of any size.
pub struct StreamPlayer {
    lines: LineSplitter,
    translator: RecordTranslator,
}

impl StreamPlayer {
    #[must_use]
    pub fn new(source: &RecordSource) -> Self {
        let options = TranslatorOptions {
            made_up: Id::from(MADE_UP_SESSION_ID),
            arrival: Timestamp::from_millis(1_790_000_000_000).unwrap_or_default(),
            run: 1,
            ..TranslatorOptions::default()
        };
        Self { lines: LineSplitter::default(), translator: RecordTranslator::new(source, options) }
    }

    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Event>) {
        let translator = &mut self.translator;
        self.lines.push(bytes, |line| translate_line(translator, line, out));
    }

    pub fn finish(mut self, out: &mut Vec<Event>) {
        let translator = &mut self.translator;
        self.lines.finish(|line| translate_line(translator, line, out));
        self.translator.finish(out);
    }
}

fn translate_line(translator: &mut RecordTranslator, line: &[u8], out: &mut Vec<Event>) {
    Record::for_each_in_line(line, |record| translator.translate_record(record, out));
}

/// Returns the events of a whole stream.
#[must_use]
pub fn stream_events(source: &RecordSource, bytes: &[u8]) -> Vec<Event> {
    events_from_pieces(source, [bytes])
}

/// Returns the events of a stream that arrives in pieces.
#[must_use]
pub fn events_from_pieces<'a>(source: &RecordSource, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let (mut player, mut out) = (StreamPlayer::new(source), Vec::new());
    for piece in pieces {
        player.push(piece, &mut out);
    }
    player.finish(&mut out);
    out
}

#[must_use]
pub fn stored_json(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| switchboard_event::to_raw_json(event).get().to_owned()).collect()
}

pub fn project_messages(projection: &mut dyn Projection, events: &[Event]) -> Vec<Vec<u8>> {
    let mut out = MessageBuffer::default();
    for event in events {
        projection.project_event(event, &mut out);
    }
    out.iter().map(<[u8]>::to_vec).collect()
}
