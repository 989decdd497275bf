//! Counts of a reader: messages, gaps, and a hash to compare two readers.

use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::FixedState;

#[derive(Clone, Debug, Default)]
pub struct FeedTally {
    pub messages: u64,
    /// The `seq` of the last message, if messages are events.
    pub seq: u64,
    /// Number of events that did not follow the one before.
    pub gaps: u64,
    /// Hash of all messages so far, if computed.
    pub hash: u64,
    /// The last SSE id.
    pub id: Option<u64>,
    /// First timestamp of the agent, in nanoseconds since 1970.
    pub began: Option<u64>,
}

impl FeedTally {
    /// Counts an event, which must follow the one before.
    pub fn count_event(&mut self, text: &[u8]) {
        self.messages += 1;
        let seq = event_seq(text).unwrap_or_default();
        self.gaps += u64::from(seq != self.seq + 1);
        self.seq = seq;
        if self.began.is_none() {
            self.began = embedded_time(text);
        }
    }

    /// Adds a message of any dialect to the hash.
    pub fn hash_message(&mut self, text: &[u8]) {
        let mut hasher = FixedState::with_seed(self.hash).build_hasher();
        hasher.write(text);
        self.hash = hasher.finish();
        self.messages += 1;
    }
}

/// Returns the `seq` of an event. It is among the first fields, before any agent output.
#[must_use]
pub fn event_seq(text: &[u8]) -> Option<u64> {
    let head = text.get(..64).unwrap_or(text);
    let at = head.windows(6).position(|window| window == b"\"seq\":")? + 6;
    let digits = head.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit());
    let mut number = None;
    for digit in digits {
        number = Some(number.unwrap_or(0) * 10 + u64::from(digit - b'0'));
    }
    number
}

/// Returns the only number of 19 digits, a time in nanoseconds since 1970.
#[must_use]
pub fn embedded_time(text: &[u8]) -> Option<u64> {
    let mut numbers = text.split(|byte| !byte.is_ascii_digit()).filter(|digits| digits.len() == 19);
    std::str::from_utf8(numbers.next()?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found() {
        let event = br#"{"v":1,"seq":42,"id":"x","data":{"text":"1763264000000000001 words"}}"#;
        assert_eq!((event_seq(event), embedded_time(event)), (Some(42), Some(1_763_264_000_000_000_001)));
        assert_eq!((event_seq(b"{}"), embedded_time(b"12345")), (None, None));
    }

    #[test]
    fn a_gap_and_a_repetition_are_counted() {
        let gaps = |seqs: &[u64]| {
            let mut tally = FeedTally::default();
            seqs.iter().for_each(|seq| tally.count_event(format!(r#"{{"v":1,"seq":{seq}}}"#).as_bytes()));
            tally.gaps
        };
        assert_eq!((gaps(&[1, 2, 3]), gaps(&[1, 3]), gaps(&[1, 1]), gaps(&[2])), (0, 1, 1, 1));
    }

    #[test]
    fn the_order_counts() {
        let hash = |texts: &[&[u8]]| {
            let mut tally = FeedTally::default();
            texts.iter().for_each(|text| tally.hash_message(text));
            tally.hash
        };
        assert!(hash(&[b"a", b"b"]) != hash(&[b"b", b"a"]) && hash(&[b"ab"]) != hash(&[b"a", b"b"]));
    }
}
