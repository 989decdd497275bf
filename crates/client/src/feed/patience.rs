//! The policy for reconnecting.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

/// The policy for reconnecting. Delays double, with jitter so that the clients of one server do not all return at once.
#[derive(Clone, Copy, Debug)]
pub struct ReconnectPolicy {
    /// The first delay.
    pub first: Duration,
    /// The longest delay.
    pub longest: Duration,
    /// The maximum number of failures in a row.
    pub attempts: u32,
    /// The time of silence after which a ping is sent. After the same time again the connection counts as broken.
    pub heartbeat: Duration,
    /// The polling interval for servers without long polling.
    pub poll: Duration,
    /// Poll only, without WebSockets.
    pub polling_only: bool,
}

impl Default for ReconnectPolicy {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(100),
            longest: Duration::from_secs(5),
            attempts: 12,
            heartbeat: Duration::from_secs(20),
            poll: Duration::from_millis(500),
            polling_only: false,
        }
    }
}

impl ReconnectPolicy {
    /// Returns the delay after a number of failures, from 1.
    pub(super) fn retry_delay(&self, failures: u32) -> Duration {
        let whole = self.first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(self.longest);
        // Jitter between half and all of it. Every hasher has its own random seed.
        let half = whole / 2;
        let dice = u32::try_from(RandomState::new().hash_one(failures) % 1024).unwrap_or_default();
        half + half * dice / 1024
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ReconnectPolicy;

    #[test]
    fn pauses_grow_and_are_bounded() {
        let reconnect = ReconnectPolicy::default();
        for (failures, longest) in [(1, 100), (2, 200), (3, 400), (7, 5000), (40, 5000)] {
            let pause = reconnect.retry_delay(failures);
            let longest = Duration::from_millis(longest);
            assert!(pause >= longest / 2 && pause <= longest, "{failures}: {pause:?}");
        }
    }
}
