//! Follows a session: first the events in the log, then those that are added to it, by this process or another. Each
//! follower has its own position; a slow one reads events from the log that are no longer in memory, and delays no
//! other.

mod event_slice;
mod live_tail;

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use switchboard_event::{Event, Id, Kind};
use switchboard_store::{EventRow, PageQuery, SessionLog, SessionPhase, SessionRecord, StoreError};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::{Engine, StartError};

pub use event_slice::EventSlice;

pub(crate) use live_tail::{LiveTail, MemoryBudget};

const MAX_PAGE_EVENTS: usize = 1024;
const MAX_PAGE_BYTES: usize = 256 << 10;

/// The minimum time between two checks of the log for commits of another process.
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The maximum time between two checks of the log when no commit is reported: a process that has died reports none, nor
/// does one of an older version.
const MAX_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum time between two checks for another run of a session that has ended.
const MAX_NEXT_RUN_INTERVAL: Duration = Duration::from_secs(2);

/// The stored events of one session: from the local log, a transcript, or a log on another machine.
pub trait EventSource: Send + Sync {
    /// Returns the events of a page, as [`SessionLog::read_rows`] does.
    fn read_rows(&self, page: PageQuery) -> Result<Vec<EventRow>, StoreError>;
}

/// The events of a session in the log.
struct LoggedEvents {
    log: Arc<dyn SessionLog>,
    session: Id,
}

impl EventSource for LoggedEvents {
    fn read_rows(&self, page: PageQuery) -> Result<Vec<EventRow>, StoreError> {
        self.log.read_rows(&self.session, page)
    }
}

pub enum TailRead<T> {
    Events(T),
    /// There are no more events yet.
    CaughtUp,
    Ended,
}

impl<T> TailRead<T> {
    /// Converts the events, if there are any.
    pub fn try_map<U, E>(self, convert: impl FnOnce(T) -> Result<U, E>) -> Result<TailRead<U>, E> {
        Ok(match self {
            Self::Events(events) => TailRead::Events(convert(events)?),
            Self::CaughtUp => TailRead::CaughtUp,
            Self::Ended => TailRead::Ended,
        })
    }
}

/// A reader of a session: events come from memory while it is close to the end, from its source otherwise.
#[derive(Clone)]
pub struct Follower {
    tail: Arc<LiveTail>,
    source: Arc<dyn EventSource>,
    position: u64,
    /// The kinds of event to read; all, if there are none.
    kinds: &'static [Kind],
}

impl Follower {
    pub(crate) fn new(tail: Arc<LiveTail>, log: Arc<dyn SessionLog>, position: u64) -> Self {
        let source = Arc::new(LoggedEvents { log, session: tail.session().clone() });
        Self { tail, source, position, kinds: &[] }
    }

    pub fn of_complete_session(source: Arc<dyn EventSource>, session: Id, last_seq: u64) -> Self {
        Self { tail: LiveTail::ended(session, last_seq, Arc::default()), source, position: 0, kinds: &[] }
    }

    pub fn with_kinds(self, kinds: &'static [Kind]) -> Self {
        Self { kinds, ..self }
    }

    /// Returns another reader of the same session, at another position.
    pub fn at(&self, seq: u64) -> Self {
        Self { position: seq, ..self.clone() }
    }

    /// Returns the next events, as many as there are; `None` once the session has ended and all was read. May be
    /// dropped while it waits, and nothing is missed. Fails if the session was deleted.
    pub async fn next(&mut self) -> Result<Option<EventSlice>, StoreError> {
        let tail = self.tail.clone();
        wait_until(&tail, || match self.read() {
            Ok(TailRead::Events(slice)) => Some(Ok(Some(slice))),
            Ok(TailRead::Ended) => Some(Ok(None)),
            Ok(TailRead::CaughtUp) => None,
            Err(error) => Some(Err(error)),
        })
        .await
    }

