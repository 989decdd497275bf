//! The logs to measure with, and their known totals.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Deserialize;

use crate::bench::release_program;
use crate::print_line;
use crate::process::{build_directory, new_command, run_program};

pub struct BenchCorpus {
    pub home: PathBuf,
    pub truth: BenchTruth,
    folder: PathBuf,
}

/// The part of the truth that is needed here.
#[derive(Deserialize)]
pub struct BenchTruth {
    pub bytes: u64,
    pub files: u64,
    pub all: BenchTokens,
    pub rare: Vec<BenchRareWord>,
    pub common: String,
    pub growth: BenchNextLine,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BenchTokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub replies: u64,
}

#[derive(Deserialize)]
pub struct BenchRareWord {
    pub word: String,
    pub session: String,
}

#[derive(Deserialize)]
pub struct BenchNextLine {
    pub path: PathBuf,
    pub session: String,
    pub line: String,
}

impl BenchTokens {
    pub fn total_tokens(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

impl BenchCorpus {
    /// Returns the corpus of a size and a seed; writes it if it does not exist.
    pub fn find_or_write(megabytes: u64, files: u64, seed: u64) -> anyhow::Result<Self> {
        let folder = build_directory().join("bench-logs").join(format!("corpus-{megabytes}-{files}-{seed}"));
        if !folder.join("truth.json").exists() {
            let [size, files, seed] = [megabytes, files, seed].map(|number| number.to_string());
            let mut write = new_command(
                release_program("switchboard-testkit"),
                &["corpus", "--size", &size, "--files", &files, "--seed", &seed],
            );
            run_program(write.arg(&folder))?;
        }
        let truth = fs::read(folder.join("truth.json")).context("the corpus has no truth")?;
        let truth: BenchTruth = serde_json::from_slice(&truth)?;
        print_line(&format!(
            "{} MB in {} files, {} replies, seed {seed}, in {}",
            truth.bytes / 1_000_000,
            truth.files,
            truth.all.replies,
            folder.display()
        ));
        Ok(Self { home: folder.join("home"), truth, folder })
    }

    pub fn remove(self) -> anyhow::Result<()> {
        Ok(fs::remove_dir_all(self.folder)?)
    }

    /// Appends the next line of a log.
    pub fn append_line(&self) -> anyhow::Result<AppendedLineGuard> {
        let path = self.home.join(&self.truth.growth.path);
        let before = fs::metadata(&path)?.len();
        let grown = AppendedLineGuard { path, before };
        fs::OpenOptions::new().append(true).open(&grown.path)?.write_all(self.truth.growth.line.as_bytes())?;
        Ok(grown)
    }
}

/// Removes the appended line on drop.
pub struct AppendedLineGuard {
    path: PathBuf,
    before: u64,
}

impl Drop for AppendedLineGuard {
    fn drop(&mut self) {
        let file = fs::OpenOptions::new().write(true).open(&self.path);
        drop(file.and_then(|file| file.set_len(self.before)));
    }
}

pub fn create_empty_directory(name: &str) -> anyhow::Result<PathBuf> {
    let folder = build_directory().join("bench-logs").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

pub fn directory_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| {
            entry.metadata().map_or(0, |data| if data.is_dir() { directory_bytes(&entry.path()) } else { data.len() })
        })
        .sum()
}

/// Drops the page cache. Returns false if that is not possible here.
pub fn drop_page_cache() -> bool {
    let synced = new_command("sync", &[]).status().is_ok_and(|status| status.success());
    synced && fs::write("/proc/sys/vm/drop_caches", "3").is_ok()
}
