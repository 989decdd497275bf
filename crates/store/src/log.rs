//! The contract of a durable log, independent of SQLite: a log on another machine can implement it too. Implementations
//! of [`SessionLog`] must guarantee the following, and its users rely on nothing else:
//!
//! * **Order.** A session's events are numbered 1, 2, 3, … without a gap. A batch that does not start right after the
//!   head is refused as a whole with [`StoreError::Gap`]; events are never changed, and only removed with their
//!   session.
//! * **One writer per session.** A session belongs to one process at a time, and only its batches are accepted
//!   ([`StoreError::NotOwner`] for others). [`SessionLog::create_session`] and [`SessionLog::claim_session`] assign a session, and [`SessionLog::take_over`]
//!   reassigns the sessions of dead processes: of concurrent callers, exactly one gets each session. The implementation
//!   decides how to detect a dead process (a lock file here; elsewhere a lease), but a process that can still append
//!   must never count as dead.
//! * **Commit.** [`EventBatch::done`] is called exactly once, after the batch is committed or refused; batches of one
//!   session complete in the order of submission, and a committed batch can be read before it completes. Committed data
//!   survives the death of every process, and readers never see uncommitted data.
//! * **Reading.** A reader is a `seq`, and a page is one response: nothing stays open between pages, and a slow or gone
//!   reader costs nothing. An event that was visible once stays visible, with all events before it, until the session
//!   is deleted. Rows are byte for byte what was appended.
//! * **Notification.** A process notifies its own readers after a commit. [`SessionLog::watch_commits`] reports the commits of
//!   other processes; it may report too often and may miss some, so its users also poll from time to time.
//! * **Full or failing disk.** A write that fails is refused and changes nothing; an open log stays readable, and
//!   writable again once there is space.
//! * **Checkpoints** are a cache: they may be lost, but are never wrong. The first one at a position stays.

use std::{path::PathBuf, sync::Arc};

use switchboard_event::{Event, Id, Kind, SessionState, Timestamp};

use crate::{
    AbandonedSession, AgentRun, Checkpoint, CheckpointPosition, EventChunk, NewSession, Retention, SessionFilter,
    SessionPatch, SessionRecord, StoreError,
};

/// The callback of a batch, called exactly once when the batch is committed or refused. It runs on the writer thread
/// and must return quickly.
pub type CommitCallback = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Events that are appended together with changes of their session, atomically.
pub struct EventBatch {
    /// The session.
    pub session: Id,
    /// Events of the session, right after its head.
    pub events: Arc<EventChunk>,
    /// The changes of the session.
    pub update: SessionPatch,
    /// The callback.
    pub done: CommitCallback,
}

/// The events to read.
#[derive(Clone, Copy, Debug)]
pub struct PageQuery {
    /// Events after this `seq`.
    pub after: u64,
    /// The maximum number of events.
    pub limit: usize,
    /// The maximum size of the events as JSON; at least one event is always returned.
    pub max_bytes: usize,
    /// Only events of these kinds; all kinds if empty.
    pub kinds: &'static [Kind],
}

/// An event as stored in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// The sequence number in the session.
    pub seq: u64,
    /// The event in the wire format.
    pub json: String,
}

impl EventRow {
    /// Parses the event.
    ///
    /// # Errors
    /// Fails if this version cannot parse it. The error names the session.
    pub fn decode(&self, session: &str) -> Result<Event, StoreError> {
        Event::from_json(&self.json).map_err(|error| StoreError::Event(session.into(), error))
    }
}

/// The health of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogHealth {
    /// Readable and writable.
    Sound,
    /// The disk is full: sessions can be read and deleted, but nothing else can be written.
    DiskFull,
    /// Created by a later version, therefore read-only.
    ReadOnly,
    /// The servers of the log cannot be reached: sessions can be read, writes wait until the servers are back.
    Unreachable,
    /// The directory was removed or replaced while in use: further writes are lost.
    Missing(PathBuf),
}

/// A subscription to commits, see [`SessionLog::watch_commits`]. Dropping it ends the subscription.
pub struct CommitWatch {
    _watch: Box<dyn Send + Sync>,
}

impl CommitWatch {
    /// Wraps the value that keeps a subscription alive.
    #[must_use]
    pub fn new(watch: impl Send + Sync + 'static) -> Self {
        Self { _watch: Box::new(watch) }
    }
}

