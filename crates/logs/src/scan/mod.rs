//! Brings the index up to date: discovers logs, reads changed ones on all cores, and writes the results on one.

mod unit_reader;
mod walk;
mod work;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_agents::{LogFormat, ScanDepth};
use xxhash_rust::xxh3::Xxh3;

use crate::index::{LogIndex, LogUnit};
use crate::read;

pub use unit_reader::{OwnLogSource, ScanOptions, UNKNOWN_KIND_MESSAGE};
pub use walk::{DiscoveredLog, UnreadablePath, discover_logs};
pub use work::run_scan;

#[derive(Clone, Copy, Debug, Default)]
pub struct ScanProgress {
    /// Bytes read.
    pub bytes: u64,
    /// Bytes to read.
    pub of_bytes: u64,
    /// Files completed.
    pub files: u64,
    /// Files to read.
    pub of_files: u64,
}

/// Result of bringing the index up to date.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanReport {
    /// The number of log files.
    pub files: u64,
    /// Files read now because they are new or changed.
    pub read: u64,
    /// Bytes read now.
    pub bytes: u64,
    /// Deleted files; their indexed content stays.
    pub gone: u64,
    /// Unreadable files and invalid records, as listed by `troubles`.
    pub troubles: u64,
    /// The part of `troubles` that are valid records of an unknown kind.
    pub unknown: u64,
}

#[derive(Clone, Debug)]
pub struct LogReadError {
    pub agent: String,
    pub path: PathBuf,
    /// Offset of the record, if the error is about one.
    pub offset: Option<u64>,
    /// The error message.
    pub what: String,
    /// Number of occurrences in this file.
    pub times: u64,
}

/// The work of a scan.
#[derive(Default)]
pub struct ScanPlan {
    /// Sessions of databases first, then files, largest first.
    pub tasks: Vec<ScanTask>,
    /// The number of deleted logs.
    pub gone: u64,
}

/// A log to read.
pub struct ScanTask {
    pub seen: DiscoveredLog,
    /// The unit ID.
    pub unit: i64,
    /// `None` if the log is new.
    pub known: Option<Arc<LogUnit>>,
    /// The log is read from its beginning.
    pub fresh: bool,
}

impl ScanTask {
    /// Returns the number of bytes to read.
    fn remaining_bytes(&self, depth: ScanDepth) -> u64 {
        let from = self.known.as_ref().filter(|_| !self.fresh).map_or(0, |unit| unit.read_position(depth).at);
        self.seen.bytes.saturating_sub(from)
    }
}

/// Compares the discovered logs with the index, and records new, moved and deleted ones.
pub fn plan_scan(
    index: &mut LogIndex,
    seen: Vec<DiscoveredLog>,
    units: &[Arc<LogUnit>],
    depth: ScanDepth,
) -> rusqlite::Result<ScanPlan> {
    let (seen, covered) = split_covered(seen, units);
    let covered: HashSet<&str> = covered.iter().map(|covered| covered.name.as_str()).collect();
    let (covered, units): (Vec<_>, Vec<_>) = units.iter().partition(|unit| covered.contains(unit.name.as_str()));
    index.delete_units(&covered.iter().map(|unit| unit.id).collect::<Vec<_>>())?;
    let there: HashSet<&str> = seen.iter().map(|seen| seen.name.as_str()).collect();
    let (known, mut absent): (Vec<&Arc<LogUnit>>, Vec<&Arc<LogUnit>>) =
        units.into_iter().partition(|unit| there.contains(unit.name.as_str()));
    let mut known: HashMap<&str, &Arc<LogUnit>> = known.into_iter().map(|unit| (unit.name.as_str(), unit)).collect();
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for seen in seen {
        match known.remove(seen.name.as_str()).or_else(|| take_moved(&mut absent, &seen)) {
            Some(unit) => old.push((unit, seen)),
            None => new.push(seen),
        }
    }
    let moved = old.iter().filter(|(unit, seen)| is_changed(unit, seen));
    let moved: Vec<_> = moved.map(|(unit, seen)| (unit.id, seen)).collect();
    let gone: Vec<_> = absent.iter().filter(|unit| !unit.gone && is_gone(unit)).map(|unit| unit.id).collect();
    let numbers = index.update_units(&new.iter().collect::<Vec<_>>(), &moved, &gone)?;
    let mut tasks: Vec<_> =
        old.into_iter().filter_map(|(unit, seen)| ScanTask::for_known_unit(unit, seen, depth)).collect();
    tasks.extend(new.into_iter().zip(numbers).map(|(seen, unit)| ScanTask { seen, unit, known: None, fresh: true }));
    // The size of sessions in databases is unknown, so they do not wait until the end. A very large file may then
    // finish last, but that is rarer.
    tasks.sort_by_key(|task| (task.seen.part.is_none(), std::cmp::Reverse(task.remaining_bytes(depth))));
    Ok(ScanPlan { tasks, gone: gone.len() as u64 })
}

