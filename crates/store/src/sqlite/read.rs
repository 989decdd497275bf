//! Reading: a few connections that are lent, and the questions that are asked. Each question is one statement, so none
//! keeps the write-ahead log from being moved for long.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rusqlite::{
    Connection, OptionalExtension as _, ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};
use serde_json::value::RawValue;
use switchboard_event::{Id, Timestamp};

use super::{checksum::SessionChecksum, file};
use crate::{Filter, Page, Process, Row, Run, Session, State, StoreError};

/// So many connections are kept; when more read at once, more are made and closed again.
const KEPT: usize = 4;

/// Larger than the number of any session.
const LAST: u64 = i64::MAX.unsigned_abs();

/// The largest `seq`.
pub(super) const SEQ: u64 = (1 << 40) - 1;

/// Connections that read.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    /// The disk was too full to open the log as usual.
    was_full: bool,
}

impl Readers {
    pub fn new(path: PathBuf, was_full: bool) -> Self {
        Self { path, idle: Mutex::new(Vec::new()), was_full }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lends a connection.
    pub fn with<T>(&self, ask: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.was_full {
            // Another process may write once there is space: what takes no notice of it is used once.
            return ask(&file::reader_of_full_disk(&self.path)?);
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let connection = kept.map_or_else(|| file::reader(&self.path), Ok)?;
        let answer = ask(&connection);
        let mut idle = idle();
        if idle.len() < KEPT {
            idle.push(connection);
        }
        answer
    }
}

/// Where an event lies.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub number: u64,
    pub seq: u64,
}

impl ToSql for Place {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let place = self.number << 40 | self.seq.min(SEQ);
        i64::try_from(place).map(Into::into).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
    }
}

/// The number of a session.
pub(super) fn number(connection: &Connection, session: &str) -> Result<u64, StoreError> {
    let mut select = connection.prepare_cached("SELECT number FROM sessions WHERE id = ?1")?;
    let number = select.query_row([session], |row| row.get(0)).optional()?;
    number.ok_or_else(|| StoreError::NoSession(session.to_owned()))
}

