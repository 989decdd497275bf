//! Group commit: queued requests are written in one transaction, and each gets a reply when it is on disk.

use std::{
    fmt,
    fs::File,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::Connection;
use switchboard_event::Id;
use tracing::{debug, warn};

use super::{
    checkpoint::WalCheckpointer, commit_watch::CommitSignal, delete::SessionSweeper, expire::EndedSession, file,
    owners::OwnerDirectory, reserve::DiskReserve, write::WriteTxn,
};
use crate::{AbandonedSession, Checkpoint, EventChunk, NewSession, SessionPatch, SessionPhase, StoreError};

/// The size at which a transaction accepts no more requests, so that the first one does not wait for long.
const MAX_GROUP_BYTES: usize = 1 << 20;

/// The idle time after which the write-ahead log is checkpointed.
const WAL_IDLE_DELAY: Duration = Duration::from_millis(100);

/// The duration of a commit beyond which it is logged.
const SLOW_COMMIT: Duration = Duration::from_millis(250);

/// The interval for checking a full disk again.
const FULL_DISK_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum size of a batch that may use the reserve when a session ends with it.
const MAX_ENDING_BYTES: usize = 4 << 20;

/// A request to the writer thread.
pub(super) enum WriteRequest {
    Create(Box<NewSession>),
    Claim(Id, Option<u64>),
    Archive(Id, bool),
    Append(Id, Arc<EventChunk>, Box<SessionPatch>),
    TakeOver,
    Delete(Id),
    Expire(EndedSession),
    /// Waits until the events of all deleted sessions are removed.
    Reclaim,
    Save(Id, Box<Checkpoint>),
}

impl WriteRequest {
    /// Returns whether the request frees space or records the end of a session: the reserve exists for these.
    fn is_essential(&self) -> bool {
        match self {
            Self::Delete(_) | Self::Expire(_) | Self::Reclaim | Self::TakeOver => true,
            Self::Append(_, events, update) => {
                update.state.is_some_and(SessionPhase::is_final) && events.json_len() <= MAX_ENDING_BYTES
            }
            Self::Create(_) | Self::Claim(..) | Self::Archive(..) | Self::Save(..) => false,
        }
    }
}

/// The result of a request.
pub(super) enum WriteResponse {
    Written,
    Taken(Vec<AbandonedSession>),
    /// A session was deleted; its events are still to be removed, and the caller may wait for it.
    Deleted {
        number: u64,
        is_awaited: bool,
    },
    /// The events of deleted sessions are being removed, and the caller waits for it.
    Reclaiming,
}

type WriteResult = Result<WriteResponse, StoreError>;

/// The callback of a request, called exactly once, also when the writer dies.
pub(super) struct WriteReply(Option<Box<dyn FnOnce(WriteResult) + Send>>);

impl WriteReply {
    pub fn new(tell: impl FnOnce(WriteResult) + Send + 'static) -> Self {
        Self(Some(Box::new(tell)))
    }

    pub fn send(mut self, outcome: WriteResult) {
        if let Some(tell) = self.0.take() {
            tell(outcome);
        }
    }
}

impl Drop for WriteReply {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell(Err(StoreError::Closed));
        }
    }
}

struct QueuedWrite {
    work: WriteRequest,
    reply: WriteReply,
}

