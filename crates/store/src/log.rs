//! The contract of a durable log. Not SQLite's: a log on another machine can keep it too. What whoever implements
//! [`Log`] has to keep, and all that whoever uses it relies on:
//!
//! * **Order.** A session's events are numbered 1, 2, 3, … without a gap. A batch that does not begin right behind the
//!   head is refused, whole, with [`StoreError::Gap`]; nothing is ever changed or removed but by deleting a session.
//! * **One writer a session.** A session belongs to one process at a time, and only its batches are accepted
//!   ([`StoreError::NotOwner`] for others). [`Log::create`] and [`Log::claim`] decide to whom, and [`Log::take_over`]
//!   moves what the dead have left: of all who ask, exactly one gets each. How it is known that a process is dead is the
//!   implementation's own affair (a lock file here; elsewhere a lease), but it must never be said of one that can still
//!   append.
//! * **Commit.** [`Batch::done`] is called exactly once, after the batch is committed or refused; batches of one process
//!   are done in the order in which they came. What is committed survives the death of every process, and no reader is
//!   shown anything that is not.
//! * **Reading.** A reader is a `seq`, and a page is one answer: nothing stays open between two of them, and a reader
//!   that is slow, or never comes back, costs nothing. Who has seen an event sees it again, and all before it, until the
//!   session is deleted. Rows are byte for byte what was appended.
//! * **Waiting for more** is not asked of the log: a process tells its own readers when it has committed, and asks
//!   the process that runs a session for what that one commits.
//! * **No room, no medium.** What cannot be written is refused and changes nothing; whoever has the log open reads on,
//!   and writes on when there is room again.
//! * **Checkpoints** are a cache: they may be lost, never be wrong. The first one at a place stays.

use std::{path::PathBuf, sync::Arc};

use switchboard_event::{Event, Id, Timestamp};

use crate::{Abandoned, At, Checkpoint, Chunk, Filter, NewSession, Retention, Run, Session, StoreError, Update};

/// Is called once, when a batch is committed or refused, and always. It runs on the thread that writes, so it hands on
/// the news and returns.
pub type Done = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Events that are appended together, with what changes about their session. Either all of it happens or none.
pub struct Batch {
    /// The session.
    pub session: Id,
    /// Events of the session, right behind its head.
    pub events: Arc<Chunk>,
    /// What changes.
    pub update: Update,
    /// Whom to tell.
    pub done: Done,
}

/// Which events to read.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Those behind this `seq`.
    pub after: u64,
    /// So many at most.
    pub limit: usize,
    /// Together at most so many bytes, as JSON; but always one.
    pub max_bytes: usize,
}

/// An event as it lies in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its place in the session.
    pub seq: u64,
    /// The event on the wire.
    pub json: String,
}

/// How a log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogHealth {
    /// It can be read and written.
    Sound,
    /// The disk is full: what is there can be read and deleted, and nothing else is written.
    DiskFull,
    /// A later version made it, so it is only read.
    ReadOnly,
    /// Its directory was removed or replaced while it was in use: what is written now is lost.
    Missing(PathBuf),
}

/// A durable log of sessions. All but [`Log::append`] wait for the disk; call them where that is allowed.
pub trait Log: Send + Sync {
    /// Begins a session. It is running, and belongs to this process.
    ///
    /// # Errors
    /// If there is one of that id, if this process is not registered, or if it cannot be written.
    fn create(&self, session: NewSession) -> Result<(), StoreError>;

    /// Makes a session that has ended, or whose process is gone, belong to this process: it will be continued. With a
    /// head, only if the session still has just so many events: then nobody has continued it since that was read.
    ///
    /// # Errors
    /// If there is none, if a living process runs it or has, or if it cannot be written.
    fn claim(&self, session: &str, head: Option<u64>) -> Result<Session, StoreError>;

    /// Appends events. Returns at once; what is queued is committed in the order it came. The queue has no bound: who
    /// appends counts what is not done yet. A batch of nothing is done when all before it are.
    fn append(&self, batch: Batch);

    /// A session.
    ///
    /// # Errors
    /// If the log cannot be read.
    fn session(&self, id: &str) -> Result<Option<Session>, StoreError>;

    /// Sessions, newest first.
    ///
    /// # Errors
    /// If the log cannot be read.
    fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError>;

    /// The events of a page, as they lie there. A page ends before an event that is damaged.
    ///
    /// # Errors
    /// If there is no such session, the log cannot be read, or the first event of the page is damaged: what follows can
    /// be read from behind it.
    fn rows(&self, session: &str, page: Page) -> Result<Vec<Row>, StoreError>;