    /// Waits until there are events after a position, or the session has ended.
    pub async fn wait_for_events_after(&self, seq: u64) {
        wait_until(&self.tail, || (self.last_seq() > seq || self.is_ended()).then_some(())).await;
    }

    /// Returns the available events, without waiting for more.
    pub fn read(&mut self) -> Result<TailRead<EventSlice>, StoreError> {
        let slice = match self.tail.read(self.position) {
            Some(TailRead::Events((chunks, skip))) => EventSlice::from_memory(chunks, skip, self.kinds),
            Some(TailRead::CaughtUp) => return Ok(TailRead::CaughtUp),
            Some(TailRead::Ended) => return Ok(TailRead::Ended),
            None => self.read_source()?,
        };
        self.position = slice.last_seq();
        Ok(TailRead::Events(slice))
    }

    /// Returns the available events and skips damaged ones.
    pub fn read_sound(&mut self) -> Result<TailRead<EventSlice>, StoreError> {
        loop {
            match self.read() {
                Err(StoreError::Damaged { seq, .. }) if seq > self.position => self.position = seq,
                read => return read,
            }
        }
    }

    fn read_source(&self) -> Result<EventSlice, StoreError> {
        // Events that are committed but not in the tail yet are read next time: the session's state lacks them, too.
        let last_seq = self.last_seq();
        let (limit, max_bytes) = (MAX_PAGE_EVENTS, MAX_PAGE_BYTES);
        let mut rows =
            self.source.read_rows(PageQuery { after: self.position, limit, max_bytes, kinds: self.kinds })?;
        rows.retain(|row| row.seq <= last_seq);
        match rows.last().map(|row| row.seq) {
            Some(seq) => Ok(EventSlice::from_log(rows, seq)),
            None if !self.kinds.is_empty() && last_seq > self.position => Ok(EventSlice::from_log(rows, last_seq)),
            // The tail has more events and the log has none: the session was deleted in the meantime.
            None => Err(StoreError::NoSession(self.tail.session().to_string())),
        }
    }

    /// Returns one event, independent of the position; `None` if it does not exist or is damaged.
    pub fn read_event(&self, seq: u64) -> Option<Event> {
        let after = seq.checked_sub(1)?;
        if let Some(TailRead::Events((chunks, skip))) = self.tail.read(after) {
            return chunks.iter().flat_map(|chunk| chunk.events()).nth(skip).cloned();
        }
        let rows = self.source.read_rows(PageQuery { after, limit: 1, max_bytes: 1, kinds: &[] }).ok()?;
        rows.first().filter(|row| row.seq == seq).and_then(|row| row.decode(self.tail.session()).ok())
    }

    /// Returns the last event that was read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns whether the next events are in memory, or have not happened yet.
    pub fn is_close(&self) -> bool {
        self.tail.read(self.position).is_some()
    }

    pub fn is_ended(&self) -> bool {
        self.tail.is_ended()
    }

    pub fn last_seq(&self) -> u64 {
        self.tail.last_seq()
    }

    pub fn follows_same_run(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tail, &other.tail)
    }
}

/// Tries again whenever the tail has changed, until there is a result.
async fn wait_until<T>(tail: &LiveTail, mut attempt: impl FnMut() -> Option<T>) -> T {
    loop {
        // Registered before the attempt, so that a change between the two is not missed.
        let changed = tail.changed();
        tokio::pin!(changed);
        changed.as_mut().enable();
        match attempt() {
            Some(result) => return result,
            None => changed.await,
        }
    }
}

impl Engine {
    /// Follows a session, starting after an event.
    pub fn follow(&self, id: &str, after: u64) -> Result<Follower, StoreError> {
        if let Some(session) = self.session(id) {
            return Ok(session.follow_after(after));
        }
        let session = self.log().get_session(id)?.ok_or_else(|| StoreError::NoSession(id.to_owned()))?;
        if session.state.is_final() {
            return Ok(self.follow_stored(&session, after));
        }
        let (tail, is_new) = self.registry().foreign_tail(&session.id, session.head);
        tail.move_end(session.head);
        if is_new {
            tokio::spawn(watch_foreign_session(self.clone(), session.id, Arc::downgrade(&tail)));
        }
        Ok(Follower::new(tail, self.log().clone(), after))
    }

