//! Retention of sessions. Only ended sessions are deleted.

use std::time::Duration;

use switchboard_event::Timestamp;

/// The limits beyond which ended sessions are deleted. All given rules apply; the default keeps everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Delete sessions that ended longer ago than this.
    pub older_than: Option<Duration>,
    /// Keep only this number of ended sessions, the ones that ended last.
    pub keep_last: Option<usize>,
    /// While the log is larger than this, delete the sessions that ended first. Open sessions are kept even if they
    /// alone exceed the limit.
    pub max_bytes: Option<u64>,
}

impl Retention {
    /// Returns the number of sessions, from the first, that are too old or too many. The times of the ends are in
    /// microseconds and in order.
    #[must_use]
    pub fn count_expired(&self, ends: impl ExactSizeIterator<Item = i64>, now: Timestamp) -> usize {
        let count = ends.len();
        let age = self.older_than.map(|age| i64::try_from(age.as_micros()).unwrap_or(i64::MAX));
        let oldest = age.map(|age| now.as_micros().saturating_sub(age));
        let old = oldest.map_or(0, |oldest| ends.take_while(|at| *at < oldest).count());
        let many = self.keep_last.map_or(0, |kept| count.saturating_sub(kept));
        old.max(many)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Retention, Timestamp};

    #[test]
    fn the_old_and_the_many_go_from_the_first() {
        let ends: Vec<i64> = (1..6).map(|second| second * 1_000_000).collect();
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
            assert_eq!(retention.count_expired(ends.iter().copied(), now), expected, "{retention:?}");
        }
    }
}
