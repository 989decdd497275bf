//! Opening the index, and making it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use crate::LogsError;

/// The name of the file in the data folder.
const FILE: &str = "logs.db";

/// The format of the index. One that is older is made anew from the logs, unless text of logs that are gone is in it.
const FORMAT: i64 = 1;

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(20);

/// The index, open. A connection is for one thread.
pub struct Index {
    /// The connection.
    pub connection: Connection,
    /// The file.
    pub path: PathBuf,
}

impl Index {
    /// Opens it, and makes it if there is none.
    pub fn open(data: &Path) -> Result<Self, LogsError> {
        let path = data.join(FILE);
        let unreadable = |error| LogsError::Unreadable { path: data.to_owned(), error };
        std::fs::create_dir_all(data).map_err(unreadable)?;
        let at = path.clone();
        make(&path).map_err(|error| LogsError::Index { path: at, error }).and_then(
            |(connection, format)| match format {
                FORMAT => Ok(Self { connection, path }),
                _ => Err(LogsError::Later { path }),
            },
        )
    }

    /// Another connection to the same index.
    pub fn again(&self) -> Result<Self, LogsError> {
        let connection = connect(&self.path).map_err(|error| self.error(error))?;
        Ok(Self { connection, path: self.path.clone() })
    }

    /// What went wrong, with the file's name.
    pub fn error(&self, error: rusqlite::Error) -> LogsError {
        LogsError::Index { path: self.path.clone(), error }
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let write = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, write)?;
    connection.busy_timeout(PATIENCE)?;
    // Filters are read where they lie: several fit on a page of this size.
    connection.execute_batch(
        "PRAGMA page_size=32768; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY;
         PRAGMA wal_autocheckpoint=2048; PRAGMA journal_size_limit=67108864;",
    )?;
    Ok(connection)
}

/// The index and its format.
fn make(path: &Path) -> rusqlite::Result<(Connection, i64)> {
    let mut connection = connect(path)?;
    let format = |connection: &Connection| connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    let found = format(&connection)?;
    if found != 0 {
        return Ok((connection, found));
    }
    connection.execute_batch("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;")?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Somebody else may have made it in the meantime.
    if format(&transaction)? == 0 {
        transaction.execute_batch(include_str!("schema.sql"))?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    }
    transaction.commit()?;
    Ok((connection, FORMAT))
}
