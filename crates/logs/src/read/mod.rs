//! Reads the records of logs in all file forms. It does not interpret records and never writes: agents may be using the
//! same files.

mod database;
mod document;
mod file;
mod lines;

use std::{
    borrow::Cow,
    io::{self, Seek as _, SeekFrom},
    num::NonZeroU64,
    path::Path,
};

use rustix::fs::{Advice, fadvise};

pub use database::{
    AgentDatabase, database_mark, database_of_side_file, list_database_sessions, newest_timestamp, prefetch_database,
};
pub use document::compute_tree_mark as tree_mark;
pub use document::list_shared_sessions;
pub use file::open_log_file;
use switchboard_agents::{AgentLogs, LogFormat, ScanDepth};

/// Reads the records of a file from a position to its end, and returns the end. In files of lines, positions are byte
/// offsets (uncompressed ones in compressed files); in all others, record numbers. For a file of many sessions, `part`
/// is the session.
///
/// The last line is only read if it is complete; otherwise the end is its beginning, since it is still being written.
/// With [`Depth::Tokens`], records without tokens may be empty.
///
/// # Errors
/// If the file cannot be read to its end. Readable records were passed to `each`.
pub fn read_records(
    path: &Path,
    form: &LogFormat,
    part: Option<&str>,
    from: u64,
    depth: ScanDepth,
    each: &mut dyn FnMut(u64, &[u8]),
) -> io::Result<u64> {
    match form {
        LogFormat::Lines | LogFormat::Replayed => {
            let mut file = open_log_file(path)?;
            file.seek(SeekFrom::Start(from))?;
            lines::read_lines(&mut file, from, each)
        }
        LogFormat::Compressed => lines::read_compressed_lines(path, from, each),
        LogFormat::Document(split) => document::read_document(path, split, from, each),
        LogFormat::SharedDocument(split) => {
            let is_wanted = |session: &str| part.is_none_or(|part| part == session);
            let records = |text: &str| {
                let all = split(text).into_iter();
                all.filter(|(session, _)| is_wanted(session)).map(|(_, record)| record).collect()
            };
            document::read_document(path, records, from, each)
        }
        LogFormat::Database(queries) => {
            AgentDatabase::open(path)?.read_records(queries, part.unwrap_or_default(), from, depth, each)
        }
        LogFormat::Tree(pieces) => document::read_tree(path, *pieces, from, each),
        LogFormat::Events => Err(io::Error::new(io::ErrorKind::Unsupported, "these are not the records of a file")),
    }
}

/// Checks that a file can be read to its end, for forms where only that tells.
///
/// # Errors
/// If it cannot.
pub fn check_readable(path: &Path, form: &LogFormat) -> io::Result<()> {
    match form {
        LogFormat::Compressed => lines::check_compressed(path),
        _ => Ok(()),
    }
}

/// How much of a file is prefetched: the system's readahead does the rest.
const FILE_PREFETCH_BYTES: u64 = 8 << 20;

/// Lets the system prefetch a file from a position on.
pub fn prefetch_file(path: &Path, from: u64) {
    prefetch_part(path, from, FILE_PREFETCH_BYTES);
}

/// Lets the system prefetch a part of a file. It is only a hint: errors are reported when the file is read.
fn prefetch_part(path: &Path, from: u64, bytes: u64) {
    if let Ok(file) = open_log_file(path) {
        fadvise(&file, from, NonZeroU64::new(bytes), Advice::WillNeed).ok();
    }
}

/// Returns the working directory, if the agent stores it next to the log.
#[must_use]
pub fn working_directory(logs: &AgentLogs, path: &Path) -> Option<String> {
    (logs.root)(&file::DiskOnlyHost, path)
}

/// Puts a record on one line. Line breaks in JSON are only whitespace between values.
fn to_one_line(record: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\n', b'\r', record).is_none() {
        return Cow::Borrowed(record);
    }
    let mut record = record.to_vec();
    record.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    Cow::Owned(record)
}

#[cfg(test)]
mod tests;
