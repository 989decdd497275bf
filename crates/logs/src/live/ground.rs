//! Finds the logs in the agents' homes, and watches their directories.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use switchboard_agents::{LogFile, LogFormat};
use switchboard_event::Timestamp;

use super::ears::FileWatcher;
use crate::{AgentHome, places::expand_pattern};

#[derive(Clone)]
pub struct LiveLogFile {
    /// Index of the home that contains it.
    pub home: usize,
    pub file: LogFile,
    pub path: PathBuf,
    /// The modification time.
    pub written: Timestamp,
}

/// Finds the logs of all homes, and watches every directory on the way.
pub fn find_log_files(homes: &[AgentHome], ears: &mut FileWatcher, found: &mut dyn FnMut(LiveLogFile)) {
    (0..homes.len()).for_each(|number| find_in_home(homes, number, ears, found));
}

/// Finds the logs of one home.
pub fn find_in_home(homes: &[AgentHome], number: usize, ears: &mut FileWatcher, found: &mut dyn FnMut(LiveLogFile)) {
    let Some(home) = homes.get(number) else { return };
    // For directories that do not exist yet.
    ears.watch_directory(&home.folder);
    for path in home.logs.folders.iter().flat_map(|inner| expand_pattern(&home.folder, inner)) {
        find_below(homes, number, &path, ears, found);
    }
}

/// Checks a path of a home and, if it is a directory, everything below it.
pub fn find_below(
    homes: &[AgentHome],
    number: usize,
    path: &Path,
    ears: &mut FileWatcher,
    found: &mut dyn FnMut(LiveLogFile),
) {
    let Ok(meta) = fs::metadata(path) else { return };
    if !meta.is_dir() {
        // A pipe may be named like a log.
        if let Some(log) = log_file(homes, number, path, &meta).filter(|_| meta.is_file()) {
            found(log);
        }
        return;
    }
    // Before reading the directory, so that later changes are reported.
    ears.watch_directory(path);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        // Symbolic links could form cycles.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink() || entry.path().is_file()) {
            find_below(homes, number, &entry.path(), ears, found);
        }
    }
}

/// Returns the homes in which a path can be a log or contain one.
pub fn homes_containing(homes: &[AgentHome], path: &Path) -> Vec<usize> {
    let fits = |home: &AgentHome, inner: &str| match inner.contains('*') {
        true => path.parent() == Some(&home.folder) && matches_pattern(path, inner),
        false => path.starts_with(home.folder.join(inner)),
    };
    let is_inside = |home: &AgentHome| home.logs.folders.iter().any(|inner| fits(home, inner));
    homes.iter().enumerate().filter(|(_, home)| is_inside(home)).map(|(number, _)| number).collect()
}

fn matches_pattern(path: &Path, name: &str) -> bool {
    let Some((begin, end)) = name.split_once('*') else { return false };
    let given = path.file_name().unwrap_or_default().to_string_lossy();
    given.strip_prefix(begin).is_some_and(|rest| rest.ends_with(end))
}

fn log_file(homes: &[AgentHome], number: usize, path: &Path, meta: &fs::Metadata) -> Option<LiveLogFile> {
    let home = homes.get(number)?;
    let file = (home.logs.file)(path.strip_prefix(&home.folder).ok()?)?;
    if matches!(file.form, LogFormat::SharedDocument(_)) {
        // Active sessions have logs of their own.
        return None;
    }
    let written = Timestamp::from_micros(meta.mtime() * 1_000_000 + meta.mtime_nsec() / 1_000)?;
    Some(LiveLogFile { home: number, file, path: path.to_owned(), written })
}
