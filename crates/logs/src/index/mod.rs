//! The index: a SQLite database in the data directory. Its content for a log depends on that log alone, so logs can be
//! read in any order, by several threads and processes; replies that occur in several logs are deduplicated at query
//! time.

pub mod block;
mod filter;
pub mod reply_rows;
pub mod segment;
pub mod words;
pub mod write;

use std::collections::HashMap;
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, Transaction, params};
use switchboard_agents::{ScanDepth, SessionFacts};

use crate::LogsError;

/// Older formats are migrated.
const INDEX_FORMAT_VERSION: i64 = 6;

/// Migrations to each format: SQL statements, and code for everything SQL cannot do.
const MIGRATIONS: [(&str, MigrationStep); 6] = [
    (include_str!("schema.sql"), |_| Ok(())),
    (include_str!("format2.sql"), |_| Ok(())),
    // Its filters are built by the migration to format 5.
    (include_str!("format3.sql"), |_| Ok(())),
    (include_str!("format4.sql"), reply_rows::migrate_keys_first),
    (include_str!("format5.sql"), segment::rebuild_filters),
    (include_str!("format6.sql"), |_| Ok(())),
];

type MigrationStep = fn(&Connection) -> rusqlite::Result<()>;

/// How long to wait for another process that is writing.
const INDEX_BUSY_TIMEOUT: Duration = Duration::from_secs(20);

/// The interval of attempts to switch a new file to a write-ahead log.
const WAL_RETRY_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexVersion {
    others: i64,
    ours: u64,
}

/// An open index. A connection belongs to one thread.
pub struct LogIndex {
    pub connection: Connection,
    pub path: PathBuf,
}

impl LogIndex {
    /// File name in the data directory.
    pub const FILE_NAME: &str = "logs.db";

    pub fn open(data: &Path) -> Result<Self, LogsError> {
        let path = data.join(Self::FILE_NAME);
        let unreadable = |error| LogsError::Unreadable { path: data.to_owned(), error };
        create_private_file(data, &path).map_err(unreadable)?;
        let at = path.clone();
        open_or_migrate(&path).map_err(|error| LogsError::Index { path: at, error }).and_then(|(connection, format)| {
            match format {
                INDEX_FORMAT_VERSION => Ok(Self { connection, path }),
                _ => Err(LogsError::Later { path }),
            }
        })
    }

    /// Moves a damaged index aside so that a new one can be created. Returns the new path.
    pub fn set_aside_damaged(data: &Path) -> Result<Option<PathBuf>, LogsError> {
        let path = data.join(Self::FILE_NAME);
        if !path.exists() {
            return Ok(None);
        }
        match Self::find_damage(data) {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(None),
            Err(error) => return Err(LogsError::Index { path, error }),
        }
        let unreadable = |error| LogsError::Unreadable { path: path.clone(), error };
        let aside =
            (1..).map(|number| data.join(format!("{}.damaged-{number}", Self::FILE_NAME))).find(|path| !path.exists());
        let aside = aside.unwrap_or_else(|| path.with_extension("damaged"));
        std::fs::rename(&path, &aside).map_err(unreadable)?;
        // The WAL and shared-memory files do not fit another database.
        for end in ["-wal", "-shm"] {
            drop(std::fs::remove_file(data.join(format!("{}{end}", Self::FILE_NAME))));
        }
        Ok(Some(aside))
    }

    /// Returns the problem with the index file in a data directory, or `None` if it is intact.
    ///
    /// # Errors
    /// If it cannot be read for another reason.
    pub fn find_damage(data: &Path) -> rusqlite::Result<Option<String>> {
        match connect_index(&data.join(Self::FILE_NAME)).and_then(|connection| quick_check(&connection)) {
            Err(error) if is_damaged(&error) => Ok(Some(error.to_string())),
            found => found,
        }
    }

    /// Opens another connection to the same index.
    pub fn reopen(&self) -> Result<Self, LogsError> {
        Self::open_existing(&self.path)
    }

    /// Opens a connection to an existing index.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open_existing(path: &Path) -> Result<Self, LogsError> {
        let path = path.to_owned();
        match connect_index(&path) {
            Ok(connection) => Ok(Self { connection, path }),
            Err(error) => Err(LogsError::Index { path, error }),
        }
    }

    /// Returns a value that changes with every write, through any connection.
    pub fn current_version(&self) -> rusqlite::Result<IndexVersion> {
        let others = self.connection.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        Ok(IndexVersion { others, ours: self.connection.total_changes() })
    }

    /// Starts a read transaction: while it is held, this connection sees a consistent snapshot.
    pub fn begin_snapshot(&self) -> Result<Transaction<'_>, LogsError> {
        self.connection.unchecked_transaction().map_err(|error| self.wrap_error(error))
    }

    pub fn wrap_error(&self, error: rusqlite::Error) -> LogsError {
        LogsError::Index { path: self.path.clone(), error }
    }
}

/// Returns whether the file is not a database or is corrupt.
pub fn is_damaged(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

/// Runs SQLite's quick check over the whole file. Returns the first problem, or `None`.
pub fn quick_check(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok(Some(found).filter(|found| found != "ok"))
}

/// Creates the file, and the directory if necessary, readable only by this user: the index contains all conversations.
fn create_private_file(data: &Path, path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(data)?;
    match OpenOptions::new().create(true).append(true).mode(0o600).open(path) {
        Ok(file) if file.metadata()?.mode() & 0o077 != 0 => file.set_permissions(Permissions::from_mode(0o600)),
        Ok(_) => Ok(()),
        // A read-only index is reported when something is written.
        Err(_) => Ok(()),
    }
}

fn connect_index(path: &Path) -> rusqlite::Result<Connection> {
    let write = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, write)?;
    connection.busy_timeout(INDEX_BUSY_TIMEOUT)?;
    // Otherwise queries are replanned for each bound value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // Queries read a small part of a large file, so it is memory-mapped. The file is only truncated where no reader can
    // still be. Frequent checkpoints move the WAL into the file during a scan and leave little for the end.
    connection.execute_batch(
        "PRAGMA page_size=32768; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY;
         PRAGMA wal_autocheckpoint=512; PRAGMA journal_size_limit=67108864; PRAGMA mmap_size=1073741824;",
    )?;
    Ok(connection)
}

/// Opens the index, migrating it if necessary. Returns its format.
fn open_or_migrate(path: &Path) -> rusqlite::Result<(Connection, i64)> {
    let mut connection = connect_index(path)?;
    let format = |connection: &Connection| connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    let found = format(&connection)?;
    if found >= INDEX_FORMAT_VERSION {
        return Ok((connection, found));
    }
    if found == 0 {
        enable_wal(&connection)?;
    }
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have created it in the meantime.
    let found = format(&transaction)?;
    for (statements, step) in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or_default()) {
        transaction.execute_batch(statements)?;
        step(&transaction)?;
        transaction.pragma_update(None, "user_version", INDEX_FORMAT_VERSION)?;
    }
    transaction.commit()?;
    Ok((connection, found.max(INDEX_FORMAT_VERSION)))
}

/// Switches a new file to a write-ahead log. SQLite doesn't wait if another process switches at the same time, because both
/// hold a lock that the other one needs.
fn enable_wal(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + INDEX_BUSY_TIMEOUT;
    loop {
        match connection.execute_batch("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;") {
            Err(error) if is_busy(&error) && Instant::now() < deadline => thread::sleep(WAL_RETRY_INTERVAL),
            enabled => return enabled,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

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
