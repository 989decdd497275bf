//! What a reader keeps of what it reads: how much, whether anything was missing, and a hash by which two readers can be
//! compared.

use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::FixedState;

/// What came.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many messages.
    pub messages: u64,
    /// The `seq` of the last message, where messages are events.
    pub seq: u64,
    /// How many events did not follow the one before them.
    pub gaps: u64,
    /// The hash of all messages so far, if one is made.
    pub hash: u64,
    /// The last id that came.
    pub id: Option<u64>,
    /// The time that the agent said first, in nanoseconds since 1970.
    pub began: Option<u64>,
}

impl Tally {
    /// An event in its own JSON: it must follow the one before it.
    pub fn event(&mut self, text: &[u8]) {
        self.messages += 1;
        let seq = seq(text).unwrap_or_default();
        self.gaps += u64::from(seq != self.seq + 1);
        self.seq = seq;
        if self.began.is_none() {
            self.began = stamp(text);
        }
    }

    /// A message of any dialect: it is added to the hash.
    pub fn hash(&mut self, text: &[u8]) {
        let mut hasher = FixedState::with_seed(self.hash).build_hasher();
        hasher.write(text);
        self.hash = hasher.finish();
        self.messages += 1;
    }
}

/// The `seq` of an event. It is among its first fields; what an agent says is behind them.
#[must_use]
pub fn seq(text: &[u8]) -> Option<u64> {
    let head = text.get(..64).unwrap_or(text);
    let at = head.windows(6).position(|window| window == b"\"seq\":")? + 6;
    let digits = head.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit());
    let mut number = None;
    for digit in digits {
        number = Some(number.unwrap_or(0) * 10 + u64::from(digit - b'0'));
    }
    number
}

/// The time in a text: the only number of 19 digits, in nanoseconds since 1970.
#[must_use]
pub fn stamp(text: &[u8]) -> Option<u64> {
    let mut numbers = text.split(|byte| !byte.is_ascii_digit()).filter(|digits| digits.len() == 19);
    std::str::from_utf8(numbers.next()?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found() {
        let event = br#"{"v":1,"seq":42,"id":"x","data":{"text":"1763264000000000001 words"}}"#;
        assert_eq!((seq(event), stamp(event)), (Some(42), Some(1_763_264_000_000_000_001)));
        assert_eq!((seq(b"{}"), stamp(b"12345")), (None, None));
    }

    #[test]
    fn a_gap_and_a_repetition_are_counted() {
        let gaps = |seqs: &[u64]| {
            let mut tally = Tally::default();
            seqs.iter().for_each(|seq| tally.event(format!(r#"{{"v":1,"seq":{seq}}}"#).as_bytes()));
            tally.gaps
        };
        assert_eq!((gaps(&[1, 2, 3]), gaps(&[1, 3]), gaps(&[1, 1]), gaps(&[2])), (0, 1, 1, 1));
    }

    #[test]
    fn the_order_counts() {
        let hash = |texts: &[&[u8]]| {
            let mut tally = Tally::default();
            texts.iter().for_each(|text| tally.hash(text));
            tally.hash
        };
        assert!(hash(&[b"a", b"b"]) != hash(&[b"b", b"a"]) && hash(&[b"ab"]) != hash(&[b"a", b"b"]));
    }
}
