//! Changes of the index.

use rusqlite::{Connection, OptionalExtension as _};
use switchboard_store::{Checkpoint, StoreError};
use tracing::error;

use super::{IndexChange, StoredFrame};
use crate::{frame::FrameEvents, record::FrameOwner};

/// The maximum number of checkpoints of other versions to remove per save: all eventually, but never many at once.
const MAX_OUTDATED_REMOVALS: u64 = 16;

pub fn apply_change(connection: &Connection, change: &IndexChange) -> Result<(), StoreError> {
    match change {
        IndexChange::Frames(frames) | IndexChange::Progress(frames, _) => {
            frames.iter().try_for_each(|frame| apply_frame(connection, frame))
        }
        IndexChange::SaveCheckpoint(session, checkpoint) => insert_checkpoint(connection, session, checkpoint),
        IndexChange::AddGarbage(session, owner) => add_garbage(connection, session, owner),
        IndexChange::RemoveGarbage(session) => {
            connection.prepare_cached("DELETE FROM garbage WHERE id = ?1")?.execute([session.as_str()])?;
            Ok(())
        }
    }
}

/// The row of a session before a frame.
struct IndexedSession {
    number: u64,
    sequence: u64,
    head: u64,
    hash: String,
    bytes: u64,
}

/// Applies a frame, unless it or a later one of its session was applied before.
fn apply_frame(connection: &Connection, stored: &StoredFrame) -> Result<(), StoreError> {
    let record = stored.frame.record();
    let id = record.id.as_str();
    let known = connection
        .prepare_cached("SELECT number, sequence, head, hash, bytes FROM sessions WHERE id = ?1")?
        .query_row([id], |row| {
            Ok(IndexedSession {
                number: row.get(0)?,
                sequence: row.get(1)?,
                head: row.get(2)?,
                hash: row.get(3)?,
                bytes: row.get(4)?,
            })
        })
        .optional()?;
    if record.deleted {
        if let Some(known) = known {
            add_garbage(connection, id, &record.owner)?;
            remove_session(connection, known.number)?;
        }
        connection.prepare_cached("INSERT OR IGNORE INTO tombstones (id) VALUES (?1)")?.execute([id])?;
        return Ok(());
    }
    if known.as_ref().is_some_and(|known| known.sequence >= stored.sequence) || is_deleted(connection, id)? {
        return Ok(());
    }
    let (head, hash) = known.as_ref().map_or((0, ""), |known| (known.head, &known.hash));
    if stored.frame.previous != hash || stored.frame.first != head + 1 {
        error!(session = id, sequence = stored.sequence, "a frame of the log before this one is missing or damaged");
    }
    let number = known.as_ref().map_or_else(|| record.number.unwrap_or(stored.sequence), |known| known.number);
    let bytes =
        known.as_ref().map_or(0, |known| known.bytes) + u64::try_from(stored.frame.event_bytes()).unwrap_or_default();
    upsert_session(connection, stored, number, bytes)?;
    insert_details(connection, stored, number)
}

/// Inserts the position of a frame, its runs and its objects.
fn insert_details(connection: &Connection, stored: &StoredFrame, number: u64) -> Result<(), StoreError> {
    let record = stored.frame.record();
    if stored.frame.has_events() {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO frames (session, last, first, sequence, kinds) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute((
                number,
                record.head,
                stored.frame.first,
                stored.sequence,
                stored.frame.kind_bits().cast_signed(),
            ))?;
    }
    for run in &stored.frame.summary.runs {
        connection
            .prepare_cached("INSERT OR REPLACE INTO runs (session, run, record) VALUES (?1, ?2, ?3)")?
            .execute((number, run.run, to_json(run)))?;
    }
    let events = match &stored.frame.events {
        FrameEvents::Inline(_) => None,
        FrameEvents::Object(name) => Some(name.as_str()),
    };
    for name in record.objects().chain(events) {
        connection
            .prepare_cached("INSERT OR IGNORE INTO objects (session, name) VALUES (?1, ?2)")?
            .execute((number, name))?;
    }
    Ok(())
}

fn upsert_session(connection: &Connection, stored: &StoredFrame, number: u64, bytes: u64) -> Result<(), StoreError> {
    let mut record = stored.frame.record().clone();
    record.number = Some(number);
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO sessions (number, id, agent, agent_session, state, open, archived, created, ended,
                 head, incarnation, sequence, hash, bytes, project, cwd, title, prompt, record, node)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        )?
        .execute(rusqlite::params![
            number,
            record.id.as_str(),
            record.agent.as_str(),
            record.agent_session.as_ref().map(|id| id.as_str()),
            record.state,
            record.is_open(),
            record.archived,
            record.created,
            record.ended,
            record.head,
            record.owner.incarnation,
            stored.sequence,
            stored.frame.hash,
            bytes,
            record.project,
            record.cwd,
            record.title,
            record.prompt.as_str(),
            to_json(&record),
            record.node(),
        ])?;
    Ok(())
}

/// Remembers the objects of a session that is deleted.
fn add_garbage(connection: &Connection, session: &str, owner: &FrameOwner) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO garbage (id, objects, owner)
             SELECT ?1, (SELECT json_group_array(name) FROM objects WHERE session = number), ?2
             FROM sessions WHERE id = ?1",
        )?
        .execute((session, to_json(owner)))?;
    Ok(())
}

fn remove_session(connection: &Connection, number: u64) -> Result<(), StoreError> {
    for statement in [
        "DELETE FROM frames WHERE session = ?1",
        "DELETE FROM runs WHERE session = ?1",
        "DELETE FROM objects WHERE session = ?1",
        "DELETE FROM checkpoints WHERE session = ?1",
        "DELETE FROM sessions WHERE number = ?1",
    ] {
        connection.prepare_cached(statement)?.execute([number])?;
    }
    Ok(())
}

fn is_deleted(connection: &Connection, id: &str) -> Result<bool, StoreError> {
    let mut select = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM tombstones WHERE id = ?1)")?;
    Ok(select.query_row([id], |row| row.get(0))?)
}

/// Inserts a checkpoint, unless one exists at its position, the session does not exist, or it is ahead of the session.
fn insert_checkpoint(connection: &Connection, session: &str, checkpoint: &Checkpoint) -> Result<(), StoreError> {
    let Checkpoint { dialect, version, seq, messages, state } = checkpoint;
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO checkpoints (session, dialect, version, seq, messages, state)
             SELECT number, ?2, ?3, ?4, ?5, ?6 FROM sessions WHERE id = ?1 AND head >= ?4",
        )?
        .execute((session, dialect, version, seq, messages, state))?;
    connection
        .prepare_cached(
            "DELETE FROM checkpoints WHERE rowid IN (
                 SELECT checkpoints.rowid FROM checkpoints, sessions
                 WHERE id = ?1 AND session = number AND dialect = ?2 AND (version < ?3 OR version > ?3) LIMIT ?4)",
        )?
        .execute((session, dialect, version, MAX_OUTDATED_REMOVALS))?;
    Ok(())
}

/// Serializes a value that consists of plain fields only.
fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