/// A durable log of sessions. All methods except [`SessionLog::append_batch`] block on the disk.
pub trait SessionLog: Send + Sync {
    /// Creates a session. It is running and belongs to this process.
    ///
    /// # Errors
    /// Fails if the ID exists, this process is not registered, or the log cannot be written. A log of several machines
    /// also remembers the IDs of deleted sessions, so that a delayed request creates none of them again.
    fn create_session(&self, session: NewSession) -> Result<(), StoreError>;

    /// Assigns a session that has ended, or whose process is dead, to this process in order to continue it. With a
    /// `head`, only if the session still has exactly that many events, so that no other process has continued it
    /// meanwhile.
    ///
    /// # Errors
    /// Fails if there is no such session, a live process runs it or has continued it, or the log cannot be written.
    fn claim_session(&self, session: &str, head: Option<u64>) -> Result<SessionRecord, StoreError>;

    /// Appends events. Returns at once; queued batches are committed in order. The queue is unbounded: callers limit
    /// their pending batches. An empty batch completes after all earlier batches of its session.
    fn append_batch(&self, batch: EventBatch);

    /// Returns a session.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    fn get_session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError>;

    /// Lists sessions, newest first.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionRecord>, StoreError>;

    /// Returns the events of a page as stored. A page ends before a damaged event of its kinds.
    ///
    /// # Errors
    /// Fails if there is no such session, the log cannot be read, or the first event of the page is damaged; reading
    /// can continue after it.
    fn read_rows(&self, session: &str, page: PageQuery) -> Result<Vec<EventRow>, StoreError>;

    /// Returns the intact events of a page, and the `seq` of each damaged one.
    ///
    /// # Errors
    /// Fails if there is no such session or the log cannot be read.
    fn read_sound_rows(&self, session: &str, page: PageQuery) -> Result<(Vec<EventRow>, Vec<u64>), StoreError> {
        let (mut page, mut damaged) = (page, Vec::new());
        loop {
            match self.read_rows(session, page) {
                Err(StoreError::Damaged { seq, .. }) if seq > page.after => {
                    damaged.push(seq);
                    page.after = seq;
                }
                rows => return rows.map(|rows| (rows, damaged)),
            }
        }
    }

