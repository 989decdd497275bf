//! The sessions of databases, as they were listed last. A database whose files are as they were is not opened again.

use std::{collections::HashMap, path::Path};

use rusqlite::{Connection, params};

/// Sessions with a text each that changes when anything in them does.
pub type List = Vec<(String, String)>;

/// The lists of all databases.
#[derive(Default)]
pub struct Lists {
    known: HashMap<String, (String, List)>,
    new: Vec<String>,
}

impl Lists {
    /// Those that the index has.
    pub fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare_cached("SELECT path, mark, sessions FROM list")?;
        let mut rows = statement.query([])?;
        let mut known = HashMap::new();
        while let Some(row) = rows.next()? {
            // What a later version wrote in another way is listed again.
            if let Ok(sessions) = serde_json::from_str(row.get_ref(2)?.as_str()?) {
                known.insert(row.get(0)?, (row.get(1)?, sessions));
            }
        }
        Ok(Self { known, new: Vec::new() })
    }

    /// The sessions of a database whose files are like this.
    pub fn of(&self, path: &Path, mark: &str) -> Option<&List> {
        self.known.get(&*path.to_string_lossy()).filter(|(then, _)| then == mark).map(|(_, sessions)| sessions)
    }

    /// The sessions of a database whose files were like this before they were listed.
    pub fn add(&mut self, path: &Path, mark: String, sessions: List) {
        let path = path.to_string_lossy().into_owned();
        self.known.insert(path.clone(), (mark, sessions));
        self.new.push(path);
    }

    /// Writes what is new.
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
