//! A pool of readers and the queries. Each query is one statement, so none blocks a checkpoint for long.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rusqlite::{
    Connection, OptionalExtension as _, ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};
use serde_json::value::RawValue;
use switchboard_event::{Id, Timestamp};

use super::{checksum::SessionChecksum, file};
use crate::{AgentRun, EventRow, PageQuery, ProcessIdentity, SessionFilter, SessionPhase, SessionRecord, StoreError};

/// The maximum number of idle connections; more concurrent readers open and close their own.
const MAX_IDLE_READERS: usize = 4;

/// Larger than the number of any session.
const MAX_SESSION_NUMBER: u64 = i64::MAX.unsigned_abs();

/// The largest `seq`.
pub(super) const MAX_SEQ: u64 = (1 << 40) - 1;

/// A pool of read-only connections.
#[derive(Debug)]
pub(super) struct ReaderPool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    /// The disk was too full to open the log normally.
    was_full: bool,
}

impl ReaderPool {
    pub fn new(path: PathBuf, was_full: bool) -> Self {
        Self { path, idle: Mutex::new(Vec::new()), was_full }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a query on a connection of the pool.
    pub fn with_connection<T>(&self, ask: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.was_full {
            // Another process may write once there is space, which an immutable connection does not see: it is used
            // only once.
            return ask(&file::open_full_disk_reader(&self.path)?);
        }
        let idle = || self.idle.lock();
        let kept = idle().pop();
        let connection = kept.map_or_else(|| file::open_reader(&self.path), Ok)?;
        let answer = ask(&connection);
        let mut idle = idle();
        if idle.len() < MAX_IDLE_READERS {
            idle.push(connection);
        }
        answer
    }
}

/// The key of an event row.
#[derive(Clone, Copy)]
pub(super) struct EventKey {
    pub number: u64,
    pub seq: u64,
}

impl ToSql for EventKey {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let place = self.number << 40 | self.seq.min(MAX_SEQ);
        i64::try_from(place).map(Into::into).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
    }
}

/// Returns the number of a session.
pub(super) fn session_number(connection: &Connection, session: &str) -> Result<u64, StoreError> {
    let mut select = connection.prepare_cached("SELECT number FROM sessions WHERE id = ?1")?;
    let number = select.query_row([session], |row| row.get(0)).optional()?;
    number.ok_or_else(|| StoreError::NoSession(session.to_owned()))
}

/// The events between two keys. The kind is compared before the body is read.
macro_rules! select_events {
    ($checksum:literal, $filter:literal) => {
        concat!(
            "SELECT place, kind, body, ",
            $checksum,
            " FROM events WHERE place > ?1 AND place <= ?2 AND ",
            $filter,
            " ORDER BY place LIMIT ?3"
        )
    };
}

/// Returns the events of a page, up to a damaged one.
pub(super) fn read_rows(connection: &Connection, session: &str, page: PageQuery) -> Result<Vec<EventRow>, StoreError> {
    let number = session_number(connection, session)?;
    let mut select = connection.prepare_cached(match (file::has_checksums(connection)?, page.kinds.is_empty()) {
        (true, true) => select_events!("checksum", "?4 IS NULL"),
        (true, false) => select_events!("checksum", "kind IN (SELECT value FROM json_each(?4))"),
        (false, true) => select_events!("NULL", "?4 IS NULL"),
        (false, false) => select_events!("NULL", "kind IN (SELECT value FROM json_each(?4))"),
    })?;
    let kinds = (!page.kinds.is_empty()).then(|| switchboard_event::to_raw_json(&page.kinds));
    let kinds = kinds.as_deref().map(RawValue::get);
    let mut found =
        select.query((EventKey { number, seq: page.after }, EventKey { number, seq: MAX_SEQ }, page.limit, kinds))?;
    let (checksum, mut rows, mut bytes) = (SessionChecksum::new(session), Vec::new(), 0);
    while let Some(row) = found.next()? {
        let (seq, body) = (row.get::<_, u64>(0)? & MAX_SEQ, row.get_ref(2)?.as_bytes().map_err(rusqlite::Error::from)?);
        if !matches_checksum(row, checksum, seq)? {
            if rows.is_empty() {
                return Err(StoreError::Damaged { session: session.into(), seq });
            }
            break;
        }
        bytes += body.len();
        if bytes > page.max_bytes && !rows.is_empty() {
            break;
        }
        let json = std::str::from_utf8(body).map_err(|_| StoreError::Damaged { session: session.into(), seq })?;
        rows.push(EventRow { seq, json: json.to_owned() });
    }
    Ok(rows)
}

