//! A reader that follows a session to its end and counts the messages.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use switchboard_dialects::Dialect;

use super::{
    api::TestApiClient,
    clock::unix_nanos,
    feed::{FeedEnd, FeedOrigin, FeedTransport, LoadFeed, stream_path},
    socket::BufferedSocket,
    tally::FeedTally,
};

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
