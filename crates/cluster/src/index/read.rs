//! Queries of the index.

use rusqlite::{Connection, OptionalExtension as _};
use serde_json::value::RawValue;
use switchboard_event::{Id, Timestamp};
use switchboard_store::{AgentRun, Checkpoint, CheckpointPosition, SessionFilter, StoreError};

use super::SessionIndex;
use crate::record::{FrameOwner, FrameRecord, FrameRun};

/// Larger than the number of any session.
const MAX_SESSION_NUMBER: u64 = i64::MAX.unsigned_abs();

/// The position of a frame with events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePosition {
    pub first: u64,
    pub last: u64,
    pub sequence: u64,
    pub kinds: u64,
}

/// A deleted session whose frames and objects may remain.
pub struct DeletedSession {
    pub id: Id,
    pub objects: Vec<String>,
    /// The process that deleted it.
    pub owner: FrameOwner,
}

/// Makes a record of a column with its JSON.
fn parse_record(session: &str, json: &str) -> Result<FrameRecord, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Unreadable {
        session: session.into(),
        what: "a record",
        error,
    })
}

fn collect_records(
    rows: impl Iterator<Item = rusqlite::Result<(String, String)>>,
) -> Result<Vec<FrameRecord>, StoreError> {
    rows.map(|row| row.map_err(StoreError::from).and_then(|(id, json)| parse_record(&id, &json))).collect()
}

fn session_number(connection: &Connection, session: &str) -> Result<u64, StoreError> {
    let mut select = connection.prepare_cached("SELECT number FROM sessions WHERE id = ?1")?;
    let number = select.query_row([session], |row| row.get(0)).optional()?;
    number.ok_or_else(|| StoreError::NoSession(session.to_owned()))
}

impl SessionIndex {
    pub fn find_record(&self, id: &str) -> Result<Option<FrameRecord>, StoreError> {
        self.with_connection(|connection| {
            let mut select = connection.prepare_cached("SELECT record FROM sessions WHERE id = ?1")?;
            let json = select.query_row([id], |row| row.get::<_, String>(0)).optional()?;
            json.map(|json| parse_record(id, &json)).transpose()
        })
    }

    pub fn list_records(&self, filter: &SessionFilter) -> Result<Vec<FrameRecord>, StoreError> {
        let SessionFilter { agent, project, cwd, node, states, text, prefix, since, until, archived, before, limit } =
            filter;
        let states: Vec<_> = states.iter().map(|state| state.name()).collect();
        let states = (!states.is_empty()).then(|| switchboard_event::to_raw_json(&states));
        let (states, before) = (states.as_deref().map(RawValue::get), before.unwrap_or(MAX_SESSION_NUMBER));
        let since = since.map_or(i64::MIN, Timestamp::as_micros);
        // The end is exclusive.
        let until = until.map_or(i64::MAX, |until| until.as_micros().saturating_sub(1));
        self.with_connection(|connection| {
            let mut select = connection.prepare_cached(
                "SELECT id, record FROM sessions
                 WHERE number < ?1 AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR project = ?3)
                 AND (?4 IS NULL OR cwd = ?4) AND (?5 IS NULL OR state IN (SELECT value FROM json_each(?5)))
                 AND (?6 IS NULL OR substr(id, 1, length(?6)) = ?6 OR substr(agent_session, 1, length(?6)) = ?6)
                 AND (?7 IS NULL OR instr(lower(coalesce(title, '') || char(10) || prompt), lower(?7)) > 0)
                 AND created BETWEEN ?8 AND ?9 AND (?11 IS NULL OR archived = ?11) AND (?12 IS NULL OR node = ?12)
                 ORDER BY number DESC LIMIT coalesce(?10, -1)",
            )?;
            let found = select.query_map(
                (before, agent, project, cwd, states, prefix, text, since, until, limit, archived, node),
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            collect_records(found)
        })
    }

    /// Lists the open sessions of other processes.
    pub fn list_open_records(&self, own_incarnation: &str) -> Result<Vec<FrameRecord>, StoreError> {
        self.with_connection(|connection| {
            let mut select = connection.prepare_cached(
                "SELECT id, record FROM sessions WHERE open = 1 AND incarnation != ?1 ORDER BY number",
            )?;
            let found = select.query_map([own_incarnation], |row| Ok((row.get(0)?, row.get(1)?)))?;
            collect_records(found)
        })
    }

