//! How the index is: where it lies, how large it is, whether it is whole, and what of it cannot be made again.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::Library;
use crate::{
    LogsError,
    index::{Index, block::Block, checked, is_damaged},
};

/// How the index is.
#[derive(Clone, Debug)]
pub struct Health {
    /// The file.
    pub path: PathBuf,
    /// How large it is on disk, with what is not yet written into it.
    pub bytes: u64,
    /// Logs that are there, if that can be told.
    pub logs: Option<u64>,
    /// Logs that are gone, of which the text is kept, if that can be told.
    pub gone: Option<u64>,
    /// What is wrong with the file; nothing if it is whole.
    pub problem: Option<String>,
}

/// A session of an agent, by both their names.
pub type Named = (String, String);

impl Library {
    /// How the index is. Looks at all of it, which takes long if it is large.
    ///
    /// # Errors
    /// If it cannot even be asked.
    pub fn health(&self) -> Result<Health, LogsError> {
        let index = self.index();
        let (logs, gone) = counts(&index.connection).map_err(|error| index.error(error))?;
        let problem = checked(&index.connection).and_then(|problem| match problem {
            None => damaged_text(&index.connection),
            found => Ok(found),
        });
        let problem = problem.unwrap_or_else(|error| Some(error.to_string()));
        Ok(Health { bytes: size(&index.path), path: index.path.clone(), logs: Some(logs), gone: Some(gone), problem })
    }

    /// How the index of a data folder is that cannot be used because of this error. Nothing if it is not damaged.
    #[must_use]
    pub fn damage(data: &Path, error: &LogsError) -> Option<Health> {
        let problem = match error {
            LogsError::Index { error, .. } if is_damaged(error) => error.to_string(),
            LogsError::Damaged(what) => (*what).to_owned(),
            _ => Index::problem(data).ok()??,
        };
        let path = data.join(Index::FILE);
        Some(Health { bytes: size(&path), path, logs: None, gone: None, problem: Some(problem) })
    }

    /// The sessions of which there are copies of raw records.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn copied(&self) -> Result<HashSet<Named>, LogsError> {
        let index = self.index();
        copied(&index.connection).map_err(|error| index.error(error))
    }

    /// Puts a damaged index aside, so that opening makes a new one. Says where it lies now; nothing if it is whole. What
    /// it had of logs that are gone is only there.
    ///
    /// # Errors
    /// If it cannot be read for another reason, or not be moved.
    pub fn put_aside(data: &Path) -> Result<Option<PathBuf>, LogsError> {
        Index::put_aside(data)
    }

    /// Has all logs that are there read anew at the next refresh. What is left of those that are gone stays.
    ///
    /// # Errors
    /// If the index cannot be written.
    pub fn rebuild(&self) -> Result<(), LogsError> {
        let index = self.index();
        index.read_again().map_err(|error| index.error(error))
    }
}

/// SQLite sees that its pages belong together, and not what is in them.
fn damaged_text(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let mut rows = connection.prepare_cached("SELECT passages FROM text")?;
    let mut rows = rows.query([])?;
    let (mut all, mut damaged) = (0_u64, 0_u64);
    while let Some(row) = rows.next()? {
        all += 1;
        damaged += u64::from(row.get_ref(0)?.as_blob().ok().and_then(Block::read).is_none());
    }
    Ok((damaged > 0).then(|| format!("{damaged} of {all} blocks of text cannot be read")))
}

/// How large a database is, with what is not yet written into it.
fn size(path: &Path) -> u64 {
    let bytes = ["", "-wal"].map(|end| {
        let mut path = path.as_os_str().to_owned();
        path.push(end);
        std::fs::metadata(path).map_or(0, |file| file.len())
    });
    bytes.iter().sum()
}

fn counts(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let sql = "SELECT count(*) FILTER (WHERE NOT gone), count(*) FILTER (WHERE gone) FROM unit";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

fn copied(connection: &Connection) -> rusqlite::Result<HashSet<Named>> {
    let sql = "SELECT DISTINCT agent, coalesce(parent, session) FROM unit WHERE id IN (SELECT unit FROM raw)";
    let mut rows = connection.prepare_cached(sql)?;
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
