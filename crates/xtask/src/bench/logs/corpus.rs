//! The logs that are measured with, and what is true of them.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Deserialize;

use crate::{
    bench::programs::built,
    process::{build_folder, program, run as run_program},
    say,
};

/// A corpus on disk.
pub struct Corpus {
    /// The home with the logs.
    pub home: PathBuf,
    /// What is true of it.
    pub truth: Truth,
    folder: PathBuf,
}

/// The part of the truth that matters here.
#[derive(Deserialize)]
pub struct Truth {
    pub bytes: u64,
    pub files: u64,
    pub all: Tokens,
    pub rare: Vec<Needle>,
    pub common: String,
    pub growth: Growth,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub replies: u64,
}

#[derive(Deserialize)]
pub struct Needle {
    pub word: String,
    pub session: String,
}

#[derive(Deserialize)]
pub struct Growth {
    pub path: PathBuf,
    pub session: String,
    pub line: String,
}

impl Tokens {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

impl Corpus {
    /// The corpus of a size and a seed, written unless it is there.
    pub fn find(megabytes: u64, files: u64, seed: u64) -> anyhow::Result<Self> {
        let folder = build_folder().join("bench-logs").join(format!("corpus-{megabytes}-{files}-{seed}"));
        if !folder.join("truth.json").exists() {
            let [size, files, seed] = [megabytes, files, seed].map(|number| number.to_string());
            let mut write =
                program(built("switchboard-testkit"), &["corpus", "--size", &size, "--files", &files, "--seed", &seed]);
            run_program(write.arg(&folder))?;
        }
        let truth = fs::read(folder.join("truth.json")).context("the corpus has no truth")?;
        let truth: Truth = serde_json::from_slice(&truth)?;
        say(&format!(
            "{} MB in {} files, {} replies, seed {seed}, in {}",
            truth.bytes / 1_000_000,
            truth.files,
            truth.all.replies,
            folder.display()
        ));
        Ok(Self { home: folder.join("home"), truth, folder })
    }

    /// Removes it.
    pub fn remove(self) -> anyhow::Result<()> {
        Ok(fs::remove_dir_all(self.folder)?)
    }

    /// Writes the next line of a log.
    pub fn grow(&self) -> anyhow::Result<Grown> {
        let path = self.home.join(&self.truth.growth.path);
        let before = fs::metadata(&path)?.len();
        let grown = Grown { path, before };
        fs::OpenOptions::new().append(true).open(&grown.path)?.write_all(self.truth.growth.line.as_bytes())?;
        Ok(grown)
    }
}

/// A log with one line more; it is as it was when this is dropped.
pub struct Grown {
    path: PathBuf,
    before: u64,
}

impl Drop for Grown {
    fn drop(&mut self) {
        let file = fs::OpenOptions::new().write(true).open(&self.path);
        drop(file.and_then(|file| file.set_len(self.before)));
    }
}

/// A folder that is new each time.
pub fn new_folder(name: &str) -> anyhow::Result<PathBuf> {
    let folder = build_folder().join("bench-logs").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// How many bytes a folder has.
pub fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.metadata().map_or(0, |data| if data.is_dir() { size(&entry.path()) } else { data.len() }))
        .sum()
}

/// Nothing that is on disk is in memory any more; or it cannot be done here.
pub fn forget() -> bool {
    let synced = program("sync", &[]).status().is_ok_and(|status| status.success());
    synced && fs::write("/proc/sys/vm/drop_caches", "3").is_ok()
}
