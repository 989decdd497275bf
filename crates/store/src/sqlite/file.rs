//! The log file: created atomically, distinguished from foreign files, migrated to the latest format, opened.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, config::DbConfig};

use super::{checkpoint::MAX_WAL_PAGES, reserve::DiskReserve, store::StoreOptions};
use crate::StoreError;

/// The migrations from each format to the next. The first one creates the schema.
const FORMAT_MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("format2.sql"),
    include_str!("format3.sql"),
    include_str!("format4.sql"),
];

/// The first format with checksums.
const CHECKSUMS_SINCE: i64 = 4;

/// The format that this version writes.
const LATEST_FORMAT: i64 = FORMAT_MIGRATIONS.len() as i64;

/// `swbd`: distinguishes our files from those of other programs.
const APPLICATION_ID: i64 = 0x7377_6264;

/// The name of the log file in its directory.
const LOG_FILE_NAME: &str = "log.db";

/// The size of a page, SQLite's own default.
const PAGE_BYTES: u64 = 4096;

/// The page cache of a reader; negative means kibibytes. Pages are read once and in order, and the system caches them
/// too, so SQLite's default of 2 MiB per reader would be wasted.
const READER_CACHE_KIB: i64 = -512;

/// An opened log file.
pub(super) struct LogDatabase {
    pub path: PathBuf,
    pub writer: Result<Connection, ReadOnlyReason>,
}

/// The reason why a log is read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadOnlyReason {
    /// It was created by a later version.
    Newer(i64),
    /// There is no space for the files that SQLite needs to write.
    DiskFull,
}

impl From<ReadOnlyReason> for StoreError {
    fn from(why: ReadOnlyReason) -> Self {
        match why {
            ReadOnlyReason::Newer(found) => newer_format_error(found),
            ReadOnlyReason::DiskFull => Self::Full,
        }
    }
}

/// Opens the log in a directory. On a full disk this uses the reserve; without a reserve the log is read-only.
pub(super) fn open_log(
    folder: &Path,
    options: &StoreOptions,
    reserve: &DiskReserve,
) -> Result<LogDatabase, StoreError> {
    let opened = match open_writable(folder, options) {
        Err(StoreError::Full) if reserve.release() => open_writable(folder, options),
        opened => opened,
    };
    let path = folder.join(LOG_FILE_NAME);
    match opened {
        Err(StoreError::Full) if open_full_disk_reader(&path).is_ok() => {
            reserve.mark_low();
            Ok(LogDatabase { path, writer: Err(ReadOnlyReason::DiskFull) })
        }
        opened => opened,
    }
}

fn open_writable(folder: &Path, options: &StoreOptions) -> Result<LogDatabase, StoreError> {
    create_private_dir(folder)?;
    // One process at a time, so that no other process sees an incomplete log.
    let lock = create_private_file(&folder.join("open.lock"))?;
    lock.lock().map_err(path_error(folder))?;
    let path = folder.join(LOG_FILE_NAME);
    if !path.try_exists().map_err(path_error(&path))? {
        create_log(&path)?;
    }
    let format = recognize_log(&path)?;
    if format > LATEST_FORMAT {
        return Ok(LogDatabase { path, writer: Err(ReadOnlyReason::Newer(format)) });
    }
    let mut writer = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    set_busy_handler(&mut writer)?;
    configure_writer(&writer, options)?;
    migrate_format(&writer)?;
    Ok(LogDatabase { path, writer: Ok(writer) })
}

/// Opens a reader on a full disk. SQLite needs a shared memory file for the write-ahead log; if there is no space for
/// it and no write-ahead log, only the main file is read.
pub(super) fn open_full_disk_reader(path: &Path) -> Result<Connection, StoreError> {
    let usual = open_reader(path).and_then(|connection| read_format(&connection).map(|_| connection));
    let has_wal = fs::metadata(path.with_extension("db-wal")).is_ok_and(|wal| wal.len() > 0);
    match usual {
        Err(StoreError::Full) if !has_wal => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            let connection = Connection::open_with_flags(immutable_uri(path), flags)?;
            read_format(&connection)?;
            Ok(connection)
        }
        usual => usual,
    }
}

/// Returns the URI to open a file as immutable.
fn immutable_uri(path: &Path) -> String {
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{escaped}?immutable=1")
}

/// Returns whether events have checksums.
pub(super) fn has_checksums(connection: &Connection) -> Result<bool, StoreError> {
    Ok(read_format(connection)? >= CHECKSUMS_SINCE)
}

/// Returns the error for a log that this version cannot write.
fn newer_format_error(found: i64) -> StoreError {
    StoreError::Newer { found, known: LATEST_FORMAT }
}

/// Opens a read-only connection.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let connection = open_plain_reader(path)?;
    connection.pragma_update(None, "cache_size", READER_CACHE_KIB)?;
    Ok(connection)
}

/// Opens a read-only connection to a file that may not be a log.
fn open_plain_reader(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    set_busy_handler(&mut connection)?;
    Ok(connection)
}