    /// Returns a reader of the events that a session has in the log, and of none that are added.
    pub fn follow_stored(&self, session: &SessionRecord, after: u64) -> Follower {
        let tail = LiveTail::ended(session.id.clone(), session.head, self.registry().budget.clone());
        Follower::new(tail, self.log().clone(), after)
    }

    /// Returns a receiver that changes when this process or another commits to the log. It may also change without a
    /// commit.
    pub fn watch_commits(&self) -> watch::Receiver<()> {
        self.registry().watch_commits(&**self.log())
    }

    /// Waits until a session that has ended is continued, here or in another process. `last_seq` is its last event
    /// known so far.
    pub async fn wait_for_next_run(&self, id: &str, last_seq: u64) -> Result<(), StoreError> {
        let mut commits = self.watch_commits();
        loop {
            commits.mark_unchanged();
            let run_started = self.registry().run_started();
            tokio::pin!(run_started);
            run_started.as_mut().enable();
            if self.session(id).is_some_and(|session| !session.is_over()) {
                return Ok(());
            }
            let (engine, name) = (self.clone(), id.to_owned());
            let found = tokio::task::spawn_blocking(move || engine.log().get_session(&name)).await;
            let session = found.map_err(|_| StoreError::Closed)??;
            let session = session.ok_or_else(|| StoreError::NoSession(id.to_owned()))?;
            if session.head > last_seq || !session.state.is_final() {
                // It may be about to run here, and following that run is better than following the log.
                drop(timeout(MIN_CHECK_INTERVAL, run_started).await);
                return Ok(());
            }
            // The run or commit may belong to another session; then the log is checked once more.
            let changed = async {
                tokio::select! {
                    () = run_started => {}
                    _ = commits.changed() => sleep(MIN_CHECK_INTERVAL).await,
                }
            };
            drop(timeout(MAX_NEXT_RUN_INTERVAL, changed).await);
        }
    }
}

/// Advances the tail of a session that another process runs, for as long as it has followers.
async fn watch_foreign_session(engine: Engine, id: Id, tail: Weak<LiveTail>) {
    let mut commits = engine.watch_commits();
    let mut recovered_at = Instant::now();
    loop {
        drop(timeout(MAX_CHECK_INTERVAL, commits.changed()).await);
        let Some(tail) = tail.upgrade() else { break };
        let is_recovery_due = recovered_at.elapsed() >= MAX_CHECK_INTERVAL;
        let (reader, name) = (engine.clone(), id.clone());
        let read = tokio::task::spawn_blocking(move || read_end(&reader, &name, is_recovery_due)).await;
        match read {
            Ok(Ok(Some((last_seq, phase)))) => {
                tail.move_end(last_seq);
                if phase.is_final() {
                    tail.end();
                    break;
                }
            }
            Ok(Ok(None)) => {
                tail.delete();
                break;
            }
            // The log is busy or full, or another process recovers it: the session itself may continue.
            Ok(Err(_)) | Err(_) => {}
        }
        if is_recovery_due {
            recovered_at = Instant::now();
        }
        drop(tail);
        sleep(MIN_CHECK_INTERVAL).await;
    }
    engine.registry().forget_foreign_tail(&id);
}

/// Reads the last event and the phase of a session; `None` if it was deleted.
fn read_end(engine: &Engine, id: &str, is_recovery_due: bool) -> Result<Option<(u64, SessionPhase)>, StartError> {
    if is_recovery_due {
        // If the process of the session is gone, this ends the session.
        engine.recover_sessions()?;
    }
    Ok(engine.log().get_session(id)?.map(|session| (session.head, session.state)))
}
