//! The clock whose time fakes write into their output.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns nanoseconds since 1970 by the clock that all programs on this machine share.
#[expect(clippy::disallowed_methods, reason = "whoever measures a fake needs to know when it spoke")]
#[must_use]
pub fn unix_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
