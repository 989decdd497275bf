//! Units: logs as the index knows them, each a file or one session of a database.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use switchboard_agents::{ScanDepth, SessionFacts};

/// A log as the index knows it.
#[derive(Clone, Debug)]
pub struct LogUnit {
    pub id: i64,
    /// Machine, agent and log, separated by line feeds.
    pub name: String,
    pub agent: String,
    /// The machine, unless it is this one.
    pub machine: Option<String>,
    /// Its current or last path.
    pub path: PathBuf,
    /// The session, if the log is part of a database.
    pub part: Option<String>,
    pub session: String,
    /// The parent session, if it is a subagent's log.
    pub parent: Option<String>,
    /// Archived by the agent.
    pub archived: bool,
    /// The file no longer exists.
    pub gone: bool,
    pub bytes: u64,
    /// The inode number.
    pub inode: u64,
    /// Fingerprint of the bytes read so far.
    pub mark: Option<Vec<u8>>,
    pub facts: SessionFacts,
    /// Incremented by every change.
    pub version: i64,
    /// Read position for tokens.
    pub tokens: ReadPosition,
    /// Read position for text.
    pub text: ReadPosition,
    /// The time of the last record, in microseconds.
    pub time: i64,
}

/// Shared, since several queries select from them.
pub type LogUnits = Vec<Arc<LogUnit>>;

/// Prefix of the names of Switchboard's own sessions; no path begins with it.
const OWN_LOG_PREFIX: &str = "session:";

#[derive(Clone, Debug, Default)]
pub struct ReadPosition {
    /// Everything before this offset was read.
    pub at: u64,
    /// State of the file when it was read to its end; `None` if it was not.
    pub seen: Option<String>,
}

impl LogUnit {
    /// Returns the unit name of a session in Switchboard's own log.
    pub fn own_unit_name(agent: &str, session: &str) -> String {
        format!("\n{agent}\n{OWN_LOG_PREFIX}{session}")
    }

    /// Returns whether it is a session in Switchboard's own log.
    pub fn is_own(&self) -> bool {
        self.name.rsplit('\n').next().is_some_and(|log| log.starts_with(OWN_LOG_PREFIX))
    }

    /// Returns how far the log was read.
    pub fn read_position(&self, depth: ScanDepth) -> &ReadPosition {
        match depth {
            ScanDepth::Tokens => &self.tokens,
            ScanDepth::All => &self.text,
        }
    }
}

const UNIT_COLUMNS: &str =
    "id, name, agent, machine, path, part, session, parent, archived, gone, bytes, inode, mark, facts,
    version, tokens_at, tokens_seen, text_at, text_seen, time";

fn read_unit(row: &Row<'_>) -> rusqlite::Result<LogUnit> {
    let facts = row.get_ref(13)?.as_str()?;
    Ok(LogUnit {
        id: row.get(0)?,
        name: row.get(1)?,
        agent: row.get(2)?,
        machine: row.get(3)?,
        path: PathBuf::from(row.get::<_, String>(4)?),
        part: row.get(5)?,
        session: row.get(6)?,
        parent: row.get(7)?,
        archived: row.get(8)?,
        gone: row.get(9)?,
        bytes: row.get(10)?,
        inode: row.get::<_, i64>(11)?.cast_unsigned(),
        mark: row.get(12)?,
        // Facts in the format of a later version are ignored.
        facts: serde_json::from_str(facts).unwrap_or_default(),
        version: row.get(14)?,
        tokens: ReadPosition { at: row.get(15)?, seen: row.get(16)? },
        text: ReadPosition { at: row.get(17)?, seen: row.get(18)? },
        time: row.get(19)?,
    })
}

/// Reads all units.
pub fn read_units(connection: &Connection) -> rusqlite::Result<LogUnits> {
    let mut statement = connection.prepare_cached(&format!("SELECT {UNIT_COLUMNS} FROM unit ORDER BY id"))?;
    statement.query_map([], |row| read_unit(row).map(Arc::new))?.collect()
}

/// Returns the scanner state after the last record read.
pub fn read_scan_state(connection: &Connection, id: i64, depth: ScanDepth) -> rusqlite::Result<Option<Vec<u8>>> {
    let column = if depth == ScanDepth::Tokens { "tokens_state" } else { "text_state" };
    let mut statement = connection.prepare_cached(&format!("SELECT {column} FROM unit WHERE id = ?1"))?;
    statement.query_row(params![id], |row| row.get(0)).optional().map(Option::flatten)
}

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
