//! Group commit: what is queued is written in one transaction, and each is told when it is on disk.

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::Connection;
use switchboard_event::Id;

use super::{
    checkpoint::Checkpointer, delete::Sweeper, expire::Ended, file, owners::Owners, reserve::DiskReserve, write::Scene,
};
use crate::{Abandoned, Checkpoint, Chunk, NewSession, State, StoreError, Update};

/// A transaction takes no more work when it has written this much, so that the first in it need not wait for long.
const GROUP: usize = 1 << 20;

/// When nothing was written for so long, there is time to move the write-ahead log.
const MOMENT: Duration = Duration::from_millis(100);

/// How often a full disk is looked at again.
const FULL_DISK_CHECK: Duration = Duration::from_secs(1);

/// The largest batch of events that may use the reserve, when a session ends with it.
const MAX_ENDING_BYTES: usize = 4 << 20;

/// Something to write.
pub(super) enum Work {
    Create(Box<NewSession>),
    Claim(Id, Option<u64>),
    Archive(Id, bool),
    Append(Id, Arc<Chunk>, Box<Update>),
    TakeOver,
    Delete(Id),
    Expire(Ended),
    /// Waits until the events of all deleted sessions are removed.
    Reclaim,
    Save(Id, Box<Checkpoint>),
}

impl Work {
    /// It frees space, or writes down how something ended: the reserve is there for that.
    fn is_essential(&self) -> bool {
        match self {
            Self::Delete(_) | Self::Expire(_) | Self::Reclaim | Self::TakeOver => true,
            Self::Append(_, events, update) => {
                update.state.is_some_and(State::is_final) && events.json_len() <= MAX_ENDING_BYTES
            }
            Self::Create(_) | Self::Claim(..) | Self::Archive(..) | Self::Save(..) => false,
        }
    }
}

/// What came of it.
pub(super) enum Answer {
    Written,
    Taken(Vec<Abandoned>),
    /// A session was deleted; its events are still to be removed, which the caller waits for or not.
    Deleted {
        number: u64,
        is_awaited: bool,
    },
    /// The events of deleted sessions are being removed, and the caller waits for that.
    Reclaiming,
}

type Outcome = Result<Answer, StoreError>;

/// Whom to tell. Is told exactly once, also when the writer dies.
pub(super) struct Reply(Option<Box<dyn FnOnce(Outcome) + Send>>);

impl Reply {
    pub fn new(tell: impl FnOnce(Outcome) + Send + 'static) -> Self {
        Self(Some(Box::new(tell)))
    }

    pub fn send(mut self, outcome: Outcome) {
        if let Some(tell) = self.0.take() {
            tell(outcome);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell(Err(StoreError::Closed));
        }
    }
}

struct Job {
    work: Work,
    reply: Reply,
}

