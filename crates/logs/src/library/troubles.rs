use std::path::PathBuf;

use rusqlite::Connection;

use super::LogLibrary;
use crate::{
    LogReadError, LogsError,
    scan::{UNKNOWN_KIND_MESSAGE, UnreadablePath},
};

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
