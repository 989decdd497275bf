//! Retention of sessions. Only ended sessions are deleted.

use std::time::Duration;

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
