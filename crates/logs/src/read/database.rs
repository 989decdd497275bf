//! A SQLite database that belongs to an agent, perhaps one that is at work. It is read as it is at one moment, and
//! nothing is written, not even the files that SQLite likes to have beside a database; but where an agent has such files
//! of its own, SQLite notes in them who reads.

use std::{
    borrow::Cow,
    collections::HashSet,
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rusqlite::{Connection, OpenFlags, Row, config::DbConfig, types::ValueRef};
use switchboard_agents::{Depth, Json, Queries, Rows};
use switchboard_event::Timestamp;

use super::{fetch_part, on_one_line};

/// How long to wait for an agent that holds its database.
const PATIENCE: Duration = Duration::from_secs(5);

/// A database, to be read.
pub struct Database {
    path: PathBuf,
    connection: Connection,
    /// It was taken for one that nobody writes: what the file was then.
    still: Option<(u64, Option<SystemTime>)>,
}

/// The sessions of a database: their ids, each with a text that changes when anything in it does.
///
/// # Errors
/// If it cannot be read.
pub fn sessions_of(path: &Path, queries: &Queries) -> io::Result<Vec<(String, String)>> {
    let read = || Database::open(path)?.sessions(queries);
    // Somebody has just opened it: now it can be seen that somebody has.
    read().or_else(|error| if error.kind() == io::ErrorKind::ResourceBusy { read() } else { Err(error) })
}

/// When a session was changed, by the text that changes when anything in it does: times in it are milliseconds.
#[must_use]
pub fn newest(state: &str) -> Option<Timestamp> {
    let numbers = state.split(|c: char| !c.is_ascii_digit()).filter(|number| number.len() == 13);
    numbers.filter_map(|number| number.parse().ok()).filter_map(Timestamp::from_millis).max()
}

/// How much of a database is fetched before it is read: it is read in no order.
const FETCHED: u64 = 64 << 20;

/// Has the system fetch a database that will be read soon. Only one that nobody has open: to close a file takes away all
/// locks that this process has on it, and those of SQLite would go.
pub fn fetch_database(path: &Path) {
    if !["-wal", "-journal"].iter().any(|end| beside(path, end).exists()) {
        fetch_part(path, 0, FETCHED);
    }
}

/// The database that a file lies beside for SQLite, and how the name of that file ends. Folders may be named so as well.
#[must_use]
pub fn database_of(path: &Path) -> Option<(PathBuf, &'static str)> {
    let name = path.to_string_lossy();
    let (database, end) = ["-wal", "-shm", "-journal"].iter().find_map(|end| Some((name.strip_suffix(end)?, *end)))?;
    Some((PathBuf::from(database), end)).filter(|(database, _)| database.is_file())
}

/// How long files must have been left alone before they are taken for unchanged: a write right after another one may
/// leave the same time.
const SETTLED: Duration = Duration::from_secs(2);

/// What changes whenever the database does, without opening it. Nothing if it has only just changed.
///
/// # Errors
/// If there is no such file.
pub fn database_mark(path: &Path) -> io::Result<Option<String>> {
    let files = [
        Some(fs::metadata(path)?),
        fs::metadata(beside(path, "-wal")).ok(),
        fs::metadata(beside(path, "-journal")).ok(),
    ];
    let mut mark = String::new();
    for file in &files {
        let Some(file) = file else {
            mark.push_str("-;");
            continue;
        };
        if !file.modified()?.elapsed().is_ok_and(|age| age >= SETTLED) {
            return Ok(None);
        }
        let (time, parts) = (file.mtime(), file.mtime_nsec());
        mark.push_str(&format!("{}.{time}.{parts}.{};", file.size(), file.ino()));
    }
    Ok(Some(mark))
}

impl Database {
    /// Opens it.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let meta = fs::metadata(path)?;
        let beside = |suffix: &str| beside(path, suffix).exists();
        let now = Some((meta.len(), meta.modified().ok()));
        let (options, still) = match (beside("-wal"), beside("-shm")) {
            // Somebody has it open, or had when the machine went down.
            (true, true) => ("", None),
            _ if beside("-journal") => ("", None),
            // It was copied from where somebody had it open. The default would make a file of its own beside it.
            (true, false) => ("vfs=unix-none", now),
            // Nobody has it open, so there is nobody to agree with.
            (false, _) => ("immutable=1", now),
        };
        let connection = connect(path, options).map_err(|error| failed(&error))?;
        Ok(Self { path: path.to_owned(), connection, still })
    }

    /// The sessions: their ids, each with a text that changes when anything in it does.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn sessions(&self, queries: &Queries) -> io::Result<Vec<(String, String)>> {
        let (mut sessions, mut known) = (Vec::new(), HashSet::new());
        let mut list = |row: &Row<'_>| {
            let id = text(value(row, 0)?).into_owned();
            if known.insert(id.clone()) {
                sessions.push((id, text(value(row, 1)?).into_owned()));
            }
            Ok(())
        };
        for way in queries.sessions {
            for query in *way {
                if self.query(query, None, &mut list)? {
                    break;
                }
            }
        }
        self.is_still()?;
        Ok(sessions)
    }

    /// Gives the records of a session from a number on, and says how many there are. What does not matter at that depth
    /// is empty.
    ///
    /// # Errors
    /// If it cannot be read. What could be read was given.
    pub fn records(
        &self,
        queries: &Queries,
        session: &str,
        from: u64,
        depth: Depth,
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> io::Result<u64> {
        let snapshot = self.connection.unchecked_transaction().map_err(|error| failed(&error))?;
        let (mut number, mut record) = (0, Vec::new());
        let mut give = |row: Option<Written<'_, '_>>| {
            if number >= from {
                record.clear();
                row.map_or(Ok(()), |row| write(&row, depth, &mut record))?;
                each(number, &record);
            }
            number += 1;
            Ok(())
        };
        queries.rows.iter().try_for_each(|rows| self.rows(rows, session, depth, &mut give))?;
        drop(snapshot);
        self.is_still()?;
        Ok(number.max(from))
    }

    /// Gives rows, and after each of them those that belong to it.
    fn rows(&self, rows: &Rows, of: &str, depth: Depth, give: &mut Give<'_>) -> io::Result<()> {
        let all = depth == Depth::All || rows.counting.is_empty();
        self.query(rows.query, Some(of), &mut |row| {
            give((all || counts(rows, row)).then_some((rows, row)))?;
            if rows.each.is_empty() {
                return Ok(());
            }
            let id = text(value(row, 0)?);
            rows.each.iter().try_for_each(|rows| self.rows(rows, &id, depth, give))
        })
        .map(drop)
    }

    /// Asks for rows. Where a table or a column is missing there are none, and it is false.
    fn query(
        &self,
        query: &str,
        of: Option<&str>,
        each: &mut dyn FnMut(&Row<'_>) -> io::Result<()>,
    ) -> io::Result<bool> {
        let mut statement = match self.connection.prepare_cached(query) {
            Ok(statement) => statement,
            Err(error) if is_missing(&error) => return Ok(false),
            Err(error) => return Err(failed(&error)),
        };
        let mut rows = statement.query(rusqlite::params_from_iter(of)).map_err(|error| failed(&error))?;
        while let Some(row) = rows.next().map_err(|error| failed(&error))? {
            each(row)?;
        }
        Ok(true)
    }

    /// Nobody has written in the meantime what was taken for something that nobody writes.
    fn is_still(&self) -> io::Result<()> {
        let Some(then) = self.still else {
            return Ok(());
        };
        let now = fs::metadata(&self.path)?;
        if then == (now.len(), now.modified().ok()) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "the database changed while it was read"))
    }
}

