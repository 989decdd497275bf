//! Selects the sessions that exceed the retention.

use rusqlite::Connection;
use switchboard_event::{Id, Timestamp};

use crate::{Retention, StoreError};

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

/// Returns the number of sessions, from the first, that are too old or too many.
pub(super) fn count_expired(ended: &[EndedSession], retention: &Retention, now: Timestamp) -> usize {
    let age = retention.older_than.map(|age| i64::try_from(age.as_micros()).unwrap_or(i64::MAX));
    let oldest = age.map(|age| now.as_micros().saturating_sub(age));
    let old = oldest.map_or(0, |oldest| ended.partition_point(|session| session.at < oldest));
    let many = retention.keep_last.map_or(0, |kept| ended.len().saturating_sub(kept));
    old.max(many)
}

/// Returns the number of used bytes of the file.
pub(super) fn used_bytes(connection: &Connection) -> Result<u64, StoreError> {
    let figure = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
    Ok(figure("page_count")?.saturating_sub(figure("freelist_count")?) * figure("page_size")?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{EndedSession, Id, Retention, Timestamp, count_expired};

    #[test]
    fn the_old_and_the_many_go_from_the_first() {
        let ended: Vec<_> = (1..=5).map(|second| EndedSession { id: Id::from("s"), at: second * 1_000_000 }).collect();
        let now = Timestamp::from_micros(10_000_000).unwrap_or_default();
        let age = |seconds| Some(Duration::from_secs(seconds));
        for (older_than, keep_last, expected) in [
            (None, None, 0),
            (age(7), None, 2),
            (age(0), None, 5),
            (age(u64::MAX), None, 0),
            (None, Some(0), 5),
            (None, Some(4), 1),
            (None, Some(9), 0),
            (age(7), Some(4), 2),
            (age(9), Some(1), 4),
        ] {
            let retention = Retention { older_than, keep_last, max_bytes: None };
            assert_eq!(count_expired(&ended, &retention, now), expected, "{retention:?}");
        }
    }
}
