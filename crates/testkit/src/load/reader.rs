//! One who follows a session to its end, in some manner, and keeps a tally.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use switchboard_dialects::Dialect;

use super::{
    api::Api,
    clock::now,
    feed::{End, Feed, From, Wire, path},
    socket::Socket,
    tally::Tally,
};

/// How a reader reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// It begins that late.
    pub late: Duration,
    /// It reads so many messages a second, for so long; then it hurries.
    pub slow: Option<(u32, Duration)>,
    /// It breaks its connection off after so many messages, and goes on where it was.
    pub hop: Option<u64>,
}

/// A reader of a session.
pub struct Reader<'a> {
    /// The server.
    pub api: &'a Api,
    /// How messages come.
    pub wire: Wire,
    /// The session.
    pub session: &'a str,
    /// The dialect.
    pub dialect: &'a Dialect,
    /// How it reads.
    pub manner: Manner,
}

/// What a reader has read.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// What came.
    pub tally: Tally,
    /// When the last message but one came, in nanoseconds since 1970. The last is the end of the session, which waits
    /// for the agent's process.
    pub at: u64,
    /// How often it connected.
    pub connections: u64,
    last: u64,
}

/// A slow reader's buffer: what lies in it is read as far as the server knows.
const SMALL: usize = 8 << 10;

impl Reader<'_> {
    /// Reads to the end.
    pub fn run(&self) -> anyhow::Result<Read> {
        thread::sleep(self.manner.late);
        let mut read = Read::default();
        let pace = self.manner.slow.map(|(rate, time)| Pace { rate, time, began: Instant::now() });
        loop {
            let mut feed = self.open(&read.tally).context("cannot follow the session")?;
            read.connections += 1;
            match self.some(&mut feed, &mut read, pace.as_ref())? {
                Some(End::Closed(None | Some(1000))) => return Ok(read),
                Some(end) => bail!("the stream ended too soon, after {} messages: {end:?}", read.tally.messages),
                None => {}
            }
        }
    }

    fn open(&self, tally: &Tally) -> anyhow::Result<Feed> {
        let from = self.from(tally);
        let size = if self.manner.slow.is_some() { SMALL } else { 256 << 10 };
        let socket = Socket::with_buffer(self.api.port, size)?;
        Ok(Feed::on(socket, self.api, self.wire, &path(self.wire, self.session, self.dialect.name, from), from)?)
    }

    /// Where it goes on: behind the event that the wire has told, else behind as many messages.
    fn from(&self, tally: &Tally) -> From {
        match (tally.messages, self.wire) {
            (0, _) => From::Start,
            _ if self.dialect.verbatim => From::Event(tally.seq),
            (_, Wire::Sse) => From::Event(tally.id.unwrap_or(0)),
            (messages, Wire::WebSocket) => From::Message(messages),
        }
    }

    /// Reads until the end, or until it is time to break off.
    fn some(&self, feed: &mut Feed, read: &mut Read, pace: Option<&Pace>) -> anyhow::Result<Option<End>> {
        let (mut left, mut complete) = (self.manner.hop.unwrap_or(u64::MAX), true);
        let (verbatim, tells) = (self.dialect.verbatim, self.wire == Wire::Sse);
        // Server-sent events can be broken off behind the last message of an event only: that one has the id.
        while left > 0 || !complete {
            let tally = &mut read.tally;
            let end = feed.next(&mut |message| {
                if verbatim {
                    tally.event(message.text);
                } else {
                    tally.hash(message.text);
                }
                tally.id = message.id.or(tally.id);
                complete = message.id.is_some() || !tells;
            })?;
            if end.is_some() {
                return Ok(end);
            }
            (read.at, read.last) = (read.last, now());
            left = left.saturating_sub(1);
            if let Some(pace) = pace {
                pace.keep(read.tally.messages);
            }
        }
        Ok(None)
    }
}

/// A steady pace, for a while.
struct Pace {
    rate: u32,
    time: Duration,
    began: Instant,
}

impl Pace {
    fn keep(&self, messages: u64) {
        if self.began.elapsed() < self.time {
            let moment = Duration::from_secs(messages) / self.rate;
            thread::sleep(moment.min(self.time).saturating_sub(self.began.elapsed()));
        }
    }
}