/// The thread that writes, and its queue. Dropping it finishes the queue.
pub(super) struct Writer {
    queue: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    pub fn start(
        mut connection: Connection,
        path: &Path,
        owners: Owners,
        owner: Option<u64>,
        reserve: DiskReserve,
    ) -> Result<Self, StoreError> {
        let (queue, jobs) = channel();
        let checkpointer = Checkpointer::start(path, reserve.clone())?;
        checkpointer.watch(&mut connection)?;
        let sweeper = Sweeper::new(&connection)?;
        let mut desk = Desk { connection, owners, owner, jobs, sweeper, checkpointer, reserve, unmoved: true };
        let thread = thread::Builder::new().name("log".to_owned()).spawn(move || desk.work());
        let thread = thread.map_err(file::at(path))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    pub fn submit(&self, work: Work, reply: Reply) {
        // If the thread is gone, the job comes back and is dropped, and the reply says so.
        drop(self.queue.as_ref().map(|queue| queue.send(Job { work, reply })));
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// What the thread works with.
struct Desk {
    connection: Connection,
    owners: Owners,
    owner: Option<u64>,
    jobs: Receiver<Job>,
    sweeper: Sweeper,
    checkpointer: Checkpointer,
    reserve: DiskReserve,
    /// Something was written since the write-ahead log was moved.
    unmoved: bool,
}

impl Desk {
    fn work(&mut self) {
        if self.owner.is_some() {
            self.reserve.restore();
        }
        while let Some(job) = self.next() {
            self.group(job);
            self.unmoved = true;
            // Also under load: what was deleted must go some day.
            self.sweep();
        }
        if self.reserve.is_low() {
            self.reserve.restore();
        }
        file::prepare_to_close(&self.connection, &self.reserve);
    }

    fn sweep(&mut self) {
        self.sweeper.step(&self.connection, &self.checkpointer, &self.reserve);
    }

    /// The next job. While there is none, what was deleted is removed.
    fn next(&mut self) -> Option<Job> {
        while !self.sweeper.is_idle() {
            match self.jobs.try_recv() {
                Ok(job) => return Some(job),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => self.sweep(),
            }
        }
        while self.reserve.is_low() {
            self.reserve.restore();
            self.checkpointer.give_back();
            match self.jobs.recv_timeout(FULL_DISK_CHECK) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        if self.unmoved {
            match self.jobs.recv_timeout(MOMENT) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    self.checkpointer.wake();
                    self.unmoved = false;
                }
            }
        }
        self.jobs.recv().ok()
    }

    /// Writes a job and those that queue behind it. If that fails, each is tried alone: only those fail that must.
    fn group(&mut self, first: Job) {
        let mut jobs = vec![first];
        match self.commit_essential(&mut jobs, GROUP) {
            Err(_) if jobs.len() > 1 => jobs.into_iter().for_each(|job| self.alone(job)),
            committed => self.tell(jobs, committed),
        }
    }

    fn alone(&mut self, job: Job) {
        let mut jobs = vec![job];
        let committed = self.commit_essential(&mut jobs, 0);
        self.tell(jobs, committed);
    }

    /// One transaction, again with the space of the reserve if the disk is full and it is for something essential.
    fn commit_essential(&mut self, jobs: &mut Vec<Job>, most: usize) -> Result<Vec<Outcome>, StoreError> {
        if self.reserve.is_low() {
            self.reserve.restore();
        }
        let is_essential = jobs.first().is_some_and(|job| job.work.is_essential());
        match self.commit(jobs, most) {
            Err(StoreError::Full) if jobs.len() == 1 && is_essential && self.reserve.release() => self.commit(jobs, 0),
            committed => committed,
        }
    }

    /// One transaction. `most` is how much may be written before no more jobs are taken from the queue.
    fn commit(&mut self, jobs: &mut Vec<Job>, most: usize) -> Result<Vec<Outcome>, StoreError> {
        let is_low = self.reserve.is_low();
        let transaction = file::begin(&self.connection)?;
        let mut scene = Scene::new(&transaction, &self.owners, self.owner);
        let mut outcomes = Vec::new();
        while let Some(job) = jobs.get(outcomes.len()) {
            match scene.perform(&job.work) {
                // What the reserve gave is not for this.
                Ok(_) if is_low && !job.work.is_essential() => return Err(StoreError::Full),
                Err(error) if error.is_medium() => return Err(error),
                outcome => outcomes.push(outcome),
            }
            if scene.written < most {
                jobs.extend(self.jobs.try_recv());
            }
        }
        transaction.commit()?;
        Ok(outcomes)
    }

    fn tell(&mut self, jobs: Vec<Job>, committed: Result<Vec<Outcome>, StoreError>) {
        let outcomes = committed.unwrap_or_else(|error| vec![Err(error)]);
        for (job, outcome) in jobs.into_iter().zip(outcomes) {
            if matches!(outcome, Err(StoreError::Full)) {
                self.reserve.mark_low();
                // The write-ahead log has room again when it was moved.
                self.checkpointer.wake();
            }
            match outcome {
                Ok(Answer::Deleted { number, is_awaited }) => {
                    let (now, later) = if is_awaited { (None, Some(job.reply)) } else { (Some(job.reply), None) };
                    self.sweeper.add(number, later);
                    if let Some(reply) = now {
                        reply.send(Ok(Answer::Written));
                    }
                }
                Ok(Answer::Reclaiming) => self.sweeper.add_waiter(job.reply),
                outcome => job.reply.send(outcome),
            }
        }
    }
}