fn connect(path: &Path, options: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri(path, options), flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Or a query is planned anew for every value that is given to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    if options.starts_with("vfs") {
        // What is known about the log is then kept in memory instead of in a file.
        connection.pragma_update(None, "locking_mode", "exclusive")?;
    }
    connection.pragma_query(None, "schema_version", |_| Ok(()))?;
    Ok(connection)
}

/// The path as SQLite takes it: every byte that could mean something is written by its number.
fn uri(path: &Path, options: &str) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri + "?" + options
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn is_missing(error: &rusqlite::Error) -> bool {
    let text = error.to_string();
    text.contains("no such table") || text.contains("no such column")
}

fn failed(error: &rusqlite::Error) -> io::Error {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, NotADatabase, PermissionDenied};
    let kind = match error.sqlite_error_code() {
        Some(CannotOpen | PermissionDenied) => io::ErrorKind::PermissionDenied,
        Some(DatabaseBusy | DatabaseLocked) => io::ErrorKind::ResourceBusy,
        Some(NotADatabase) => io::ErrorKind::InvalidData,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error.to_string())
}

/// A row matters for tokens.
fn counts(rows: &Rows, row: &Row<'_>) -> bool {
    let data = row.get_ref("data").ok().and_then(|data| data.as_bytes().ok()).unwrap_or_default();
    rows.counting.iter().any(|word| memchr::memmem::find(data, word.as_bytes()).is_some())
}