    /// The events of a page without those that are damaged, and the `seq` of each that is.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    fn sound_rows(&self, session: &str, page: Page) -> Result<(Vec<Row>, Vec<u64>), StoreError> {
        let (mut page, mut damaged) = (page, Vec::new());
        loop {
            match self.rows(session, page) {
                Err(StoreError::Damaged { seq, .. }) if seq > page.after => {
                    damaged.push(seq);
                    page.after = seq;
                }
                rows => return rows.map(|rows| (rows, damaged)),
            }
        }
    }

    /// All events that are damaged, by session. Reads the whole log.
    ///
    /// # Errors
    /// If the log cannot be read.
    fn damaged_events(&self) -> Result<Vec<(Id, Vec<u64>)>, StoreError> {
        Ok(Vec::new())
    }

    /// How the log is. Looks at the file system.
    fn health(&self) -> LogHealth {
        LogHealth::Sound
    }

    /// The runs of a session, in order.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    fn runs(&self, session: &str) -> Result<Vec<Run>, StoreError>;

    /// Sessions that are open while their process is gone. Another process may take them over at any time.
    ///
    /// # Errors
    /// If the log cannot be read.
    fn abandoned(&self) -> Result<Vec<Abandoned>, StoreError>;

    /// Makes all abandoned sessions belong to this process, which then has to end them. Of several processes that ask
    /// at once, one gets each.
    ///
    /// # Errors
    /// If this process is not registered, or the log cannot be written.
    fn take_over(&self) -> Result<Vec<Abandoned>, StoreError>;

    /// Puts a session away, or takes it out again. Any process may do so, whoever runs the session.
    ///
    /// # Errors
    /// If there is none, or if the log cannot be written.
    fn archive(&self, session: &str, archived: bool) -> Result<(), StoreError>;

    /// Deletes a session that has ended or is abandoned, in one small transaction: from then on it doesn't exist, and of
    /// several callers only one succeeds. Its events are removed in the background, see [`Log::reclaim`].
    ///
    /// # Errors
    /// If there is none, if it is open, or if the log cannot be written.
    fn delete(&self, session: &str) -> Result<(), StoreError>;

    /// Waits until the space of all deleted sessions can be used again.
    ///
    /// # Errors
    /// If the log cannot be written. The next process that opens the log tries again.
    fn reclaim(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Deletes the sessions that need not be kept, those that ended first before the others; never one that is open, or
    /// that was opened again meanwhile. Gives those that it deleted. This can take a while; others write in between.
    ///
    /// # Errors
    /// If the log cannot be read or written. Some sessions may be deleted then.
    fn expire(&self, retention: &Retention, now: Timestamp) -> Result<Vec<Id>, StoreError>;

    /// Keeps a projection of a session, for [`Log::checkpoint`]. Any process may do so, whoever runs the session. Returns
    /// at once. It may be lost, and is not kept if there is one at that place already, or if the events that it has seen
    /// are not committed: who finds none begins farther back.
    fn save_checkpoint(&self, session: &str, checkpoint: Checkpoint);

    /// The last projection of that dialect and version that was saved at a place or before it.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    fn checkpoint(&self, session: &str, dialect: &str, version: &str, at: At)
    -> Result<Option<Checkpoint>, StoreError>;

    /// The events of a page.
    ///
    /// # Errors
    /// If there is no such session, the log cannot be read, or an event is not one.
    fn page(&self, session: &str, page: Page) -> Result<Vec<Event>, StoreError> {
        let read = |row: Row| Event::from_json(&row.json).map_err(|error| StoreError::Event(session.into(), error));
        self.rows(session, page)?.into_iter().map(read).collect()
    }

    /// Returns the session at a position of the list that people see: `last`, or N for the N-th newest. None if `what`
    /// is no position, or the list is shorter.
    ///
    /// # Errors
    /// If the log cannot be read.
    fn session_at(&self, what: &str, among: &Filter) -> Result<Option<Session>, StoreError> {
        let Some(place) = place(what) else { return Ok(None) };
        // The list does not show archived sessions.
        let archived = among.archived.or(Some(false));
        let newest = self.sessions(&Filter { limit: Some(place), archived, ..among.clone() })?;
        Ok(newest.into_iter().nth(place - 1))
    }

    /// The session that a person means by its id, the beginning of its id, `last`, or N for the N-th newest, among
    /// those that the filter lets through. An id may also be the agent's own.
    ///
    /// # Errors
    /// If there is none, if there are several, or if the log cannot be read.
    fn find(&self, what: &str, among: &Filter) -> Result<Session, StoreError> {
        if let Some(session) = self.session(what)? {
            return Ok(session);
        }
        if let Some(session) = self.session_at(what, among)? {
            return Ok(session);
        }
        let prefix = Filter { prefix: Some(what.to_owned()), ..among.clone() };
        let mut found = if what.is_empty() { Vec::new() } else { self.sessions(&prefix)? };
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

/// The place in the list that is meant, from 1. Ids begin with a zero for the next centuries, so a small number that
/// does not is a place.
fn place(what: &str) -> Option<usize> {
    let is_number = what.len() <= 4 && !what.starts_with('0') && what.bytes().all(|byte| byte.is_ascii_digit());
    if what == "last" { Some(1) } else { what.parse().ok().filter(|_| is_number) }
}
