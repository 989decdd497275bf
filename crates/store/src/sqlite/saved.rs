//! Saved projections.

use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::{At, Checkpoint, StoreError};

/// So many checkpoints of other versions are removed when one is saved: all in the end, and never many at once.
const OUTDATED: u64 = 16;

/// Keeps a checkpoint. What is there already stays, and what is of no session, or ahead of it, is not kept.
pub(super) fn write(connection: &Connection, session: &str, checkpoint: &Checkpoint) -> Result<(), StoreError> {
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
        .execute((session, dialect, version, OUTDATED))?;
    Ok(())
}

/// The last checkpoint at or before a place.
pub(super) fn read(
    connection: &Connection,
    session: u64,
    dialect: &str,
    version: &str,
    at: At,
) -> Result<Option<Checkpoint>, StoreError> {
    let (mut select, place) = match at {
        At::Seq(seq) => (
            connection.prepare_cached(
                "SELECT dialect, version, seq, messages, state FROM checkpoints
                 WHERE session = ?1 AND dialect = ?2 AND version = ?3 AND seq <= ?4 ORDER BY seq DESC LIMIT 1",
            )?,
            seq,
        ),
        At::Message(messages) => (
            connection.prepare_cached(
                "SELECT dialect, version, seq, messages, state FROM checkpoints
                 WHERE session = ?1 AND dialect = ?2 AND version = ?3 AND messages <= ?4
                 ORDER BY messages DESC, seq DESC LIMIT 1",
            )?,
            messages,
        ),
    };
    let place = i64::try_from(place).unwrap_or(i64::MAX);
    Ok(select.query_row((session, dialect, version, place), to_checkpoint).optional()?)
}

fn to_checkpoint(row: &Row<'_>) -> rusqlite::Result<Checkpoint> {
    Ok(Checkpoint {
        dialect: row.get(0)?,
        version: row.get(1)?,
        seq: row.get(2)?,
        messages: row.get(3)?,
        state: row.get(4)?,
    })
}
