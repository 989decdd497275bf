//! How long sessions are kept. Only what has ended is ever deleted by this.

use std::time::Duration;

/// Which sessions are kept no longer. Each rule that is given is kept; the default is to keep everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Those that ended longer ago than this go.
    pub older_than: Option<Duration>,
    /// Of those that have ended, so many are kept: the ones that ended last.
    pub keep_last: Option<usize>,
    /// While the log takes more than so many bytes, the ones that ended first go. What is open stays, also if that alone
    /// takes more.
    pub max_bytes: Option<u64>,
}
