//! The sessions of databases as last listed. A database whose files are unchanged is not opened again.

use std::{collections::HashMap, path::Path};

use rusqlite::{Connection, params};

/// Session IDs, each with a version string that changes with the session.
pub type SessionVersions = Vec<(String, String)>;

/// The session lists of all databases.
#[derive(Default)]
pub struct DatabaseSessionLists {
    known: HashMap<String, (String, SessionVersions)>,
    new: Vec<String>,
}

impl DatabaseSessionLists {
    /// Loads the lists from the index.
    pub fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare_cached("SELECT path, mark, sessions FROM list")?;
        let mut rows = statement.query([])?;
        let mut known = HashMap::new();
        while let Some(row) = rows.next()? {
            // Lists in the format of a later version are discarded and built again.
            if let Ok(sessions) = serde_json::from_str(row.get_ref(2)?.as_str()?) {
                known.insert(row.get(0)?, (row.get(1)?, sessions));
            }
        }
        Ok(Self { known, new: Vec::new() })
    }

    /// Returns the sessions of a database whose files have this mark.
    pub fn get(&self, path: &Path, mark: &str) -> Option<&SessionVersions> {
        self.known.get(&*path.to_string_lossy()).filter(|(then, _)| then == mark).map(|(_, sessions)| sessions)
    }

    /// Stores the sessions of a database. `mark` was taken before they were listed.
    pub fn insert(&mut self, path: &Path, mark: String, sessions: SessionVersions) {
        let path = path.to_string_lossy().into_owned();
        self.known.insert(path.clone(), (mark, sessions));
        self.new.push(path);
    }

    /// Writes the new lists.
    pub fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        for path in &self.new {
            let Some((mark, sessions)) = self.known.get(path) else { continue };
            let sessions = serde_json::to_string(sessions).unwrap_or_default();
            let mut statement = connection.prepare_cached("INSERT OR REPLACE INTO list VALUES (?1, ?2, ?3)")?;
            statement.execute(params![path, mark, sessions])?;
        }
        Ok(())
    }
}
