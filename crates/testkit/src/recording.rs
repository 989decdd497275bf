//! The recordings: `crates/agents/src/AGENT/testdata/KIND/*.jsonl`. The kind `live` belongs to the source named after
//! the directory, any other kind to `AGENT:KIND`. The directory `log` stands for the agent's own directory: session
//! logs lie in it where the agent puts them, and each is played as the records it holds, whatever its form.

use std::{
    ffi::OsStr,
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use switchboard_agents::{AgentLogs, LOGS, LogFile, LogFormat, RecordSource};

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