    /// Lists the ended sessions in the order of their ends, with the time of the end.
    pub fn list_ended(&self) -> Result<Vec<(Id, i64)>, StoreError> {
        self.with_connection(|connection| {
            let mut select =
                connection.prepare_cached("SELECT id, ended FROM sessions WHERE open = 0 ORDER BY ended, number")?;
            let ended = select.query_map([], |row| {
                Ok((Id::from(row.get::<_, String>(0)?), row.get::<_, Option<i64>>(1)?.unwrap_or_default()))
            })?;
            Ok(ended.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the size of all frames.
    pub fn used_bytes(&self) -> Result<u64, StoreError> {
        self.with_connection(|connection| {
            let mut select = connection.prepare_cached("SELECT coalesce(sum(bytes), 0) FROM sessions")?;
            Ok(select.query_row([], |row| row.get(0))?)
        })
    }

    pub fn list_runs(&self, session: &str) -> Result<Vec<AgentRun>, StoreError> {
        self.with_connection(|connection| {
            let number = session_number(connection, session)?;
            let mut select = connection.prepare_cached("SELECT record FROM runs WHERE session = ?1 ORDER BY run")?;
            let runs = select.query_map([number], |row| row.get::<_, String>(0))?;
            let parse = |json: rusqlite::Result<String>| -> Result<AgentRun, StoreError> {
                let run: Result<FrameRun, _> = serde_json::from_str(&json?);
                run.map(AgentRun::from).map_err(|error| StoreError::Unreadable {
                    session: session.into(),
                    what: "a run",
                    error,
                })
            };
            runs.map(parse).collect()
        })
    }

    /// Returns the head of a session and the frames whose events are after a `seq`, in order.
    pub fn list_frames(
        &self,
        session: &str,
        after: u64,
        limit: usize,
    ) -> Result<(u64, Vec<FramePosition>), StoreError> {
        self.with_connection(|connection| {
            let mut select = connection.prepare_cached("SELECT number, head FROM sessions WHERE id = ?1")?;
            let found: Option<(u64, u64)> =
                select.query_row([session], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let (number, head) = found.ok_or_else(|| StoreError::NoSession(session.to_owned()))?;
            let mut select = connection.prepare_cached(
                "SELECT first, last, sequence, kinds FROM frames WHERE session = ?1 AND last > ?2 ORDER BY last LIMIT ?3",
            )?;
            let frames = select.query_map((number, after.min(MAX_SESSION_NUMBER), limit), |row| {
                Ok(FramePosition {
                    first: row.get(0)?,
                    last: row.get(1)?,
                    sequence: row.get(2)?,
                    kinds: row.get::<_, i64>(3)?.cast_unsigned(),
                })
            })?;
            Ok((head, frames.collect::<Result<_, _>>()?))
        })
    }

    /// Returns the stream sequence of a session's last applied frame.
    pub fn session_sequence(&self, session: &str) -> Result<Option<u64>, StoreError> {
        self.with_connection(|connection| {
            let mut select = connection.prepare_cached("SELECT sequence FROM sessions WHERE id = ?1")?;
            Ok(select.query_row([session], |row| row.get(0)).optional()?)
        })
    }

    /// Lists the deleted sessions whose frames and objects may remain.
    pub fn list_garbage(&self) -> Result<Vec<DeletedSession>, StoreError> {
        self.with_connection(|connection| {
            let mut select = connection.prepare_cached("SELECT id, objects, owner FROM garbage")?;
            let garbage = select.query_map([], |row| {
                Ok(DeletedSession {
                    id: Id::from(row.get::<_, String>(0)?),
                    objects: serde_json::from_str(row.get_ref(1)?.as_str()?).unwrap_or_default(),
                    owner: serde_json::from_str(row.get_ref(2)?.as_str()?).unwrap_or_default(),
                })
            })?;
            Ok(garbage.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the last checkpoint at or before a position.
    pub fn find_checkpoint(
        &self,
        session: &str,
        dialect: &str,
        version: &str,
        at: CheckpointPosition,
    ) -> Result<Option<Checkpoint>, StoreError> {
        self.with_connection(|connection| {
            let number = session_number(connection, session)?;
            let (mut select, place) = match at {
                CheckpointPosition::Seq(seq) => (
                    connection.prepare_cached(
                        "SELECT dialect, version, seq, messages, state FROM checkpoints
                         WHERE session = ?1 AND dialect = ?2 AND version = ?3 AND seq <= ?4 ORDER BY seq DESC LIMIT 1",
                    )?,
                    seq,
                ),
                CheckpointPosition::Message(messages) => (
                    connection.prepare_cached(
                        "SELECT dialect, version, seq, messages, state FROM checkpoints
                         WHERE session = ?1 AND dialect = ?2 AND version = ?3 AND messages <= ?4
                         ORDER BY messages DESC, seq DESC LIMIT 1",
                    )?,
                    messages,
                ),
            };
            let place = i64::try_from(place).unwrap_or(i64::MAX);
            let found = select.query_row((number, dialect, version, place), |row| {
                Ok(Checkpoint {
                    dialect: row.get(0)?,
                    version: row.get(1)?,
                    seq: row.get(2)?,
                    messages: row.get(3)?,
                    state: row.get(4)?,
                })
            });
            Ok(found.optional()?)
        })
    }
}