/// The events of a page, up to one that is damaged.
pub(super) fn rows(connection: &Connection, session: &str, page: Page) -> Result<Vec<Row>, StoreError> {
    let number = number(connection, session)?;
    let mut select = connection.prepare_cached(match file::has_checksums(connection)? {
        true => {
            "SELECT place, kind, body, checksum FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3"
        }
        false => "SELECT place, kind, body, NULL FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3",
    })?;
    let mut found = select.query((Place { number, seq: page.after }, Place { number, seq: SEQ }, page.limit))?;
    let (checksum, mut rows, mut bytes) = (SessionChecksum::new(session), Vec::new(), 0);
    while let Some(row) = found.next()? {
        let (seq, body) = (row.get::<_, u64>(0)? & SEQ, row.get_ref(2)?.as_bytes().map_err(rusqlite::Error::from)?);
        if !is_sound(row, checksum, seq)? {
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
        rows.push(Row { seq, json: json.to_owned() });
    }
    Ok(rows)
}

/// Compares an event with its checksum, if it has one.
fn is_sound(row: &rusqlite::Row<'_>, checksum: SessionChecksum, seq: u64) -> Result<bool, StoreError> {
    let column = |index| -> rusqlite::Result<&[u8]> { Ok(row.get_ref(index)?.as_bytes()?) };
    let expected: Option<i64> = row.get(3)?;
    let (kind, body) = (column(1)?, column(2)?);
    Ok(match expected {
        Some(expected) => expected == checksum.of_event(seq, kind, body),
        None => std::str::from_utf8(body).is_ok(),
    })
}

/// How many events are compared by one statement: none keeps the write-ahead log from being moved for long.
const COMPARED_AT_ONCE: usize = 10_000;

/// The damaged events of a session.
pub(super) fn damaged(connection: &Connection, session: &Session) -> Result<Vec<u64>, StoreError> {
    if !file::has_checksums(connection)? {
        return Ok(Vec::new());
    }
    let mut select = connection.prepare_cached(
        "SELECT place, kind, body, checksum FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3",
    )?;
    let (number, checksum) = (session.number, SessionChecksum::new(&session.id));
    let (mut after, mut damaged) = (0, Vec::new());
    loop {
        let places = (Place { number, seq: after }, Place { number, seq: SEQ });
        let mut found = select.query((places.0, places.1, COMPARED_AT_ONCE))?;
        let mut count = 0;
        while let Some(row) = found.next()? {
            (after, count) = (row.get::<_, u64>(0)? & SEQ, count + 1);
            if !is_sound(row, checksum, after)? {
                damaged.push(after);
            }
        }
        if count < COMPARED_AT_ONCE {
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

pub(super) fn session(connection: &Connection, id: &str) -> Result<Option<Session>, StoreError> {
    let mut select = connection.prepare_cached(select_sessions!("WHERE id = ?1"))?;
    Ok(select.query_row([id], to_session).optional()?)
}

/// The open sessions of an owner.
pub(super) fn open_of(connection: &Connection, owner: Option<u64>) -> Result<Vec<Session>, StoreError> {
    let mut select = connection.prepare_cached(select_sessions!("WHERE open = 1 AND owner IS ?1 ORDER BY number"))?;
    Ok(select.query_map([owner], to_session)?.collect::<Result<_, _>>()?)
}

pub(super) fn sessions(connection: &Connection, filter: &Filter) -> Result<Vec<Session>, StoreError> {
    let mut select = connection.prepare_cached(select_sessions!(
        "WHERE number < ?1 AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR project = ?3)
         AND (?4 IS NULL OR cwd = ?4) AND (?5 IS NULL OR state IN (SELECT value FROM json_each(?5)))
         AND (?6 IS NULL OR substr(id, 1, length(?6)) = ?6 OR substr(agent_session, 1, length(?6)) = ?6)
         AND (?7 IS NULL OR instr(lower(coalesce(title, '') || char(10) || prompt), lower(?7)) > 0)
         AND created BETWEEN ?8 AND ?9 AND (?11 IS NULL OR archived = ?11)
         ORDER BY number DESC LIMIT coalesce(?10, -1)"
    ))?;
    let Filter { agent, project, cwd, states, text, prefix, since, until, archived, before, limit } = filter;
    let states: Vec<_> = states.iter().map(|state| state.name()).collect();
    let states = (!states.is_empty()).then(|| switchboard_event::raw(&states));
    let (states, before) = (states.as_deref().map(RawValue::get), before.unwrap_or(LAST));
    let since = since.map_or(i64::MIN, Timestamp::as_micros);
    // The end does not belong to it.
    let until = until.map_or(i64::MAX, |until| until.as_micros().saturating_sub(1));
    let found = select
        .query_map((before, agent, project, cwd, states, prefix, text, since, until, limit, archived), to_session)?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn to_session(row: &rusqlite::Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        number: row.get(0)?,
        id: row.get::<_, Text>(1)?.0,
        agent: row.get::<_, Text>(2)?.0,
        agent_session: row.get::<_, Option<Text>>(3)?.map(|text| text.0),
        state: State::named(row.get_ref(4)?.as_str()?),
        owner: row.get(5)?,
        created: row.get::<_, Time>(6)?.0,
        updated: row.get::<_, Time>(7)?.0,
        ended: row.get::<_, Option<Time>>(8)?.map(|time| time.0),
        head: row.get(9)?,
        runs: row.get(10)?,
        turns: row.get(11)?,
        project: row.get(12)?,
        cwd: row.get(13)?,
        title: row.get(14)?,
        prompt: row.get(15)?,
        config: row.get::<_, Raw>(16)?.0,
        carry: row.get::<_, Option<Raw>>(17)?.map(|raw| raw.0),
        end: row.get::<_, Option<Raw>>(18)?.map(|raw| raw.0),
        archived: row.get(19)?,
    })
}

pub(super) fn runs(connection: &Connection, session: u64) -> Result<Vec<Run>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT run, boot, supervisor_pid, supervisor_start, agent_pid, agent_start, started, ended
         FROM runs WHERE session = ?1 ORDER BY run",
    )?;
    Ok(select.query_map([session], to_run)?.collect::<Result<_, _>>()?)
}

fn to_run(row: &rusqlite::Row<'_>) -> rusqlite::Result<Run> {
    let process = |pid, start| -> rusqlite::Result<Option<Process>> {
        let (pid, start): (Option<u32>, Option<u64>) = (row.get(pid)?, row.get(start)?);
        Ok(pid.zip(start).map(|(pid, start)| Process { pid, start }))
    };
    Ok(Run {
        run: row.get(0)?,
        boot: row.get::<_, Text>(1)?.0,
        supervisor: process(2, 3)?,
        agent: process(4, 5)?,
        started: row.get::<_, Time>(6)?.0,
        ended: row.get::<_, Option<Time>>(7)?.map(|time| time.0),
    })
}

struct Text(Id);

impl FromSql for Text {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str().map(|text| Self(text.into()))
    }
}

struct Time(Timestamp);

impl FromSql for Time {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let micros = value.as_i64()?;
        Timestamp::from_micros(micros).map(Self).ok_or(FromSqlError::OutOfRange(micros))
    }
}

struct Raw(Box<RawValue>);

impl FromSql for Raw {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let json = RawValue::from_string(value.as_str()?.to_owned());
        json.map(Self).map_err(|error| FromSqlError::Other(Box::new(error)))
    }
}