/// Verifies the checksum of an event, if it has one.
fn matches_checksum(row: &rusqlite::Row<'_>, checksum: SessionChecksum, seq: u64) -> Result<bool, StoreError> {
    let column = |index| -> rusqlite::Result<&[u8]> { Ok(row.get_ref(index)?.as_bytes()?) };
    let expected: Option<i64> = row.get(3)?;
    let (kind, body) = (column(1)?, column(2)?);
    Ok(match expected {
        Some(expected) => expected == checksum.event_checksum(seq, kind, body),
        None => std::str::from_utf8(body).is_ok(),
    })
}

/// The maximum number of events to verify in one statement, so that none blocks a checkpoint for long.
const MAX_EVENTS_PER_CHECK: usize = 10_000;

/// Returns the damaged events of a session.
pub(super) fn find_damaged_events(connection: &Connection, session: &SessionRecord) -> Result<Vec<u64>, StoreError> {
    if !file::has_checksums(connection)? {
        return Ok(Vec::new());
    }
    let mut select = connection.prepare_cached(
        "SELECT place, kind, body, checksum FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3",
    )?;
    let (number, checksum) = (session.number, SessionChecksum::new(&session.id));
    let (mut after, mut damaged) = (0, Vec::new());
    loop {
        let places = (EventKey { number, seq: after }, EventKey { number, seq: MAX_SEQ });
        let mut found = select.query((places.0, places.1, MAX_EVENTS_PER_CHECK))?;
        let mut count = 0;
        while let Some(row) = found.next()? {
            (after, count) = (row.get::<_, u64>(0)? & MAX_SEQ, count + 1);
            if !matches_checksum(row, checksum, after)? {
                damaged.push(after);
            }
        }
        if count < MAX_EVENTS_PER_CHECK {
            return Ok(damaged);
        }
    }
}

/// The columns of a session, in the order of [`to_session`].
macro_rules! select_sessions {
    ($rest:literal) => {
        concat!(
            "SELECT number, id, agent, agent_session, state, owner, created, updated, ended, head, runs, turns,
             project, cwd, title, prompt, config, carry, ending, archived FROM sessions ",
            $rest
        )
    };
}

pub(super) fn find_session(connection: &Connection, id: &str) -> Result<Option<SessionRecord>, StoreError> {
    let mut select = connection.prepare_cached(select_sessions!("WHERE id = ?1"))?;
    Ok(select.query_row([id], to_session).optional()?)
}

/// Lists the open sessions of an owner.
pub(super) fn list_open_sessions(
    connection: &Connection,
    owner: Option<u64>,
) -> Result<Vec<SessionRecord>, StoreError> {
    let mut select = connection.prepare_cached(select_sessions!("WHERE open = 1 AND owner IS ?1 ORDER BY number"))?;
    Ok(select.query_map([owner], to_session)?.collect::<Result<_, _>>()?)
}

