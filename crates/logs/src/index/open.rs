//! Opens and creates the index.

use std::{
    fs::{DirBuilder, OpenOptions, Permissions},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, Transaction, config::DbConfig};

use super::{reply_rows, segment};
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
        connection.execute_batch("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;")?;
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
