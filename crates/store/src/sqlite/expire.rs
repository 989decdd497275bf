//! Selects the sessions that exceed the retention.

use rusqlite::Connection;
use switchboard_event::Id;

use crate::StoreError;

/// A session that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EndedSession {
    pub id: Id,
    /// The time of the end, in microseconds.
    pub at: i64,
}

/// Returns the ended sessions in the order of their ends.
pub(super) fn list_ended_sessions(connection: &Connection) -> Result<Vec<EndedSession>, StoreError> {
    let mut select =
        connection.prepare_cached("SELECT id, ended FROM sessions WHERE open = 0 ORDER BY ended, number")?;
    let ended = select.query_map([], |row| {
        Ok(EndedSession { id: row.get_ref(0)?.as_str()?.into(), at: row.get::<_, Option<i64>>(1)?.unwrap_or_default() })
    })?;
    Ok(ended.collect::<Result<_, _>>()?)
}

/// Returns the number of used bytes of the file.
pub(super) fn used_bytes(connection: &Connection) -> Result<u64, StoreError> {
    let figure = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
    Ok(figure("page_count")?.saturating_sub(figure("freelist_count")?) * figure("page_size")?)
}
