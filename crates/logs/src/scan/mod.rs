//! Brings the index up to date: discovers logs, reads changed ones on all cores, and writes the results on one.

mod plan;
mod unit_reader;
mod walk;
mod work;

use std::path::PathBuf;

pub use plan::{ScanTask, plan_scan};
pub use unit_reader::OwnLogSource;
pub use unit_reader::{ScanOptions, UNKNOWN_KIND_MESSAGE};
pub use walk::{DiscoveredLog, UnreadablePath, discover_logs};
pub use work::run_scan;

/// Progress of a scan.
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
