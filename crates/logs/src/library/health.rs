//! State of the index: its location, size and integrity, and the content that cannot be rebuilt.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::LogLibrary;
use crate::{
    LogReadError, LogsError,
    index::{LogIndex, block::TextBlock, is_damaged, quick_check},
    scan::{UNKNOWN_KIND_MESSAGE, UnreadablePath},
};

#[derive(Clone, Debug)]
pub struct IndexHealth {
    pub path: PathBuf,
    /// Size on disk, including the WAL.
    pub bytes: u64,
    /// The number of existing logs, if known.
    pub logs: Option<u64>,
    /// The number of deleted logs whose text is kept, if known.
    pub gone: Option<u64>,
    /// `None` if the file is intact.
    pub problem: Option<String>,
}

/// Agent and session ID.
type AgentSessionName = (String, String);

impl LogLibrary {
    /// Checks the whole index, which takes long if it is large.
    ///
    /// # Errors
    /// If it cannot be queried.
    pub fn check_health(&self) -> Result<IndexHealth, LogsError> {
        let index = self.index.lock();
        let (logs, gone) = count_units(&index.connection).map_err(|error| index.wrap_error(error))?;
        let problem = quick_check(&index.connection).and_then(|problem| match problem {
            None => find_damaged_blocks(&index.connection),
            found => Ok(found),
        });
        let problem = problem.unwrap_or_else(|error| Some(error.to_string()));
        Ok(IndexHealth {
            bytes: database_bytes(&index.path),
            path: index.path.clone(),
            logs: Some(logs),
            gone: Some(gone),
            problem,
        })
    }

    /// Describes an index that cannot be used because of this error. Returns `None` if it is not damaged.
    #[must_use]
    pub fn describe_damage(data: &Path, error: &LogsError) -> Option<IndexHealth> {
        let problem = match error {
            LogsError::Index { error, .. } if is_damaged(error) => error.to_string(),
            LogsError::Damaged(what) => (*what).to_owned(),
            _ => LogIndex::find_damage(data).ok()??,
        };
        let path = data.join(LogIndex::FILE_NAME);
        Some(IndexHealth { bytes: database_bytes(&path), path, logs: None, gone: None, problem: Some(problem) })
    }

    /// Returns the sessions with copies of raw records.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn sessions_with_copies(&self) -> Result<HashSet<AgentSessionName>, LogsError> {
        let index = self.index.lock();
        query_copied_sessions(&index.connection).map_err(|error| index.wrap_error(error))
    }

    /// Moves a damaged index aside, so that opening creates a new one. Returns the new path, or `None` if the index is
    /// intact. The content of deleted logs exists only in the old file.
    ///
    /// # Errors
    /// If it cannot be read for another reason, or cannot be moved.
    pub fn set_aside_damaged(data: &Path) -> Result<Option<PathBuf>, LogsError> {
        LogIndex::set_aside_damaged(data)
    }

    /// Schedules all existing logs to be read again at the next refresh. The content of deleted logs stays.
    ///
    /// # Errors
    /// If the index cannot be written.
    pub fn schedule_rebuild(&self) -> Result<(), LogsError> {
        let index = self.index.lock();
        index.mark_stale().map_err(|error| index.wrap_error(error))
    }
}

/// SQLite checks its pages, but not the encoded content.
fn find_damaged_blocks(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let mut rows = connection.prepare_cached("SELECT passages FROM text")?;
    let mut rows = rows.query([])?;
    let (mut all, mut damaged) = (0_u64, 0_u64);
    while let Some(row) = rows.next()? {
        all += 1;
        damaged += u64::from(row.get_ref(0)?.as_blob().ok().and_then(TextBlock::decode).is_none());
    }
    Ok((damaged > 0).then(|| format!("{damaged} of {all} blocks of text cannot be read")))
}

/// Returns the size of a database, including the WAL.
fn database_bytes(path: &Path) -> u64 {
    let bytes = ["", "-wal"].map(|end| {
        let mut path = path.as_os_str().to_owned();
        path.push(end);
        std::fs::metadata(path).map_or(0, |file| file.len())
    });
    bytes.iter().sum()
}

fn count_units(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let sql = "SELECT count(*) FILTER (WHERE NOT gone), count(*) FILTER (WHERE gone) FROM unit";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

fn query_copied_sessions(connection: &Connection) -> rusqlite::Result<HashSet<AgentSessionName>> {
    let sql = "SELECT DISTINCT agent, coalesce(parent, session) FROM unit WHERE id IN (SELECT unit FROM raw)";
    let mut rows = connection.prepare_cached(sql)?;
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

impl LogLibrary {
    /// Returns read errors, most frequent first.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn read_errors(&self) -> Result<Vec<LogReadError>, LogsError> {
        let index = self.index.lock();
        let mut troubles = self.blocked.lock().clone();
        troubles.extend(query_read_errors(&index.connection).map_err(|error| index.wrap_error(error))?);
        Ok(troubles)
    }
}

fn query_read_errors(connection: &Connection) -> rusqlite::Result<Vec<LogReadError>> {
    let mut troubles = connection.prepare_cached(
        "SELECT agent, path, place, what, times FROM trouble JOIN unit ON unit.id = trouble.unit
         UNION ALL
         SELECT agent, path, bytes - torn, 'the last record is not whole', 1 FROM unit WHERE torn > 0 AND NOT gone
         ORDER BY 5 DESC, 2",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(LogReadError {
            agent: row.get(0)?,
            path: PathBuf::from(row.get::<_, String>(1)?),
            offset: row.get(2)?,
            what: row.get(3)?,
            times: row.get(4)?,
        })
    };
    troubles.query_map([], read)?.collect()
}

/// Returns the number of read errors, and how many of them are records of an unknown kind, which were read
/// nevertheless.
pub fn count_read_errors(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let sql = "SELECT coalesce(sum(times), 0) + (SELECT count(*) FROM unit WHERE torn > 0 AND NOT gone),
               coalesce(sum(times) FILTER (WHERE instr(what, ?1) = 1), 0) FROM trouble";
    connection.query_row(sql, [UNKNOWN_KIND_MESSAGE], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Describes a path that could not be scanned.
pub fn unreadable_path_error(blocked: UnreadablePath) -> LogReadError {
    let what = format!("cannot be read: {}", blocked.error);
    LogReadError { agent: blocked.agent.to_owned(), path: blocked.path, offset: None, what, times: 1 }
}
