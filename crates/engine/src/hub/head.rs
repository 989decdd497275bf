//! The end of a session's log as far as it is committed: the last events in memory, and what is open.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use switchboard_event::{Body, Id, Info, RequestOpened};
use switchboard_store::Chunk;
use tokio::sync::{Notify, futures::Notified};

use super::Slice;

/// So much of its end may a session always keep in memory, for those who follow it closely.
const ALWAYS: usize = 64 << 10;

/// So much may it keep while there is room for all.
const AT_MOST: usize = 2 << 20;

/// About so much is given out at once. Who is slow to send it on keeps it in memory for so long.
const AT_ONCE: usize = 256 << 10;

/// So much may all sessions together keep beyond that.
const TOGETHER: usize = 16 << 20;

/// What all sessions together keep in memory.
#[derive(Default)]
pub struct Room(AtomicUsize);

/// The end of a session's log, as far as it is committed.
pub struct Head {
    session: Id,
    room: Arc<Room>,
    tail: Mutex<Tail>,
    changed: Notify,
}

#[derive(Default)]
struct Tail {
    chunks: VecDeque<Arc<Chunk>>,
    bytes: usize,
    /// The number of the last committed event.
    last: u64,
    ended: bool,
    /// The session was deleted; who asks the log finds out.
    gone: bool,
    /// The end of this run is told.
    over: bool,
    /// What the agent asks and nobody has answered.
    requests: Vec<Arc<RequestOpened>>,
    /// What the agent said about itself in this run.
    info: Info,
    in_turn: bool,
}

/// What there is behind a place.
pub enum Found {
    Here(Slice),
    InLog,
    Nothing,
    Over,
}

impl Head {
    /// The head of a log that has so many events already.
    pub fn new(session: Id, last: u64, room: Arc<Room>) -> Arc<Self> {
        let tail = Mutex::new(Tail { last, ..Tail::default() });
        Arc::new(Self { session, room, tail, changed: Notify::new() })
    }

    /// The head of a session that has ended.
    pub fn ended(session: Id, last: u64, room: Arc<Room>) -> Arc<Self> {
        let head = Self::new(session, last, room);
        head.end();
        head
    }

    pub fn session(&self) -> &Id {
        &self.session
    }

    /// Events were committed.
    pub fn advance(&self, chunk: Arc<Chunk>) {
        let Some(last) = chunk.last_seq() else { return };
        let mut tail = self.tail();
        tail.last = last;
        tail.learn(&chunk);
        tail.bytes += chunk.bytes();
        self.room.0.fetch_add(chunk.bytes(), Ordering::Relaxed);
        tail.chunks.push_back(chunk);
        let most = if self.room.0.load(Ordering::Relaxed) > TOGETHER { ALWAYS } else { AT_MOST };
        while tail.bytes > most && tail.chunks.len() > 1 {
            self.forget_first(&mut tail);
        }
        drop(tail);
        self.changed.notify_waiters();
    }

    /// Somebody else committed events: they are in the log.
    pub fn reach(&self, last: u64) {
        let mut tail = self.tail();
        if last <= tail.last {
            return;
        }
        tail.last = last;
        while !tail.chunks.is_empty() {
            self.forget_first(&mut tail);
        }
        drop(tail);
        self.changed.notify_waiters();
    }

    /// Nothing more will be added by this process.
    pub fn end(&self) {
        self.tail().ended = true;
        self.changed.notify_waiters();
    }

    /// The session is no longer in the log.
    pub fn vanish(&self) {
        let mut tail = self.tail();
        (tail.gone, tail.ended) = (true, true);
        drop(tail);
        self.changed.notify_waiters();
    }

    /// Is told when something changed.
    pub fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// What there is behind a place.
    pub fn behind(&self, seen: u64) -> Found {
        let tail = self.tail();
        if tail.gone {
            return Found::InLog;
        }
        if seen >= tail.last {
            return if tail.ended { Found::Over } else { Found::Nothing };
        }
        let first = tail.chunks.partition_point(|chunk| chunk.last_seq().is_some_and(|last| last <= seen));
        match tail.chunks.get(first).and_then(|chunk| chunk.first_seq()) {
            Some(start) if start <= seen + 1 => {
                let skip = usize::try_from(seen + 1 - start).unwrap_or(usize::MAX);
                let mut bytes = 0;
                let few = tail.chunks.range(first..).take_while(|chunk| {
                    let room = bytes < AT_ONCE;
                    bytes += chunk.bytes();
                    room
                });
                Found::Here(Slice::from_memory(few.cloned().collect(), skip))
            }
            _ => Found::InLog,
        }
    }

    /// The end of this run is told.
    pub fn is_over(&self) -> bool {
        let tail = self.tail();
        tail.over || tail.ended
    }

    /// Nothing more will be added.
    pub fn is_ended(&self) -> bool {
        self.tail().ended
    }

    pub fn last(&self) -> u64 {
        self.tail().last
    }

    /// What the agent asks and nobody has answered, as far as it is committed.
    pub fn requests(&self) -> Vec<Arc<RequestOpened>> {
        self.tail().requests.clone()
    }

    /// What the agent said about itself in this run, as far as it is committed.
    pub fn info(&self) -> Info {
        self.tail().info.clone()
    }

    /// A turn is going on, as far as it is committed.
    pub fn is_in_turn(&self) -> bool {
        self.tail().in_turn
    }

    fn forget_first(&self, tail: &mut Tail) {
        if let Some(chunk) = tail.chunks.pop_front() {
            tail.bytes -= chunk.bytes();
            self.room.0.fetch_sub(chunk.bytes(), Ordering::Relaxed);
        }
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        let bytes = self.tail().bytes;
        self.room.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Tail {
    fn learn(&mut self, chunk: &Chunk) {
        for event in chunk.events() {
            match &event.body {
                Body::RequestOpened(request) if request.decided => {}
                Body::RequestOpened(request) => self.requests.push(Arc::new((**request).clone())),
                Body::RequestResolved(resolved) => self.requests.retain(|open| open.request != resolved.request),
                Body::SessionStarted(started) => self.info.learn(&started.info),
                Body::SessionUpdated(updated) => self.info.learn(&updated.info),
                Body::TurnStarted(_) => self.in_turn = true,
                Body::TurnCompleted(_) => self.in_turn = false,
                Body::SessionEnded(_) => {
                    self.in_turn = false;
                    self.requests.clear();
                    self.over = true;
                }
                _ => {}
            }
        }
    }
}
