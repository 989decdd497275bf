//! A reader that follows a session to its end and counts the messages.

use std::{
    hash::{BuildHasher as _, Hasher as _},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use foldhash::fast::FixedState;
use switchboard_dialects::Dialect;

use super::client::{BufferedSocket, TestApiClient};
use super::feed::{FeedEnd, FeedOrigin, FeedTransport, LoadFeed, stream_path};
use super::unix_nanos;

#[derive(Clone, Copy, Debug, Default)]
pub struct ReaderBehavior {
    /// Delay before it starts.
    pub late: Duration,
    /// Messages per second, and for how long; then it reads at full speed.
    pub slow: Option<(u32, Duration)>,
    /// Reconnects after this number of messages.
    pub hop: Option<u64>,
}

pub struct FeedReader<'a> {
    pub api: &'a TestApiClient,
    pub wire: FeedTransport,
    pub session: &'a str,
    pub dialect: &'a Dialect,
    pub manner: ReaderBehavior,
}

#[derive(Clone, Debug, Default)]
pub struct FeedReadResult {
    pub tally: FeedTally,
    /// Arrival of the last message but one, in nanoseconds since 1970. The last is the end of the session, which waits
    /// for the agent's process.
    pub at: u64,
    pub connections: u64,
    last: u64,
}

/// Bytes in a slow reader's buffer count as read for the server.
const SLOW_READER_BUFFER_BYTES: usize = 8 << 10;

impl FeedReader<'_> {
    /// Reads to the end.
    pub fn run(&self) -> anyhow::Result<FeedReadResult> {
        thread::sleep(self.manner.late);
        let mut read = FeedReadResult::default();
        let pace = self.manner.slow.map(|(rate, time)| ReadPace { rate, time, began: Instant::now() });
        loop {
            let mut feed = self.open_feed(&read.tally).context("cannot follow the session")?;
            read.connections += 1;
            match self.read_connection(&mut feed, &mut read, pace.as_ref())? {
                Some(FeedEnd::Closed(None | Some(1000))) => return Ok(read),
                Some(end) => bail!("the stream ended too soon, after {} messages: {end:?}", read.tally.messages),
                None => {}
            }
        }
    }

    fn open_feed(&self, tally: &FeedTally) -> anyhow::Result<LoadFeed> {
        let from = self.resume_origin(tally);
        let size = if self.manner.slow.is_some() { SLOW_READER_BUFFER_BYTES } else { 256 << 10 };
        let socket = BufferedSocket::with_buffer(self.api.port, size)?;
        Ok(LoadFeed::open_on(
            socket,
            self.api,
            self.wire,
            &stream_path(self.wire, self.session, self.dialect.name, from),
            from,
        )?)
    }

    /// Returns where to continue: after the last reported event, or after the number of messages.
    fn resume_origin(&self, tally: &FeedTally) -> FeedOrigin {
        match (tally.messages, self.wire) {
            (0, _) => FeedOrigin::Start,
            _ if self.dialect.verbatim => FeedOrigin::Event(tally.seq),
            (_, FeedTransport::Sse) => FeedOrigin::Event(tally.id.unwrap_or(0)),
            (messages, FeedTransport::WebSocket) => FeedOrigin::Message(messages),
        }
    }

    /// Reads to the end, or until it is time to reconnect.
    fn read_connection(
        &self,
        feed: &mut LoadFeed,
        read: &mut FeedReadResult,
        pace: Option<&ReadPace>,
    ) -> anyhow::Result<Option<FeedEnd>> {
        let (mut left, mut complete) = (self.manner.hop.unwrap_or(u64::MAX), true);
        let (verbatim, tells) = (self.dialect.verbatim, self.wire == FeedTransport::Sse);
        // SSE can only be resumed after the last message of an event, which carries the id.
        while left > 0 || !complete {
            let tally = &mut read.tally;
            let end = feed.next(&mut |message| {
                if verbatim {
                    tally.count_event(message.text);
                } else {
                    tally.hash_message(message.text);
                }
                tally.id = message.id.or(tally.id);
                complete = message.id.is_some() || !tells;
            })?;
            if end.is_some() {
                return Ok(end);
            }
            (read.at, read.last) = (read.last, unix_nanos());
            left = left.saturating_sub(1);
            if let Some(pace) = pace {
                pace.throttle(read.tally.messages);
            }
        }
        Ok(None)
    }
}

struct ReadPace {
    rate: u32,
    time: Duration,
    began: Instant,
}

impl ReadPace {
    fn throttle(&self, messages: u64) {
        if self.began.elapsed() < self.time {
            let moment = Duration::from_secs(messages) / self.rate;
            thread::sleep(moment.min(self.time).saturating_sub(self.began.elapsed()));
        }
    }
}

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
