//! Following a session: first what is in the log, then what is added to it. Each follower has its own place; one
//! that is slow reads from the log what memory no longer has, and delays nobody.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_event::{Event, Id};
use switchboard_store::{Log, Page, StoreError};
use tokio::sync::Notify;

/// So much of a session's end is kept in memory for those who follow it closely.
const TAIL_BYTES: usize = 256 << 10;

/// So much is read from the log at once.
const PAGE_EVENTS: usize = 512;
const PAGE_BYTES: usize = 1 << 20;

/// The end of a session's log, as far as it is committed.
pub struct Head {
    session: Id,
    tail: Mutex<Tail>,
    changed: Notify,
}

#[derive(Default)]
struct Tail {
    /// The last events, each with its size.
    events: VecDeque<(Arc<Event>, usize)>,
    bytes: usize,
    /// The number of the last committed event.
    last: u64,
    ended: bool,
}

impl Head {
    /// The head of a log that has so many events already.
    pub(crate) fn new(session: Id, last: u64) -> Arc<Self> {
        let tail = Mutex::new(Tail { last, ..Tail::default() });
        Arc::new(Self { session, tail, changed: Notify::new() })
    }

    /// Events were committed.
    pub(crate) fn advance(&self, events: &[(Arc<Event>, usize)]) {
        let mut tail = self.tail();
        for (event, size) in events {
            tail.last = event.seq;
            tail.bytes += size;
            tail.events.push_back((event.clone(), *size));
        }
        while tail.bytes > TAIL_BYTES && tail.events.len() > 1 {
            if let Some((_, size)) = tail.events.pop_front() {
                tail.bytes -= size;
            }
        }
        drop(tail);
        self.changed.notify_waiters();
    }

    /// Nothing more will be added by this process.
    pub(crate) fn end(&self) {
        self.tail().ended = true;
        self.changed.notify_waiters();
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One reader of a session.
pub struct Follower {
    head: Arc<Head>,
    log: Arc<dyn Log>,
    /// The last event it has seen.
    seen: u64,
}

enum Next {
    Here(Vec<Arc<Event>>),
    InLog,
    Nothing,
    Over,
}

impl Follower {
    /// A reader that has seen the events up to this one.
    pub(crate) fn new(head: Arc<Head>, log: Arc<dyn Log>, seen: u64) -> Self {
        Self { head, log, seen }
    }

    /// The next events, as many as there are; nothing once the session has ended and all was seen. May be dropped
    /// while it waits, and nothing is missed.
    pub async fn next(&mut self) -> Result<Option<Vec<Arc<Event>>>, StoreError> {
        loop {
            // Registered before looking, so that a change between looking and waiting wakes us.
            let head = self.head.clone();
            let changed = head.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let events = match self.look() {
                Next::Here(events) => events,
                Next::InLog => {
                    let page = Page { after: self.seen, limit: PAGE_EVENTS, max_bytes: PAGE_BYTES };
                    self.log.page(&self.head.session, page)?.into_iter().map(Arc::new).collect()
                }
                Next::Over => return Ok(None),
                Next::Nothing => {
                    changed.await;
                    continue;
                }
            };
            self.seen = events.last().map_or(self.seen, |event| event.seq);
            return Ok(Some(events));
        }
    }

    fn look(&self) -> Next {
        let tail = self.head.tail();
        if self.seen >= tail.last {
            return if tail.ended { Next::Over } else { Next::Nothing };
        }
        match tail.events.front() {
            Some((first, _)) if first.seq <= self.seen + 1 => {
                let unseen = tail.events.iter().filter(|(event, _)| event.seq > self.seen);
                Next::Here(unseen.map(|(event, _)| event.clone()).collect())
            }
            _ => Next::InLog,
        }
    }
}
