//! The checksum of a stored event. It detects corrupted bytes and swapped rows; it does not protect against deliberate
//! manipulation.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Computes the checksums of one session's events.
#[derive(Clone, Copy)]
pub(super) struct SessionChecksum(u64);

impl SessionChecksum {
    pub fn new(session: &str) -> Self {
        Self(xxh3_64(session.as_bytes()))
    }

    pub fn event_checksum(self, seq: u64, kind: &[u8], body: &[u8]) -> i64 {
        let body = xxh3_64_with_seed(body, self.0.wrapping_add(seq));
        // SQLite's integers are signed; only the bits matter.
        xxh3_64_with_seed(kind, body).cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::SessionChecksum;

    #[test]
    fn whatever_changes_changes_the_checksum() {
        let sound = SessionChecksum::new("s").event_checksum(7, b"usage", b"{}");
        assert_eq!(sound, SessionChecksum::new("s").event_checksum(7, b"usage", b"{}"));
        for (session, seq, kind, body) in
            [("t", 7, "usage", "{}"), ("s", 8, "usage", "{}"), ("s", 7, "turn", "{}"), ("s", 7, "usage", "{ }")]
        {
            let other = SessionChecksum::new(session).event_checksum(seq, kind.as_bytes(), body.as_bytes());
            assert_ne!(other, sound, "{session} {seq} {kind} {body}");
        }
    }
}