/// Opens a connection for checkpoints of the write-ahead log.
pub(super) fn open_checkpoint_connection(path: &Path) -> Result<Connection, StoreError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Checkpoints and truncates the write-ahead log, so that the file shrinks. Writers wait during the TRUNCATE
/// checkpoint, so a PASSIVE one moves most pages first. If readers are always in the way, the rest is left for later.
pub(super) fn release_free_space(path: &Path) -> Result<(), StoreError> {
    let connection = open_checkpoint_connection(path)?;
    for how in ["PASSIVE", "TRUNCATE"] {
        let question = format!("PRAGMA wal_checkpoint({how})");
        for _ in 0..500 {
            let is_busy: bool = connection.query_row(&question, [], |row| row.get(0))?;
            if !is_busy {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// Returns the number of bytes by which a checkpoint extends the file.
pub(super) fn wal_growth(connection: &Connection) -> Result<u64, StoreError> {
    let pages: u64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    let length = connection.path().and_then(|path| fs::metadata(path).ok()).map_or(0, |found| found.len());
    Ok((pages * PAGE_BYTES).saturating_sub(length))
}

/// Prevents the checkpoint on close if there is no space for it.
pub(super) fn prepare_to_close(connection: &Connection, reserve: &DiskReserve) {
    if wal_growth(connection).is_ok_and(|growth| !reserve.has_space_for(growth)) {
        drop(connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true));
    }
}

/// Begins a write transaction. Another process may have changed the format since the log was opened.
pub(super) fn begin_write(connection: &Connection) -> Result<Transaction<'_>, StoreError> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let found = read_format(&transaction)?;
    if found == LATEST_FORMAT { Ok(transaction) } else { Err(newer_format_error(found)) }
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    Ok(Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?)
}

/// Sets a busy handler that polls often at first, since most writes take less than a millisecond. SQLite's own handler
/// sleeps too long: of two busy processes, one would starve.
fn set_busy_handler(connection: &mut Connection) -> Result<(), StoreError> {
    let wait = |tries: i32| {
        thread::sleep(if tries < 500 { Duration::from_micros(200) } else { Duration::from_millis(2) });
        tries < 5_000
    };
    Ok(connection.busy_handler(Some(wait))?)
}

fn configure_writer(connection: &Connection, options: &StoreOptions) -> Result<(), StoreError> {
    // Otherwise SQLite replans a query for every bound value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // The checkpointer decides when to checkpoint.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", if options.durable { "FULL" } else { "NORMAL" })?;
    connection.pragma_update(None, "journal_size_limit", u64::from(MAX_WAL_PAGES.unsigned_abs()) * PAGE_BYTES)?;
    if let Some(bytes) = options.max_bytes {
        connection.pragma_update(None, "max_page_count", bytes.div_ceil(PAGE_BYTES))?;
    }
    Ok(())
}

/// Returns the format if the file is a log. Opens it read-only, so that a foreign file stays unchanged.
fn recognize_log(path: &Path) -> Result<i64, StoreError> {
    let foreign = || StoreError::Foreign(path.to_owned());
    if !path.is_file() {
        return Err(foreign());
    }
    let connection = open_plain_reader(path)?;
    match connection.pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0)) {
        Ok(APPLICATION_ID) => read_format(&connection),
        Ok(_) => Err(foreign()),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => Err(foreign()),
        Err(error) => Err(error.into()),
    }
}

fn read_format(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))?)
}

/// Creates an empty log next to its path and renames it, so that a crash leaves no incomplete log.
fn create_log(path: &Path) -> Result<(), StoreError> {
    let beside = path.with_extension("new");
    for old in [beside.clone(), path.with_extension("new-wal"), path.with_extension("new-shm")] {
        fs::remove_file(&old).or_else(|error| ignore_not_found(error).map_err(path_error(&old)))?;
    }
    drop(create_private_file(&beside)?);
    let connection = connect(&beside, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Both must be set before the first page is written.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    migrate_format(&connection)?;
    connection.close().map_err(|(_, error)| error)?;
    fs::rename(&beside, path).map_err(path_error(path))
}

/// Migrates a log to the latest format in one transaction.
fn migrate_format(connection: &Connection) -> Result<(), StoreError> {
    if read_format(connection)? == LATEST_FORMAT {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let steps = FORMAT_MIGRATIONS.iter().skip(usize::try_from(read_format(&transaction)?).unwrap_or_default());
    steps.into_iter().try_for_each(|step| transaction.execute_batch(step))?;
    transaction.pragma_update(None, "user_version", LATEST_FORMAT)?;
    Ok(transaction.commit()?)
}

/// Creates a directory that only this user can access, unless it exists.
pub(super) fn create_private_dir(folder: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder).map_err(path_error(folder))
}

/// Opens a file that only this user can access, creating it if necessary.
pub(super) fn create_private_file(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create(true).truncate(false).write(true).open(path).map_err(path_error(path))
}

/// Adds a path to an I/O error.
pub(super) fn path_error(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        _ => StoreError::Folder(path, error),
    }
}

/// Ignores a missing file.
fn ignore_not_found(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::{DiskReserve, StoreOptions, open_log};

    #[test]
    fn durable_means_that_every_commit_is_synced() {
        let folder = tempfile::tempdir().unwrap();
        for (durable, expected) in [(false, 1), (true, 2), (false, 1)] {
            let opened = open_log(
                folder.path(),
                &StoreOptions { durable, ..StoreOptions::default() },
                &DiskReserve::new(folder.path()),
            )
            .unwrap();
            let writer = opened.writer.unwrap();
            // 1 is NORMAL, 2 is FULL.
            let level: i64 = writer.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
            assert_eq!(level, expected, "durable: {durable}");
        }
    }
}