pub(super) fn list_sessions(connection: &Connection, filter: &SessionFilter) -> Result<Vec<SessionRecord>, StoreError> {
    let SessionFilter { agent, project, cwd, node, states, text, prefix, since, until, archived, before, limit } =
        filter;
    if node.is_some() {
        return Ok(Vec::new());
    }
    let mut select = connection.prepare_cached(select_sessions!(
        "WHERE number < ?1 AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR project = ?3)
         AND (?4 IS NULL OR cwd = ?4) AND (?5 IS NULL OR state IN (SELECT value FROM json_each(?5)))
         AND (?6 IS NULL OR substr(id, 1, length(?6)) = ?6 OR substr(agent_session, 1, length(?6)) = ?6)
         AND (?7 IS NULL OR instr(lower(coalesce(title, '') || char(10) || prompt), lower(?7)) > 0)
         AND created BETWEEN ?8 AND ?9 AND (?11 IS NULL OR archived = ?11)
         ORDER BY number DESC LIMIT coalesce(?10, -1)"
    ))?;
    let states: Vec<_> = states.iter().map(|state| state.name()).collect();
    let states = (!states.is_empty()).then(|| switchboard_event::to_raw_json(&states));
    let (states, before) = (states.as_deref().map(RawValue::get), before.unwrap_or(MAX_SESSION_NUMBER));
    let since = since.map_or(i64::MIN, Timestamp::as_micros);
    // The end is exclusive.
    let until = until.map_or(i64::MAX, |until| until.as_micros().saturating_sub(1));
    let found = select
        .query_map((before, agent, project, cwd, states, prefix, text, since, until, limit, archived), to_session)?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn to_session(row: &rusqlite::Row<'_>) -> rusqlite::Result<SessionRecord> {
    Ok(SessionRecord {
        number: row.get(0)?,
        id: row.get::<_, SqlId>(1)?.0,
        agent: row.get::<_, SqlId>(2)?.0,
        agent_session: row.get::<_, Option<SqlId>>(3)?.map(|text| text.0),
        state: SessionPhase::from_name(row.get_ref(4)?.as_str()?),
        owner: row.get(5)?,
        node: None,
        created: row.get::<_, SqlTimestamp>(6)?.0,
        updated: row.get::<_, SqlTimestamp>(7)?.0,
        ended: row.get::<_, Option<SqlTimestamp>>(8)?.map(|time| time.0),
        head: row.get(9)?,
        runs: row.get(10)?,
        turns: row.get(11)?,
        project: row.get(12)?,
        cwd: row.get(13)?,
        title: row.get(14)?,
        prompt: row.get(15)?,
        config: row.get::<_, SqlJson>(16)?.0,
        carry: row.get::<_, Option<SqlJson>>(17)?.map(|raw| raw.0),
        end: row.get::<_, Option<SqlJson>>(18)?.map(|raw| raw.0),
        archived: row.get(19)?,
    })
}

pub(super) fn list_runs(connection: &Connection, session: u64) -> Result<Vec<AgentRun>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT run, boot, supervisor_pid, supervisor_start, agent_pid, agent_start, started, ended
         FROM runs WHERE session = ?1 ORDER BY run",
    )?;
    Ok(select.query_map([session], to_run)?.collect::<Result<_, _>>()?)
}

fn to_run(row: &rusqlite::Row<'_>) -> rusqlite::Result<AgentRun> {
    let process = |pid, start| -> rusqlite::Result<Option<ProcessIdentity>> {
        let (pid, start): (Option<u32>, Option<u64>) = (row.get(pid)?, row.get(start)?);
        Ok(pid.zip(start).map(|(pid, start)| ProcessIdentity { pid, start }))
    };
    Ok(AgentRun {
        run: row.get(0)?,
        boot: row.get::<_, SqlId>(1)?.0,
        supervisor: process(2, 3)?,
        agent: process(4, 5)?,
        started: row.get::<_, SqlTimestamp>(6)?.0,
        ended: row.get::<_, Option<SqlTimestamp>>(7)?.map(|time| time.0),
    })
}

struct SqlId(Id);

impl FromSql for SqlId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str().map(|text| Self(text.into()))
    }
}

struct SqlTimestamp(Timestamp);

impl FromSql for SqlTimestamp {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let micros = value.as_i64()?;
        Timestamp::from_micros(micros).map(Self).ok_or(FromSqlError::OutOfRange(micros))
    }
}

struct SqlJson(Box<RawValue>);

impl FromSql for SqlJson {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let json = RawValue::from_string(value.as_str()?.to_owned());
        json.map(Self).map_err(|error| FromSqlError::Other(Box::new(error)))
    }
}
