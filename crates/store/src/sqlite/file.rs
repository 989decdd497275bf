//! The file: made whole or not at all, told from files of others, brought to the latest format, opened.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, config::DbConfig};

use super::{checkpoint::BACKSTOP, reserve::DiskReserve, store::Options};
use crate::StoreError;

/// What brings the log from each format to the next. The first makes it from nothing.
const FORMATS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("format2.sql"),
    include_str!("format3.sql"),
    include_str!("format4.sql"),
];

/// The first format with checksums.
const CHECKSUMS_SINCE: i64 = 4;

/// The format that this version writes.
const FORMAT: i64 = FORMATS.len() as i64;

/// `swbd`: tells our files from those of other programs.
const APPLICATION: i64 = 0x7377_6264;

/// The log's name in its folder.
const NAME: &str = "log.db";

/// The size of a page, SQLite's own default.
const PAGE: u64 = 4096;

/// The page cache of a connection that reads; negative means kibibytes. Pages are read once and in order, and the
/// system caches them too, so SQLite's own 2 MiB would only be memory for each reader.
const READER_CACHE_KIB: i64 = -512;

/// A log, as it was found.
pub(super) struct Opened {
    pub path: PathBuf,
    pub writer: Result<Connection, Unwritable>,
}

/// Why a log is only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unwritable {
    /// A later version made it.
    Newer(i64),
    /// There is no space for what SQLite needs to write.
    DiskFull,
}

impl From<Unwritable> for StoreError {
    fn from(why: Unwritable) -> Self {
        match why {
            Unwritable::Newer(found) => newer(found),
            Unwritable::DiskFull => Self::Full,
        }
    }
}

/// Opens the log in a folder. On a full disk the reserve is used for that; without one the log is only read.
pub(super) fn open(folder: &Path, options: &Options, reserve: &DiskReserve) -> Result<Opened, StoreError> {
    let opened = match open_writable(folder, options) {
        Err(StoreError::Full) if reserve.release() => open_writable(folder, options),
        opened => opened,
    };
    let path = folder.join(NAME);
    match opened {
        Err(StoreError::Full) if reader_of_full_disk(&path).is_ok() => {
            reserve.mark_low();
            Ok(Opened { path, writer: Err(Unwritable::DiskFull) })
        }
        opened => opened,
    }
}

fn open_writable(folder: &Path, options: &Options) -> Result<Opened, StoreError> {
    make_folder(folder)?;
    // One process at a time: no other sees a log that is half made or half changed.
    let lock = create(&folder.join("open.lock"))?;
    lock.lock().map_err(at(folder))?;
    let path = folder.join(NAME);
    if !path.try_exists().map_err(at(&path))? {
        make(&path)?;
    }
    let format = recognise(&path)?;
    if format > FORMAT {
        return Ok(Opened { path, writer: Err(Unwritable::Newer(format)) });
    }
    let mut writer = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    patient(&mut writer)?;
    tune(&writer, options)?;
    migrate(&writer)?;
    Ok(Opened { path, writer: Ok(writer) })
}

/// A connection that reads a log on a full disk. SQLite needs a file for what the processes share about the write-ahead
/// log; where there is no space for it, and no write-ahead log either, the file alone is read.
pub(super) fn reader_of_full_disk(path: &Path) -> Result<Connection, StoreError> {
    let usual = reader(path).and_then(|connection| format_of(&connection).map(|_| connection));
    let has_wal = fs::metadata(path.with_extension("db-wal")).is_ok_and(|wal| wal.len() > 0);
    match usual {
        Err(StoreError::Full) if !has_wal => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            let connection = Connection::open_with_flags(immutable(path), flags)?;
            format_of(&connection)?;
            Ok(connection)
        }
        usual => usual,
    }
}

/// The URI of a file that is read as it is.
fn immutable(path: &Path) -> String {
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{escaped}?immutable=1")
}

/// Events have checksums.
pub(super) fn has_checksums(connection: &Connection) -> Result<bool, StoreError> {
    Ok(format_of(connection)? >= CHECKSUMS_SINCE)
}

/// The error of a log that this version cannot write.
pub(super) fn newer(found: i64) -> StoreError {
    StoreError::Newer { found, known: FORMAT }
}

/// A connection that reads.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    let connection = plain_reader(path)?;
    connection.pragma_update(None, "cache_size", READER_CACHE_KIB)?;
    Ok(connection)
}

/// The same for a file of which nothing is known yet.
fn plain_reader(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    patient(&mut connection)?;
    Ok(connection)
}

