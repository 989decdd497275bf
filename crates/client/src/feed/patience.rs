//! How often and how fast a connection is tried again.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

/// How a lost connection is found again. Pauses double, and are scattered so that many clients of one server do not
/// all return at once.
#[derive(Clone, Copy, Debug)]
pub struct Reconnect {
    /// The first pause.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// After so many failures in a row it is given up.
    pub attempts: u32,
    /// After so much silence the server is asked whether it is still there, and after as much again it is not.
    pub heartbeat: Duration,
    /// How often a server that cannot be made to wait is asked for news.
    pub poll: Duration,
    /// Never use a WebSocket.
    pub polling_only: bool,
}

impl Default for Reconnect {
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

impl Reconnect {
    /// The pause after so many failures, from 1.
    pub(super) fn pause(&self, failures: u32) -> Duration {
        let whole = self.first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(self.longest);
        // Between half and all of it. Any hasher has a seed of its own.
        let half = whole / 2;
        let dice = u32::try_from(RandomState::new().hash_one(failures) % 1024).unwrap_or_default();
        half + half * dice / 1024
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Reconnect;

    #[test]
    fn pauses_grow_and_are_bounded() {
        let reconnect = Reconnect::default();
        for (failures, longest) in [(1, 100), (2, 200), (3, 400), (7, 5000), (40, 5000)] {
            let pause = reconnect.pause(failures);
            let longest = Duration::from_millis(longest);
            assert!(pause >= longest / 2 && pause <= longest, "{failures}: {pause:?}");
        }
    }
}
