//! SQLite database of an agent, which may be running. It is read as a snapshot. Nothing is written, not even the files
//! that SQLite usually creates next to a database; but if the agent has such files, SQLite registers its readers there.

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
use switchboard_agents::{JsonView, RowQuery, ScanDepth, SessionQueries};
use switchboard_event::Timestamp;

use super::{prefetch_part, to_one_line};

/// How long to wait for an agent that locks its database.
const AGENT_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A database, opened read-only.
pub struct AgentDatabase {
    path: PathBuf,
    connection: Connection,
    /// Size and modification time, if the database was opened as immutable.
    still: Option<(u64, Option<SystemTime>)>,
}

/// Returns the session IDs of a database, each with a version string that changes with the session.
///
/// # Errors
/// If it cannot be read.
pub fn list_database_sessions(path: &Path, queries: &SessionQueries) -> io::Result<Vec<(String, String)>> {
    let read = || AgentDatabase::open(path)?.list_sessions(queries);
    // The agent has just opened the database; the next attempt detects that.
    read().or_else(|error| if error.kind() == io::ErrorKind::ResourceBusy { read() } else { Err(error) })
}

/// Returns when a session changed, by its version string, in which times are in milliseconds.
#[must_use]
pub fn newest_timestamp(state: &str) -> Option<Timestamp> {
    let numbers = state.split(|c: char| !c.is_ascii_digit()).filter(|number| number.len() == 13);
    numbers.filter_map(|number| number.parse().ok()).filter_map(Timestamp::from_millis).max()
}

/// How much of a database is prefetched: it is read in random order.
const DATABASE_PREFETCH_BYTES: u64 = 64 << 20;

/// Lets the system prefetch a database. Only one that is not in use: closing a file drops all POSIX locks of this
/// process on it, including those of SQLite.
pub fn prefetch_database(path: &Path) {
    if !["-wal", "-journal"].iter().any(|end| side_file_path(path, end).exists()) {
        prefetch_part(path, 0, DATABASE_PREFETCH_BYTES);
    }
}

/// Returns the database that a SQLite side file belongs to, and the suffix of that file. Directories may have such
/// names too.
#[must_use]
pub fn database_of_side_file(path: &Path) -> Option<(PathBuf, &'static str)> {
    let name = path.to_string_lossy();
    let (database, end) = ["-wal", "-shm", "-journal"].iter().find_map(|end| Some((name.strip_suffix(end)?, *end)))?;
    Some((PathBuf::from(database), end)).filter(|(database, _)| database.is_file())
}

/// Files must be unmodified for this long to count as unchanged: two writes in quick succession may leave the same
/// time.
const MIN_UNCHANGED_AGE: Duration = Duration::from_secs(2);

/// Returns a value that changes with the database, without opening it. Returns `None` if it has only just changed.
///
/// # Errors
/// If there is no such file.
pub fn database_mark(path: &Path) -> io::Result<Option<String>> {
    let files = [
        Some(fs::metadata(path)?),
        fs::metadata(side_file_path(path, "-wal")).ok(),
        fs::metadata(side_file_path(path, "-journal")).ok(),
    ];
    let mut mark = String::new();
    for file in &files {
        let Some(file) = file else {
            mark.push_str("-;");
            continue;
        };
        if !file.modified()?.elapsed().is_ok_and(|age| age >= MIN_UNCHANGED_AGE) {
            return Ok(None);
        }
        let (time, parts) = (file.mtime(), file.mtime_nsec());
        mark.push_str(&format!("{}.{time}.{parts}.{};", file.size(), file.ino()));
    }
    Ok(Some(mark))
}

