//! Units: a log as the index knows it. One file, or one session of a database.

use std::{path::PathBuf, sync::Arc};

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use switchboard_agents::{Depth, Facts};

/// A log as the index knows it.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Its number.
    pub id: i64,
    /// Machine, agent and log.
    pub name: String,
    /// The agent.
    pub agent: String,
    /// The machine, if it is another one.
    pub machine: Option<String>,
    /// Where it lies, or lay.
    pub path: PathBuf,
    /// The session in a database.
    pub part: Option<String>,
    /// The session.
    pub session: String,
    /// The session that it is a part of.
    pub parent: Option<String>,
    /// The agent has put it away.
    pub archived: bool,
    /// It is not there any longer.
    pub gone: bool,
    /// How large it is.
    pub bytes: u64,
    /// What the file system calls it.
    pub inode: u64,
    /// What the bytes that were read began and ended with.
    pub mark: Option<Vec<u8>>,
    /// What is known about the session.
    pub facts: Facts,
    /// How often it was changed.
    pub version: i64,
    /// How far it was read for tokens.
    pub tokens: Reached,
    /// How far it was read for text.
    pub text: Reached,
    /// When the last record happened, in microseconds.
    pub time: i64,
}

/// Logs that the index knows, shared by those who ask for some of them.
pub type Units = Vec<Arc<Unit>>;

/// What the names of Switchboard's own sessions begin with: no path does.
const OWN: &str = "session:";

/// How far a log was read.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// Up to here.
    pub at: u64,
    /// What the file was when it was read to its end; nothing if it was not.
    pub seen: Option<String>,
}

impl Unit {
    /// What a session of Switchboard's own log is called here.
    pub fn own_name(agent: &str, session: &str) -> String {
        format!("\n{agent}\n{OWN}{session}")
    }

    /// It is a session of Switchboard's own log.
    pub fn is_own(&self) -> bool {
        self.name.rsplit('\n').next().is_some_and(|log| log.starts_with(OWN))
    }

    /// How far it was read.
    pub fn reached(&self, depth: Depth) -> &Reached {
        match depth {
            Depth::Tokens => &self.tokens,
            Depth::All => &self.text,
        }
    }
}

const COLUMNS: &str =
    "id, name, agent, machine, path, part, session, parent, archived, gone, bytes, inode, mark, facts,
    version, tokens_at, tokens_seen, text_at, text_seen, time";

fn read(row: &Row<'_>) -> rusqlite::Result<Unit> {
    let facts = row.get_ref(13)?.as_str()?;
    Ok(Unit {
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
        // What a later version wrote in another way is not known here.
        facts: serde_json::from_str(facts).unwrap_or_default(),
        version: row.get(14)?,
        tokens: Reached { at: row.get(15)?, seen: row.get(16)? },
        text: Reached { at: row.get(17)?, seen: row.get(18)? },
        time: row.get(19)?,
    })
}

/// All of them.
pub fn all(connection: &Connection) -> rusqlite::Result<Units> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM unit ORDER BY id"))?;
    statement.query_map([], |row| read(row).map(Arc::new))?.collect()
}

/// What to go on with behind the last record that was read.
pub fn state(connection: &Connection, id: i64, depth: Depth) -> rusqlite::Result<Option<Vec<u8>>> {
    let column = if depth == Depth::Tokens { "tokens_state" } else { "text_state" };
    let mut statement = connection.prepare_cached(&format!("SELECT {column} FROM unit WHERE id = ?1"))?;
    statement.query_row(params![id], |row| row.get(0)).optional().map(Option::flatten)
}