/// A handle to the writer thread and its queue. Dropping it finishes the queue.
pub(super) struct LogWriter {
    queue: Option<Sender<QueuedWrite>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl LogWriter {
    pub fn start(
        mut connection: Connection,
        path: &Path,
        owners: OwnerDirectory,
        owner: Option<&(u64, File)>,
        reserve: DiskReserve,
    ) -> Result<Self, StoreError> {
        let (queue, jobs) = channel();
        let signal = CommitSignal::new(owners.path(), owner.map(|(_, lock)| lock)).map_err(file::path_error(path))?;
        let owner = owner.map(|(number, _)| *number);
        let checkpointer = WalCheckpointer::start(path, reserve.clone())?;
        checkpointer.install_wal_hook(&mut connection)?;
        let sweeper = SessionSweeper::new(&connection)?;
        let mut writer =
            WriterThread { connection, owners, owner, signal, jobs, sweeper, checkpointer, reserve, wal_dirty: true };
        let thread = thread::Builder::new().name("log".to_owned()).spawn(move || writer.run());
        let thread = thread.map_err(file::path_error(path))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    pub fn submit_write(&self, work: WriteRequest, reply: WriteReply) {
        // If the thread has ended, the job is dropped, and its reply reports that.
        drop(self.queue.as_ref().map(|queue| queue.send(QueuedWrite { work, reply })));
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        drop(self.queue.take());
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// The state of the writer thread.
struct WriterThread {
    connection: Connection,
    owners: OwnerDirectory,
    owner: Option<u64>,
    signal: CommitSignal,
    jobs: Receiver<QueuedWrite>,
    sweeper: SessionSweeper,
    checkpointer: WalCheckpointer,
    reserve: DiskReserve,
    /// Something was written since the last checkpoint of the write-ahead log.
    wal_dirty: bool,
}

impl WriterThread {
    fn run(&mut self) {
        if self.owner.is_some() {
            self.reserve.restore();
        }
        while let Some(job) = self.next_job() {
            self.write_group(job);
            self.wal_dirty = true;
            // Also under load, so that deleted sessions are removed eventually.
            self.sweep_deleted();
        }
        if self.reserve.is_low() {
            self.reserve.restore();
        }
        file::prepare_to_close(&self.connection, &self.reserve);
    }

    fn sweep_deleted(&mut self) {
        self.sweeper.sweep_step(&self.connection, &self.checkpointer, &self.reserve);
    }

    /// Waits for the next job. Meanwhile, removes the events of deleted sessions.
    fn next_job(&mut self) -> Option<QueuedWrite> {
        while !self.sweeper.is_idle() {
            match self.jobs.try_recv() {
                Ok(job) => return Some(job),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => self.sweep_deleted(),
            }
        }
        while self.reserve.is_low() {
            self.reserve.restore();
            self.checkpointer.request_release();
            match self.jobs.recv_timeout(FULL_DISK_CHECK_INTERVAL) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        if self.wal_dirty {
            match self.jobs.recv_timeout(WAL_IDLE_DELAY) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    self.checkpointer.wake();
                    self.wal_dirty = false;
                }
            }
        }
        self.jobs.recv().ok()
    }

    /// Writes a job together with the queued ones. If that fails, each is tried alone, so that only the faulty ones
    /// fail.
    fn write_group(&mut self, first: QueuedWrite) {
        let mut jobs = vec![first];
        match self.commit_essential(&mut jobs, MAX_GROUP_BYTES) {
            Err(_) if jobs.len() > 1 => jobs.into_iter().for_each(|job| self.write_alone(job)),
            committed => self.send_replies(jobs, committed),
        }
    }

    fn write_alone(&mut self, job: QueuedWrite) {
        let mut jobs = vec![job];
        let committed = self.commit_essential(&mut jobs, 0);
        self.send_replies(jobs, committed);
    }

    /// Commits jobs, with the space of the reserve if the disk is full and the job is essential.
    fn commit_essential(&mut self, jobs: &mut Vec<QueuedWrite>, most: usize) -> Result<Vec<WriteResult>, StoreError> {
        if self.reserve.is_low() {
            self.reserve.restore();
        }
        let is_essential = jobs.first().is_some_and(|job| job.work.is_essential());
        match self.commit_group(jobs, most) {
            Err(StoreError::Full) if jobs.len() == 1 && is_essential && self.reserve.release() => {
                self.commit_group(jobs, 0)
            }
            committed => committed,
        }
    }

    /// Commits jobs in one transaction. Takes further jobs from the queue until `most` bytes are written.
    fn commit_group(&mut self, jobs: &mut Vec<QueuedWrite>, most: usize) -> Result<Vec<WriteResult>, StoreError> {
        let (is_low, started) = (self.reserve.is_low(), Instant::now());
        let transaction = file::begin_write(&self.connection)?;
        let mut writes = WriteTxn::new(&transaction, &self.owners, self.owner);
        let mut outcomes = Vec::new();
        while let Some(job) = jobs.get(outcomes.len()) {
            match writes.execute_request(&job.work) {
                // The space of the reserve is only for essential requests.
                Ok(_) if is_low && !job.work.is_essential() => return Err(StoreError::Full),
                Err(error) if error.is_medium_failure() => return Err(error),
                outcome => outcomes.push(outcome),
            }
            if writes.written < most {
                jobs.extend(self.jobs.try_recv());
            }
        }
        transaction.commit()?;
        if started.elapsed() > SLOW_COMMIT {
            debug!(requests = outcomes.len(), elapsed = ?started.elapsed(), "slow commit");
        }
        // Checkpoints are a cache: no reader waits for them.
        if jobs.iter().any(|job| !matches!(job.work, WriteRequest::Save(..))) {
            self.signal.announce_commit();
        }
        Ok(outcomes)
    }

    fn send_replies(&mut self, jobs: Vec<QueuedWrite>, committed: Result<Vec<WriteResult>, StoreError>) {
        let outcomes = committed.unwrap_or_else(|error| {
            warn!(%error, "the log cannot be written");
            vec![Err(error)]
        });
        for (job, outcome) in jobs.into_iter().zip(outcomes) {
            if matches!(outcome, Err(StoreError::Full)) {
                self.reserve.mark_low();
                // A checkpoint makes space in the write-ahead log.
                self.checkpointer.wake();
            }
            match outcome {
                Ok(WriteResponse::Deleted { number, is_awaited }) => {
                    let (now, later) = if is_awaited { (None, Some(job.reply)) } else { (Some(job.reply), None) };
                    self.sweeper.add_session(number, later);
                    if let Some(reply) = now {
                        reply.send(Ok(WriteResponse::Written));
                    }
                }
                Ok(WriteResponse::Reclaiming) => self.sweeper.add_waiter(job.reply),
                outcome => job.reply.send(outcome),
            }
        }
    }
}