/// A row, and what it is one of.
type Written<'a, 'r> = (&'a Rows, &'a Row<'r>);

/// Takes the next row, or nothing where it does not matter.
type Give<'a> = dyn FnMut(Option<Written<'_, '_>>) -> io::Result<()> + 'a;

/// Writes a row as a record: its columns by their names. What a column named `data` holds is JSON already.
fn write((rows, row): &Written<'_, '_>, depth: Depth, record: &mut Vec<u8>) -> io::Result<()> {
    record.extend_from_slice(b"{\"table\":");
    serde_json::to_writer(&mut *record, rows.table)?;
    record.extend_from_slice(b",\"row\":{");
    for (number, name) in row.as_ref().column_names().enumerate() {
        if number > 0 {
            record.push(b',');
        }
        serde_json::to_writer(&mut *record, name)?;
        record.push(b':');
        let value = value(row, number)?;
        if name != "data" || !write_data(value, rows, depth, record) {
            write_value(value, record)?;
        }
    }
    record.extend_from_slice(b"}}");
    Ok(())
}

/// Writes what is JSON already; not if it is none.
fn write_data(value: ValueRef<'_>, rows: &Rows, depth: Depth, record: &mut Vec<u8>) -> bool {
    let text = text(value);
    if depth == Depth::Tokens && !rows.long.is_empty() {
        return Json::shortened(&text, rows.long)
            .map(|short| record.extend_from_slice(&on_one_line(short.as_bytes())))
            .is_some();
    }
    Json::parse(&text).map(|_| record.extend_from_slice(&on_one_line(text.as_bytes()))).is_some()
}

fn write_value(value: ValueRef<'_>, record: &mut Vec<u8>) -> io::Result<()> {
    match value {
        ValueRef::Null => record.extend_from_slice(b"null"),
        ValueRef::Integer(number) => serde_json::to_writer(record, &number)?,
        ValueRef::Real(number) if number.is_finite() => record.extend_from_slice(text(value).as_bytes()),
        _ => serde_json::to_writer(record, &*text(value))?,
    }
    Ok(())
}

fn value<'a>(row: &'a Row<'_>, column: usize) -> io::Result<ValueRef<'a>> {
    row.get_ref(column).map_err(|error| failed(&error))
}

fn text(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Null => Cow::Borrowed(""),
        ValueRef::Integer(number) => Cow::Owned(number.to_string()),
        ValueRef::Real(number) => Cow::Owned(format!("{number:?}")),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
        }
    }
}