/// A connection that moves the write-ahead log into the file.
pub(super) fn checkpointer(path: &Path) -> Result<Connection, StoreError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Moves the write-ahead log into the file, so that the file becomes as small as it can be, and empties it. Who writes
/// has to wait for the second half of that, so most is moved in the first. If somebody is in the way all the time, it
/// is left for later.
pub(super) fn give_back(path: &Path) -> Result<(), StoreError> {
    let connection = checkpointer(path)?;
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

/// By how many bytes the file becomes longer when the write-ahead log is moved into it.
pub(super) fn wal_growth(connection: &Connection) -> Result<u64, StoreError> {
    let pages: u64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    let length = connection.path().and_then(|path| fs::metadata(path).ok()).map_or(0, |found| found.len());
    Ok((pages * PAGE).saturating_sub(length))
}

/// Leaves the write-ahead log as it is when the connection closes, if there is no space to move it.
pub(super) fn prepare_to_close(connection: &Connection, reserve: &DiskReserve) {
    if wal_growth(connection).is_ok_and(|growth| !reserve.has_space_for(growth)) {
        drop(connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true));
    }
}

/// Begins to write. Another process may have changed the format since the log was opened.
pub(super) fn begin(connection: &Connection) -> Result<Transaction<'_>, StoreError> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let found = format_of(&transaction)?;
    if found == FORMAT { Ok(transaction) } else { Err(newer(found)) }
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    Ok(Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?)
}

/// Waits for other processes: often at first, since most of them write for less than a millisecond. SQLite's own
/// patience sleeps too long, so that of two busy processes one would starve.
fn patient(connection: &mut Connection) -> Result<(), StoreError> {
    let wait = |tries: i32| {
        thread::sleep(if tries < 500 { Duration::from_micros(200) } else { Duration::from_millis(2) });
        tries < 5_000
    };
    Ok(connection.busy_handler(Some(wait))?)
}

fn tune(connection: &Connection, options: &Options) -> Result<(), StoreError> {
    // Or a query is planned anew for every value that is given to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // The checkpointer decides when the write-ahead log is moved.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", if options.durable { "FULL" } else { "NORMAL" })?;
    connection.pragma_update(None, "journal_size_limit", u64::from(BACKSTOP.unsigned_abs()) * PAGE)?;
    if let Some(bytes) = options.max_bytes {
        connection.pragma_update(None, "max_page_count", bytes.div_ceil(PAGE))?;
    }
    Ok(())
}

/// The format, if it is a log of ours. Reads only, so that a file of another program stays as it is.
fn recognise(path: &Path) -> Result<i64, StoreError> {
    let foreign = || StoreError::Foreign(path.to_owned());
    if !path.is_file() {
        return Err(foreign());
    }
    let connection = plain_reader(path)?;
    match connection.pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0)) {
        Ok(APPLICATION) => format_of(&connection),
        Ok(_) => Err(foreign()),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => Err(foreign()),
        Err(error) => Err(error.into()),
    }
}

fn format_of(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))?)
}

/// Makes an empty log beside its place and moves it there: a crash leaves no half of one.
fn make(path: &Path) -> Result<(), StoreError> {
    let beside = path.with_extension("new");
    for old in [beside.clone(), path.with_extension("new-wal"), path.with_extension("new-shm")] {
        fs::remove_file(&old).or_else(|error| absent(error).map_err(at(&old)))?;
    }
    drop(create(&beside)?);
    let connection = connect(&beside, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Both are decided before the first page is written.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    migrate(&connection)?;
    connection.close().map_err(|(_, error)| error)?;
    fs::rename(&beside, path).map_err(at(path))
}

/// Brings a log of an earlier format to the latest, all steps or none.
fn migrate(connection: &Connection) -> Result<(), StoreError> {
    if format_of(connection)? == FORMAT {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let steps = FORMATS.iter().skip(usize::try_from(format_of(&transaction)?).unwrap_or_default());
    steps.into_iter().try_for_each(|step| transaction.execute_batch(step))?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    Ok(transaction.commit()?)
}

/// A folder for this user alone, unless it is there already.
pub(super) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder).map_err(at(folder))
}

/// A file for this user alone, opened, whether it is there already or not.
pub(super) fn create(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create(true).truncate(false).write(true).open(path).map_err(at(path))
}

/// Says where something went wrong.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        _ => StoreError::Folder(path, error),
    }
}

/// It is fine that something is not there.
fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::{DiskReserve, Options, open};

    #[test]
    fn durable_means_that_every_commit_is_synced() {
        let folder = tempfile::tempdir().unwrap();
        for (durable, expected) in [(false, 1), (true, 2), (false, 1)] {
            let opened =
                open(folder.path(), &Options { durable, ..Options::default() }, &DiskReserve::new(folder.path()))
                    .unwrap();
            let writer = opened.writer.unwrap();
            // 1 is NORMAL, 2 is FULL.
            let level: i64 = writer.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
            assert_eq!(level, expected, "durable: {durable}");
        }
    }
}
