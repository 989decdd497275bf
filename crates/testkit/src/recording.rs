//! The recordings: `crates/agents/src/AGENT/testdata/KIND/*.jsonl`. The kind `live` belongs to the source that is
//! called like the folder, any other kind to `AGENT:KIND`. The folder `log` stands for the agent's own folder: session
//! logs lie in it where the agent puts them, and each is played as the records it holds, whatever its form.

use std::{
    ffi::OsStr,
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use switchboard_agents::{Form, LOGS, LogFile, Logs, Source};

use crate::repository;

/// What an agent said in one session, as it was written down.
#[derive(Clone)]
pub struct Recording {
    /// Whose records these are.
    pub source: &'static Source,
    /// The folder it lies in: `live`, or what follows the colon of the source.
    pub kind: String,
    /// The name of the file, without `.jsonl`; folders on the way to it are in it, with dots.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// The agent's `testdata` folder.
    pub testdata: PathBuf,
    /// What the file holds, one record a line.
    pub bytes: Vec<u8>,
    /// What the file is among the agent's logs; only session logs are something.
    pub log: Option<(&'static Logs, LogFile)>,
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.source.name, self.kind, self.name)
    }
}

impl Recording {
    /// How many lines it has.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count()
    }
}

/// All recordings of all agents, in a fixed order.
///
/// # Errors
/// If a folder cannot be read, or belongs to no source.
pub fn recordings() -> anyhow::Result<Vec<Recording>> {
    let mut found = Vec::new();
    for agent in folders(&repository().join("crates/agents/src"))? {
        let testdata = agent.join("testdata");
        if !testdata.is_dir() {
            continue;
        }
        for kind in folders(&testdata)?.iter().filter(|kind| file_name(kind) != "snapshots") {
            let source = source_of(&file_name(&agent), &file_name(kind))
                .with_context(|| format!("{} belongs to no source", kind.display()))?;
            for file in files(kind)?.into_iter().filter(|file| is_recording(source, kind, file)) {
                found.push(read(source, &testdata, kind, &file)?);
            }
        }
    }
    if found.is_empty() {
        bail!("there are no recordings");
    }
    Ok(found)
}

/// The source whose recordings lie in `AGENT/testdata/KIND`.
fn source_of(agent: &str, kind: &str) -> Option<&'static Source> {
    match kind {
        "live" => switchboard_agents::source(agent),
        kind => switchboard_agents::source(&format!("{agent}:{kind}")),
    }
}

fn read(source: &'static Source, testdata: &Path, kind: &Path, file: &Path) -> anyhow::Result<Recording> {
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

/// What a file is among the logs of its agent. One that lies where the agent would put none holds records, one a line, of
/// something that is read as a whole.
fn log_of(source: &Source, place: &Path) -> Option<(&'static Logs, LogFile)> {
    let logs = LOGS.iter().find(|logs| logs.source == source.name)?;
    let whole = || LogFile { form: Form::Replayed, ..LogFile::lines(None) };
    Some((logs, (logs.file)(place).unwrap_or_else(whole)))
}

/// The records of a file, one a line.
fn as_lines(form: Option<Form>, bytes: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    let line = |part: String| part.replace(['\n', '\r'], " ") + "\n";
    match form {
        Some(Form::Document(parts)) => {
            Ok(parts(&String::from_utf8_lossy(&bytes)).into_iter().map(line).collect::<String>().into_bytes())
        }
        Some(Form::SharedDocument(parts)) => {
            let parts = parts(&String::from_utf8_lossy(&bytes)).into_iter().map(|(_, part)| part);
            Ok(parts.map(line).collect::<String>().into_bytes())
        }
        Some(Form::Compressed) => zstd::decode_all(&*bytes).context("not compressed by zstd"),
        _ => Ok(bytes),
    }
}

/// Of other files only those that are logs.
fn is_recording(source: &Source, kind: &Path, file: &Path) -> bool {
    let is_log = || {
        let place = file.strip_prefix(kind).unwrap_or(file);
        LOGS.iter().any(|logs| logs.source == source.name && (logs.file)(place).is_some())
    };
    matches!(file.extension().and_then(OsStr::to_str), Some("jsonl" | "txt")) || is_log()
}

/// The files in a folder and in those below it, sorted.
fn files(of: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(of)? {
        match entry.is_dir() {
            true => found.extend(files(&entry)?),
            false => found.push(entry),
        }
    }
    Ok(found)
}

/// The folders in a folder, sorted.
///
/// # Errors
/// If it cannot be read.
pub fn folders(of: &Path) -> anyhow::Result<Vec<PathBuf>> {
    Ok(entries(of)?.into_iter().filter(|entry| entry.is_dir()).collect())
}

fn entries(of: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = fs::read_dir(of).with_context(|| format!("cannot read {}", of.display()))?;
    let mut entries = read.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

/// The last part of a path.
#[must_use]
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
