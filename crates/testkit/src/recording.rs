//! The recordings: `crates/agents/src/AGENT/testdata/KIND/*.jsonl`. The kind `live` belongs to the source that is
//! called like the folder, any other kind to `AGENT:KIND`.

use std::{
    ffi::OsStr,
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use switchboard_agents::Source;

use crate::repository;

/// What an agent said in one session, as it was written down.
#[derive(Clone)]
pub struct Recording {
    /// Whose records these are.
    pub source: &'static Source,
    /// The folder it lies in: `live`, or what follows the colon of the source.
    pub kind: String,
    /// The name of the file, without `.jsonl`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// The agent's `testdata` folder.
    pub testdata: PathBuf,
    /// What the file holds.
    pub bytes: Vec<u8>,
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
            for file in entries(kind)?.into_iter().filter(|file| is_recording(file)) {
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
    Ok(Recording {
        source,
        kind: file_name(kind),
        name: file_name(file).trim_end_matches(".jsonl").to_owned(),
        path: file.to_owned(),
        testdata: testdata.to_owned(),
        bytes: fs::read(file).with_context(|| format!("cannot read {}", file.display()))?,
    })
}

fn is_recording(file: &Path) -> bool {
    file.is_file() && matches!(file.extension().and_then(OsStr::to_str), Some("jsonl" | "txt"))
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
