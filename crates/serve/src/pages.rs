//! Pages of a session's messages, in one dialect: so many from a place on.

use std::time::Duration;

use bytes::Bytes;
use switchboard_dialects::Dialect;
use switchboard_engine::TailRead;
use tokio::time::{Instant, timeout_at};

use crate::{
    Problem, Service,
    feed::{Begin, Part},
};

/// A page has at most so many bytes; but always a message.
const LARGEST: usize = 4 << 20;

/// Which messages are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// From this message on, counted from 0.
    pub offset: u64,
    /// Of events behind this one, if one is named.
    pub after: Option<u64>,
    /// So many at most.
    pub limit: usize,
}

/// A page of messages.
#[derive(Debug, Default)]
pub struct Messaged {
    /// The messages, as they go on the wire.
    pub messages: Vec<Bytes>,
    /// Where the next page begins.
    pub next_offset: u64,
    /// The last event that this page, and all before it, say everything of.
    pub last_seq: u64,
    bytes: usize,
    /// The event whose messages are not all here yet.
    begun: Option<u64>,
}

impl Messaged {
    /// Adds what belongs to the page. Says whether there is room for more.
    fn add(&mut self, part: &Part, wanted: &Wanted) -> bool {
        let numbered = (part.first_offset()..).zip(part.messages());
        for (offset, message) in numbered.filter(|(offset, _)| *offset >= wanted.offset) {
            let is_full = self.bytes + message.json.len() > LARGEST && self.bytes > 0;
            // Who counts events cannot come back to the middle of one.
            let in_the_middle = wanted.after.is_some() && self.begun == Some(message.seq);
            if (is_full || self.messages.len() >= wanted.limit) && !in_the_middle {
                return false;
            }
            self.bytes += message.json.len();
            self.messages.push(message.json.clone());
            self.next_offset = offset + 1;
            self.begun = (!message.is_last).then_some(message.seq);
            self.last_seq = if message.is_last { message.seq } else { message.seq - 1 };
        }
        // Events that have nothing to say in this dialect are behind us, too.
        self.last_seq = part.last_seq();
        self.messages.len() < wanted.limit
    }
}

impl Service {
    /// A page of a session's messages. If there are none yet, and the session is open, waits for some.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    pub async fn page(
        &self,
        session: &str,
        dialect: &'static Dialect,
        wanted: Wanted,
        wait: Duration,
    ) -> Result<Messaged, Problem> {
        let deadline = Instant::now() + wait;
        let begin = wanted.after.map_or(Begin::Message(wanted.offset), Begin::Event);
        let mut reader = self.read(session, dialect, begin).await?;
        let mut page = Messaged { last_seq: wanted.after.unwrap_or(0), ..Messaged::default() };
        loop {
            let more = match reader.step().await? {
                TailRead::Events(part) => page.add(&part, &wanted),
                TailRead::Ended => false,
                TailRead::CaughtUp if !page.messages.is_empty() => false,
                TailRead::CaughtUp => tokio::select! {
                    next = timeout_at(deadline, reader.next()) => match next {
                        Ok(Ok(Some(part))) => page.add(&part, &wanted),
                        Ok(Ok(None)) | Err(_) => false,
                        Ok(Err(error)) => return Err(error.into()),
                    },
                    () = self.drain().begun() => false,
                },
            };
            if !more {
                if page.messages.is_empty() {
                    page.next_offset = reader.count().max(wanted.offset);
                    page.last_seq = page.last_seq.max(reader.seen());
                }
                return Ok(page);
            }
        }
    }
}