impl ScanTask {
    /// Returns the task for a known log, or `None` if it is unchanged.
    fn for_known_unit(unit: &Arc<LogUnit>, seen: DiscoveredLog, depth: ScanDepth) -> Option<Self> {
        let reached = unit.read_position(depth);
        if reached.seen.as_deref() == Some(&seen.seen) {
            return None;
        }
        // Only files of lines are append-only, and only if they were not replaced.
        let grown = matches!(seen.file.form, LogFormat::Lines)
            && seen.bytes >= unit.tokens.at.max(unit.text.at)
            && unit.mark.as_deref().is_some_and(|mark| file_matches_mark(&seen, mark));
        Some(Self { unit: unit.id, fresh: !grown, known: Some(Arc::clone(unit)), seen })
    }
}

/// Splits off the parts of shared documents whose sessions have logs of their own. The kept content of a deleted log has
/// more information than a shared document, too.
fn split_covered(seen: Vec<DiscoveredLog>, units: &[Arc<LogUnit>]) -> (Vec<DiscoveredLog>, Vec<DiscoveredLog>) {
    let (shared, mut own): (Vec<_>, Vec<_>) = seen.into_iter().partition(DiscoveredLog::is_in_shared_document);
    let is_covered = |shared: &DiscoveredLog| {
        own.iter().any(|seen| seen.covers_session_of(shared)) || units.iter().any(|unit| is_own_log(unit, shared))
    };
    let (covered, alone): (Vec<_>, Vec<_>) = shared.into_iter().partition(is_covered);
    own.extend(alone);
    own.sort_by(|a, b| a.name.cmp(&b.name));
    (own, covered)
}

/// Returns whether the unit is a log of the session that also has a part in a shared document.
fn is_own_log(unit: &LogUnit, shared: &DiscoveredLog) -> bool {
    let is_same_session = Some(&unit.session) == shared.part.as_ref() && unit.path != shared.path;
    is_same_session && unit.agent == shared.agent && unit.machine == shared.machine
}

/// Returns whether the path or size in the index is outdated.
fn is_changed(unit: &LogUnit, seen: &DiscoveredLog) -> bool {
    unit.gone || unit.path != seen.path || unit.name != seen.name || unit.bytes != seen.bytes
}

/// Returns whether the file no longer exists. A unit may also be absent because its home was not scanned.
fn is_gone(unit: &LogUnit) -> bool {
    matches!(unit.path.try_exists(), Ok(false))
}

/// Takes the unit of a renamed log: it has the same inode and an unchanged beginning.
fn take_moved<'a>(absent: &mut Vec<&'a Arc<LogUnit>>, seen: &DiscoveredLog) -> Option<&'a Arc<LogUnit>> {
    let same = |unit: &&Arc<LogUnit>| {
        let both = unit.agent == seen.agent && unit.inode == seen.inode && unit.part.is_none() && seen.part.is_none();
        both && is_gone(unit) && unit.mark.as_deref().is_some_and(|mark| file_matches_mark(seen, mark))
    };
    let at = absent.iter().position(same)?;
    Some(absent.swap_remove(at))
}

fn file_matches_mark(seen: &DiscoveredLog, mark: &[u8]) -> bool {
    read::open_log_file(&seen.path).is_ok_and(|file| matches_mark(&file, mark))
}

/// How much of the beginning and of the end is hashed.
const MARKED_BYTES: u64 = 1024;

/// Returns the mark of a file that was read up to `at`.
fn compute_mark(file: &File, at: u64) -> io::Result<Vec<u8>> {
    let mut hash = Xxh3::new();
    for begin in [0, at.saturating_sub(MARKED_BYTES)] {
        let length = usize::try_from(MARKED_BYTES.min(at)).unwrap_or_default();
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, begin)?;
        hash.update(&bytes);
    }
    Ok([at.to_le_bytes(), hash.digest().to_le_bytes()].concat())
}

/// Returns whether the marked part of the file is unchanged.
fn matches_mark(file: &File, mark: &[u8]) -> bool {
    let at = mark.first_chunk().map(|at| u64::from_le_bytes(*at));
    at.is_some_and(|at| compute_mark(file, at).is_ok_and(|found| found == mark))
}