    /// Returns all damaged events by session. Reads the whole log.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    fn find_damaged_events(&self) -> Result<Vec<(Id, Vec<u64>)>, StoreError> {
        Ok(Vec::new())
    }

    /// Returns whether writing means waiting for other machines.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns the health of the log. Checks the file system.
    fn check_health(&self) -> LogHealth {
        LogHealth::Sound
    }

    /// Calls a function soon after commits of any process, and when such a process ends. It runs on its own thread.
    /// Returns `None` if this log does not support it.
    fn watch_commits(&self, _notify: Box<dyn Fn() + Send>) -> Option<CommitWatch> {
        None
    }

    /// Lists the runs of a session, in order.
    ///
    /// # Errors
    /// Fails if there is no such session or the log cannot be read.
    fn list_runs(&self, session: &str) -> Result<Vec<AgentRun>, StoreError>;

    /// Lists open sessions whose process is dead. Another process may take them over at any time.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    fn list_abandoned(&self) -> Result<Vec<AbandonedSession>, StoreError>;

    /// Assigns all abandoned sessions to this process, which must end them. Of concurrent callers, exactly one gets
    /// each session.
    ///
    /// # Errors
    /// Fails if this process is not registered or the log cannot be written.
    fn take_over(&self) -> Result<Vec<AbandonedSession>, StoreError>;

    /// Archives or unarchives a session. Any process may do so, regardless of the owner.
    ///
    /// # Errors
    /// Fails if there is no such session or the log cannot be written.
    fn set_archived(&self, session: &str, archived: bool) -> Result<(), StoreError>;

    /// Deletes a session that has ended or is abandoned, in one small transaction: from then on it does not exist, and
    /// of several callers only one succeeds. Its events are removed in the background, see [`SessionLog::reclaim_space`].
    ///
    /// # Errors
    /// Fails if there is no such session, it is open, or the log cannot be written.
    fn delete_session(&self, session: &str) -> Result<(), StoreError>;

    /// Waits until the space of all deleted sessions is free again.
    ///
    /// # Errors
    /// Fails if the log cannot be written. The next process that opens the log tries again.
    fn reclaim_space(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Deletes the sessions that exceed the retention, in the order of their ends; never one that is open or was
    /// reopened meanwhile. Returns the deleted sessions. This can take a while; others can write in between.
    ///
    /// # Errors
    /// Fails if the log cannot be read or written. Some sessions may already be deleted.
    fn expire_sessions(&self, retention: &Retention, now: Timestamp) -> Result<Vec<Id>, StoreError>;

    /// Saves a checkpoint of a session for [`SessionLog::find_checkpoint`]. Any process may do so, regardless of the owner. Returns
    /// at once. The checkpoint may be lost, and is not saved if one exists at that position or if its events are not
    /// committed; readers then start further back.
    fn save_checkpoint(&self, session: &str, checkpoint: Checkpoint);

    /// Returns the last checkpoint of a dialect and version at or before a position.
    ///
    /// # Errors
    /// Fails if there is no such session or the log cannot be read.
    fn find_checkpoint(
        &self,
        session: &str,
        dialect: &str,
        version: &str,
        at: CheckpointPosition,
    ) -> Result<Option<Checkpoint>, StoreError>;

    /// Returns the parsed events of a page.
    ///
    /// # Errors
    /// Fails if there is no such session, the log cannot be read, or an event cannot be parsed.
    fn read_events(&self, session: &str, page: PageQuery) -> Result<Vec<Event>, StoreError> {
        self.read_rows(session, page)?.iter().map(|row| row.decode(session)).collect()
    }

    /// Returns the state of a session after its events of some kinds. Damaged events are left out.
    ///
    /// # Errors
    /// Fails if there is no such session, the log cannot be read, or an event cannot be parsed.
    fn read_state(&self, session: &str, kinds: &'static [Kind]) -> Result<SessionState, StoreError> {
        let mut state = SessionState::default();
        let mut page = PageQuery { after: 0, limit: 4096, max_bytes: 4 << 20, kinds };
        loop {
            let (rows, _) = self.read_sound_rows(session, page)?;
            let Some(last) = rows.last() else { return Ok(state) };
            page.after = last.seq;
            for row in &rows {
                state.apply(&row.decode(session)?);
            }
        }
    }

    /// Returns the session at a position of the visible list: `last`, or N for the N-th newest. `None` if `what` is not
    /// a position or the list is shorter.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    fn session_at(&self, what: &str, among: &SessionFilter) -> Result<Option<SessionRecord>, StoreError> {
        let Some(place) = parse_list_position(what) else { return Ok(None) };
        // The list does not show archived sessions.
        let archived = among.archived.or(Some(false));
        let newest = self.list_sessions(&SessionFilter { limit: Some(place), archived, ..among.clone() })?;
        Ok(newest.into_iter().nth(place - 1))
    }

    /// Finds a session by its ID, a prefix of its ID, `last`, or N for the N-th newest, among those that match the
    /// filter. The agent's own session ID works too.
    ///
    /// # Errors
    /// Fails if no session or several sessions match, or the log cannot be read.
    fn resolve_session(&self, what: &str, among: &SessionFilter) -> Result<SessionRecord, StoreError> {
        if let Some(session) = self.get_session(what)? {
            return Ok(session);
        }
        if let Some(session) = self.session_at(what, among)? {
            return Ok(session);
        }
        let prefix = SessionFilter { prefix: Some(what.to_owned()), ..among.clone() };
        let mut found = if what.is_empty() { Vec::new() } else { self.list_sessions(&prefix)? };
        match (found.pop(), found.is_empty()) {
            (Some(only), true) => Ok(only),
            (None, _) => Err(StoreError::NoSession(what.to_owned())),
            (Some(oldest), false) => {
                let matches = found.into_iter().chain([oldest]).map(|session| session.id).collect();
                Err(StoreError::Ambiguous { what: what.to_owned(), matches })
            }
        }
    }
}

/// Parses a position in the list, from 1. Session ids start with a zero for centuries to come, so a small number that
/// does not is a position.
fn parse_list_position(what: &str) -> Option<usize> {
    let is_number = what.len() <= 4 && !what.starts_with('0') && what.bytes().all(|byte| byte.is_ascii_digit());
    if what == "last" { Some(1) } else { what.parse().ok().filter(|_| is_number) }
}
