//! What could not be read.

use std::{path::PathBuf, sync::PoisonError};

use rusqlite::Connection;

use super::Library;
use crate::{LogsError, Trouble, scan::Blocked};

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

/// How many there are.
pub fn count(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT (SELECT coalesce(sum(times), 0) FROM trouble) + (SELECT count(*) FROM unit WHERE torn > 0 AND NOT gone)";
    connection.query_row(sql, [], |row| row.get(0))
}

/// A folder that could not be looked through.
pub fn blocked(blocked: Blocked) -> Trouble {
    let what = format!("cannot be read: {}", blocked.error);
    Trouble { agent: blocked.agent.to_owned(), path: blocked.path, offset: None, what, times: 1 }
}
