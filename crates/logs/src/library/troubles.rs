//! What could not be read.

use std::{path::PathBuf, sync::PoisonError};

use rusqlite::Connection;

use super::Library;
use crate::{
    LogsError, Trouble,
    scan::{Blocked, UNKNOWN_KIND},
};

impl Library {
    /// What could not be read, the worst first.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn troubles(&self) -> Result<Vec<Trouble>, LogsError> {
        let index = self.index();
        let mut troubles = self.blocked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        troubles.extend(stored(&index.connection).map_err(|error| index.error(error))?);
        Ok(troubles)
    }
}

fn stored(connection: &Connection) -> rusqlite::Result<Vec<Trouble>> {
    let mut troubles = connection.prepare_cached(
        "SELECT agent, path, place, what, times FROM trouble JOIN unit ON unit.id = trouble.unit
         UNION ALL
         SELECT agent, path, bytes - torn, 'the last record is not whole', 1 FROM unit WHERE torn > 0 AND NOT gone
         ORDER BY 5 DESC, 2",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Trouble {
            agent: row.get(0)?,
            path: PathBuf::from(row.get::<_, String>(1)?),
            offset: row.get(2)?,
            what: row.get(3)?,
            times: row.get(4)?,
        })
    };
    troubles.query_map([], read)?.collect()
}

/// How many there are, and how many of them are records of a kind that is new to us: those were read.
pub fn count(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let sql = "SELECT coalesce(sum(times), 0) + (SELECT count(*) FROM unit WHERE torn > 0 AND NOT gone),
               coalesce(sum(times) FILTER (WHERE instr(what, ?1) = 1), 0) FROM trouble";
    connection.query_row(sql, [UNKNOWN_KIND], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// A folder that could not be looked through.
pub fn blocked(blocked: Blocked) -> Trouble {
    let what = format!("cannot be read: {}", blocked.error);
    Trouble { agent: blocked.agent.to_owned(), path: blocked.path, offset: None, what, times: 1 }
}