impl AgentDatabase {
    /// Opens the database read-only.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let meta = fs::metadata(path)?;
        let beside = |suffix: &str| side_file_path(path, suffix).exists();
        let now = Some((meta.len(), meta.modified().ok()));
        let (options, still) = match (beside("-wal"), beside("-shm")) {
            // It is open, or was when the machine crashed.
            (true, true) => ("", None),
            _ if beside("-journal") => ("", None),
            // A copy of an open database. The default VFS would create a shared-memory file.
            (true, false) => ("vfs=unix-none", now),
            // It is not open, so no locking is needed.
            (false, _) => ("immutable=1", now),
        };
        let connection = connect_read_only(path, options).map_err(|error| to_io_error(&error))?;
        Ok(Self { path: path.to_owned(), connection, still })
    }

    /// Returns the session IDs, each with a version string that changes with the session.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn list_sessions(&self, queries: &SessionQueries) -> io::Result<Vec<(String, String)>> {
        let (mut sessions, mut known) = (Vec::new(), HashSet::new());
        let mut list = |row: &Row<'_>| {
            let id = value_text(column_value(row, 0)?).into_owned();
            if known.insert(id.clone()) {
                sessions.push((id, value_text(column_value(row, 1)?).into_owned()));
            }
            Ok(())
        };
        for way in queries.sessions {
            for query in *way {
                if self.query_rows(query, None, &mut list)? {
                    break;
                }
            }
        }
        self.check_unchanged()?;
        Ok(sessions)
    }

    /// Reads the records of a session from a number on, and returns their count. Records irrelevant at this depth are
    /// empty.
    ///
    /// # Errors
    /// If it cannot be read. Earlier records were passed to `each`.
    pub fn read_records(
        &self,
        queries: &SessionQueries,
        session: &str,
        from: u64,
        depth: ScanDepth,
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> io::Result<u64> {
        let snapshot = self.connection.unchecked_transaction().map_err(|error| to_io_error(&error))?;
        let (mut number, mut record) = (0, Vec::new());
        let mut give = |row: Option<QueriedRow<'_, '_>>| {
            if number >= from {
                record.clear();
                row.map_or(Ok(()), |row| write_row(&row, depth, &mut record))?;
                each(number, &record);
            }
            number += 1;
            Ok(())
        };
        queries.rows.iter().try_for_each(|rows| self.emit_rows(rows, session, depth, &mut give))?;
        drop(snapshot);
        self.check_unchanged()?;
        Ok(number.max(from))
    }

    /// Emits rows, each followed by its child rows.
    fn emit_rows(&self, rows: &RowQuery, of: &str, depth: ScanDepth, give: &mut RowSink<'_>) -> io::Result<()> {
        let all = depth == ScanDepth::All || rows.counting.is_empty();
        self.query_rows(rows.query, Some(of), &mut |row| {
            give((all || counts_tokens(rows, row)).then_some((rows, row)))?;
            if rows.each.is_empty() {
                return Ok(());
            }
            let id = value_text(column_value(row, 0)?);
            rows.each.iter().try_for_each(|rows| self.emit_rows(rows, &id, depth, give))
        })
        .map(drop)
    }

    /// Runs a query. Returns `false` if a table or column is missing.
    fn query_rows(
        &self,
        query: &str,
        of: Option<&str>,
        each: &mut dyn FnMut(&Row<'_>) -> io::Result<()>,
    ) -> io::Result<bool> {
        let mut statement = match self.connection.prepare_cached(query) {
            Ok(statement) => statement,
            Err(error) if is_missing_schema(&error) => return Ok(false),
            Err(error) => return Err(to_io_error(&error)),
        };
        let mut rows = statement.query(rusqlite::params_from_iter(of)).map_err(|error| to_io_error(&error))?;
        while let Some(row) = rows.next().map_err(|error| to_io_error(&error))? {
            each(row)?;
        }
        Ok(true)
    }

    /// Checks that a database opened as immutable was not modified.
    fn check_unchanged(&self) -> io::Result<()> {
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

fn connect_read_only(path: &Path, options: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(sqlite_uri(path, options), flags)?;
    connection.busy_timeout(AGENT_BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Otherwise queries are replanned for each bound value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    if options.starts_with("vfs") {
        // The WAL index is then kept in memory instead of in a file.
        connection.pragma_update(None, "locking_mode", "exclusive")?;
    }
    connection.pragma_query(None, "schema_version", |_| Ok(()))?;
    Ok(connection)
}

/// Returns the path as a SQLite URI, percent-encoding every special byte.
fn sqlite_uri(path: &Path, options: &str) -> String {
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

fn side_file_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn is_missing_schema(error: &rusqlite::Error) -> bool {
    let text = error.to_string();
    text.contains("no such table") || text.contains("no such column")
}

fn to_io_error(error: &rusqlite::Error) -> io::Error {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, NotADatabase, PermissionDenied};
    let kind = match error.sqlite_error_code() {
        Some(CannotOpen | PermissionDenied) => io::ErrorKind::PermissionDenied,
        Some(DatabaseBusy | DatabaseLocked) => io::ErrorKind::ResourceBusy,
        Some(NotADatabase) => io::ErrorKind::InvalidData,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error.to_string())
}

/// Returns whether a row is relevant for tokens.
fn counts_tokens(rows: &RowQuery, row: &Row<'_>) -> bool {
    let data = row.get_ref("data").ok().and_then(|data| data.as_bytes().ok()).unwrap_or_default();
    rows.counting.iter().any(|word| memchr::memmem::find(data, word.as_bytes()).is_some())
}

/// A row, and the query that returned it.
type QueriedRow<'a, 'r> = (&'a RowQuery, &'a Row<'r>);

/// Receives the next row, or `None` if it is irrelevant.
type RowSink<'a> = dyn FnMut(Option<QueriedRow<'_, '_>>) -> io::Result<()> + 'a;

/// Writes a row as a record with its columns by name. A column named `data` already contains JSON.
fn write_row((rows, row): &QueriedRow<'_, '_>, depth: ScanDepth, record: &mut Vec<u8>) -> io::Result<()> {
    record.extend_from_slice(b"{\"table\":");
    serde_json::to_writer(&mut *record, rows.table)?;
    record.extend_from_slice(b",\"row\":{");
    for (number, name) in row.as_ref().column_names().enumerate() {
        if number > 0 {
            record.push(b',');
        }
        serde_json::to_writer(&mut *record, name)?;
        record.push(b':');
        let value = column_value(row, number)?;
        if name != "data" || !write_data(value, rows, depth, record) {
            write_value(value, record)?;
        }
    }
    record.extend_from_slice(b"}}");
    Ok(())
}

/// Writes a value that is JSON. Returns `false` if it is not.
fn write_data(value: ValueRef<'_>, rows: &RowQuery, depth: ScanDepth, record: &mut Vec<u8>) -> bool {
    let text = value_text(value);
    if depth == ScanDepth::Tokens && !rows.long.is_empty() {
        return JsonView::shorten_fields(&text, rows.long)
            .map(|short| record.extend_from_slice(&to_one_line(short.as_bytes())))
            .is_some();
    }
    JsonView::parse(&text).map(|_| record.extend_from_slice(&to_one_line(text.as_bytes()))).is_some()
}

fn write_value(value: ValueRef<'_>, record: &mut Vec<u8>) -> io::Result<()> {
    match value {
        ValueRef::Null => record.extend_from_slice(b"null"),
        ValueRef::Integer(number) => serde_json::to_writer(record, &number)?,
        ValueRef::Real(number) if number.is_finite() => record.extend_from_slice(value_text(value).as_bytes()),
        _ => serde_json::to_writer(record, &*value_text(value))?,
    }
    Ok(())
}

fn column_value<'a>(row: &'a Row<'_>, column: usize) -> io::Result<ValueRef<'a>> {
    row.get_ref(column).map_err(|error| to_io_error(&error))
}

fn value_text(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Null => Cow::Borrowed(""),
        ValueRef::Integer(number) => Cow::Owned(number.to_string()),
        ValueRef::Real(number) => Cow::Owned(format!("{number:?}")),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
        }
    }
}
