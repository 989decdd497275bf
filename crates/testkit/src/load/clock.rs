//! The clock that fakes write into what they say.

use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970, by the clock that all programs of a machine share.
#[expect(clippy::disallowed_methods, reason = "whoever measures a fake needs to know when it spoke")]
#[must_use]
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
