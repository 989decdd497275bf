//! The rows of checkpoints of projections.

use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::{Checkpoint, CheckpointPosition, StoreError};

/// The maximum number of checkpoints of other versions to remove per save: all eventually, but never many at once.
const MAX_OUTDATED_REMOVALS: u64 = 16;

/// Inserts a checkpoint, unless one exists at its position, the session does not exist, or it is ahead of the session.
pub(super) fn insert_checkpoint(
    connection: &Connection,
    session: &str,
    checkpoint: &Checkpoint,
) -> Result<(), StoreError> {
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

/// Returns the last checkpoint at or before a position.
pub(super) fn find_checkpoint(
    connection: &Connection,
    session: u64,
    dialect: &str,
    version: &str,
    at: CheckpointPosition,
) -> Result<Option<Checkpoint>, StoreError> {
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
