//! Pages of a session's messages, in one dialect: so many from a place on. The projection is played from the
//! beginning, so that every page says what a stream would.

use std::time::Duration;

use bytes::Bytes;
use switchboard_dialects::{Dialect, Messages};
use switchboard_store::{Log, Page, StoreError};

use crate::{Problem, Service};

/// A page has at most so many bytes; but always a message.
const LARGEST: usize = 4 << 20;

/// So much of a log is read at once.
const CHUNK: Page = Page { after: 0, limit: 2048, max_bytes: 4 << 20 };

/// Which messages are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// From this message on, counted from 0.
    pub offset: u64,
    /// Of events behind this one.
    pub after: u64,
    /// So many at most.
    pub limit: usize,
}

/// A page of messages.
pub struct Messaged {
    /// The messages, as they go on the wire.
    pub messages: Vec<Bytes>,
    /// Where the next page begins.
    pub next_offset: u64,
    /// The last event that this page, and all before it, say everything of.
    pub last_seq: u64,
}

/// Reads a page.
fn read(log: &dyn Log, session: &str, dialect: &Dialect, wanted: Wanted) -> Result<Messaged, StoreError> {
    let mut projection = (dialect.projection)();
    let mut out = Messages::default();
    let mut page = Messaged { messages: Vec::new(), next_offset: wanted.offset, last_seq: 0 };
    let (mut after, mut place, mut size) = (0, 0_u64, 0);
    loop {
        let events = log.page(session, Page { after, ..CHUNK })?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        for event in &events {
            out.clear();
            projection.event(event, &mut out);
            for message in out.iter() {
                if place >= wanted.offset && event.seq > wanted.after {
                    if page.messages.len() >= wanted.limit || (size + message.len() > LARGEST && size > 0) {
                        page.next_offset = place;
                        return Ok(page);
                    }
                    size += message.len();
                    page.messages.push(Bytes::copy_from_slice(message));
                }
                place += 1;
            }
            page.last_seq = event.seq;
        }
    }
    page.next_offset = place.max(wanted.offset);
    Ok(page)
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
        let deadline = tokio::time::Instant::now() + wait;
        loop {
            let id = session.to_owned();
            let page = self.ask(move |log| read(log, &id, dialect, wanted)).await?;
            if !page.messages.is_empty() || wait.is_zero() || tokio::time::Instant::now() >= deadline {
                return Ok(page);
            }
            let over = tokio::time::timeout_at(deadline, self.more(session, page.last_seq)).await;
            if matches!(over, Ok(Ok(false))) {
                // It ended, perhaps with something to say since we looked.
                let id = session.to_owned();
                return self.ask(move |log| read(log, &id, dialect, wanted)).await;
            }
        }
    }

    /// Waits for an event behind one. Says no if none will come.
    async fn more(&self, session: &str, after: u64) -> Result<bool, Problem> {
        let (engine, session) = (self.engine().clone(), session.to_owned());
        let mut follower = self.ask(move |_| engine.follow(&session, after)).await?;
        Ok(follower.next().await?.is_some())
    }
}
