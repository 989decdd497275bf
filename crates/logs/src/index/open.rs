//! Opening the index, and making it.

use std::{
    fs::{DirBuilder, OpenOptions, Permissions},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, Transaction, config::DbConfig};

use super::{shelf, spent};
use crate::LogsError;

/// The format of the index. One that is older is brought up to it.
const FORMAT: i64 = 5;

/// What makes each format of the one before: statements, and what statements cannot do.
const STEPS: [(&str, Step); 5] = [
    (include_str!("schema.sql"), |_| Ok(())),
    (include_str!("format2.sql"), |_| Ok(())),
    // The filters that it would take are made for the fifth.
    (include_str!("format3.sql"), |_| Ok(())),
    (include_str!("format4.sql"), spent::keys_first),
    (include_str!("format5.sql"), shelf::make_again),
];

type Step = fn(&Connection) -> rusqlite::Result<()>;

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A state of the index, as one connection sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    others: i64,
    ours: u64,
}

/// The index, open. A connection is for one thread.
pub struct Index {
    /// The connection.
    pub connection: Connection,
    /// The file.
    pub path: PathBuf,
}

impl Index {
    /// The name of the file in the data folder.
    pub const FILE: &str = "logs.db";

    /// Opens it, and makes it if there is none.
    pub fn open(data: &Path) -> Result<Self, LogsError> {
        let path = data.join(Self::FILE);
        let unreadable = |error| LogsError::Unreadable { path: data.to_owned(), error };
        private(data, &path).map_err(unreadable)?;
        let at = path.clone();
        make(&path).map_err(|error| LogsError::Index { path: at, error }).and_then(
            |(connection, format)| match format {
                FORMAT => Ok(Self { connection, path }),
                _ => Err(LogsError::Later { path }),
            },
        )
    }

    /// Puts an index aside that is none any longer, so that a new one can be made. Says where it lies now.
    pub fn put_aside(data: &Path) -> Result<Option<PathBuf>, LogsError> {
        let path = data.join(Self::FILE);
        if !path.exists() {
            return Ok(None);
        }
        match Self::problem(data) {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(None),
            Err(error) => return Err(LogsError::Index { path, error }),
        }
        let unreadable = |error| LogsError::Unreadable { path: path.clone(), error };
        let aside =
            (1..).map(|number| data.join(format!("{}.damaged-{number}", Self::FILE))).find(|path| !path.exists());
        let aside = aside.unwrap_or_else(|| path.with_extension("damaged"));
        std::fs::rename(&path, &aside).map_err(unreadable)?;
        // What SQLite had beside it is of no use to another file.
        for end in ["-wal", "-shm"] {
            drop(std::fs::remove_file(data.join(format!("{}{end}", Self::FILE))));
        }
        Ok(Some(aside))
    }

    /// What is wrong with the file of a data folder; nothing if it is whole.
    ///
    /// # Errors
    /// If it cannot be read for another reason.
    pub fn problem(data: &Path) -> rusqlite::Result<Option<String>> {
        match connect(&data.join(Self::FILE)).and_then(|connection| checked(&connection)) {
            Err(error) if is_damaged(&error) => Ok(Some(error.to_string())),
            found => found,
        }
    }

    /// Another connection to the same index.
    pub fn again(&self) -> Result<Self, LogsError> {
        Self::another(&self.path)
    }

    /// Another connection to an index that is open already.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn another(path: &Path) -> Result<Self, LogsError> {
        let path = path.to_owned();
        match connect(&path) {
            Ok(connection) => Ok(Self { connection, path }),
            Err(error) => Err(LogsError::Index { path, error }),
        }
    }

    /// What changes whenever somebody writes to it, through this connection or another.
    pub fn moment(&self) -> rusqlite::Result<Moment> {
        let others = self.connection.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        Ok(Moment { others, ours: self.connection.total_changes() })
    }

    /// As long as this is held, what is read through this connection is of one moment, whoever writes meanwhile.
    pub fn still(&self) -> Result<Transaction<'_>, LogsError> {
        self.connection.unchecked_transaction().map_err(|error| self.error(error))
    }

    /// What went wrong, with the file's name.
    pub fn error(&self, error: rusqlite::Error) -> LogsError {
        LogsError::Index { path: self.path.clone(), error }
    }
}

/// What is in the file is no index, or not all of one.
pub fn is_damaged(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

/// What is wrong with it; nothing if it is whole. Looks at all of it.
pub fn checked(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok(Some(found).filter(|found| found != "ok"))
}

/// The file, and the folder if there is none, for this user alone: all that was said lies there.
fn private(data: &Path, path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(data)?;
    match OpenOptions::new().create(true).append(true).mode(0o600).open(path) {
        Ok(file) if file.metadata()?.mode() & 0o077 != 0 => file.set_permissions(Permissions::from_mode(0o600)),
        Ok(_) => Ok(()),
        // Whoever may only read it is told so by what needs to write.
        Err(_) => Ok(()),
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let write = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, write)?;
    connection.busy_timeout(PATIENCE)?;
    // Or a query is planned anew for every value that is given to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A question reads little of much, so the file is mapped and not copied. A file is only cut off where no reader of it
    // can still be. What has been written moves into it while more is read, and little is left to move at the end.
    connection.execute_batch(
        "PRAGMA page_size=32768; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY;
         PRAGMA wal_autocheckpoint=512; PRAGMA journal_size_limit=67108864; PRAGMA mmap_size=1073741824;",
    )?;
    Ok(connection)
}

/// The index and its format.
fn make(path: &Path) -> rusqlite::Result<(Connection, i64)> {
    let mut connection = connect(path)?;
    let format = |connection: &Connection| connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    let found = format(&connection)?;
    if found >= FORMAT {
        return Ok((connection, found));
    }
    if found == 0 {
        connection.execute_batch("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;")?;
    }
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Somebody else may have made it in the meantime.
    let found = format(&transaction)?;
    for (statements, step) in STEPS.iter().skip(usize::try_from(found).unwrap_or_default()) {
        transaction.execute_batch(statements)?;
        step(&transaction)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    }
    transaction.commit()?;
    Ok((connection, found.max(FORMAT)))
}
