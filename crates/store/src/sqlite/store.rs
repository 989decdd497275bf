//! The implementation of the log: sends writes to the writer thread and reads through a pool of connections.

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::mpsc::sync_channel,
};

use rusqlite::Connection;
use switchboard_event::{Id, Timestamp};

use super::{
    commit_watch::DirectoryWatch,
    expire::{self, EndedSession},
    file::{self, ReadOnlyReason},
    group::{LogWriter, WriteReply, WriteRequest, WriteResponse},
    owners::OwnerDirectory,
    read::{self, ReaderPool},
    reserve::DiskReserve,
    saved,
};
use crate::{
    AbandonedSession, AgentRun, Checkpoint, CheckpointPosition, CommitWatch, EventBatch, EventRow, LogHealth, LogOwner,
    NewSession, PageQuery, RegisteredOwner, Retention, SessionFilter, SessionLog, SessionRecord, StoreError,
};

/// Options for opening the log.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {
    /// Commits survive a power loss. Every commit then waits for the disk.
    pub durable: bool,
    /// This process, if it runs sessions.
    pub owner: Option<LogOwner>,
    /// The maximum size of the log; beyond that it behaves as on a full disk.
    pub max_bytes: Option<u64>,
}

/// A log in a local directory.
#[derive(Debug)]
pub struct SqliteStore {
    // Fields are dropped in this order: the writer after the readers, so that it can clean up, and the lock last.
    readers: ReaderPool,
    writer: Result<LogWriter, ReadOnlyReason>,
    owners: OwnerDirectory,
    owner: Option<(u64, File)>,
    reserve: DiskReserve,
    /// The device and inode of the file, to detect that it was replaced.
    identity: Option<(u64, u64)>,
}

impl SqliteStore {
    /// Opens the log in a directory and creates both if necessary. A log of a later version or on a full disk opens
    /// read-only: every write is an error.
    ///
    /// # Errors
    /// Fails if the directory cannot be used, or the file is not a log or damaged.
    pub fn open(folder: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let reserve = DiskReserve::new(folder);
        let opened = file::open_log(folder, options, &reserve)?;
        let owners = OwnerDirectory::new(folder)?;
        let identity = file_identity(&opened.path);
        let (writer, owner) = match opened.writer {
            Ok(connection) => Self::start_writer(connection, &opened.path, &owners, options, &reserve)?,
            Err(why) => (Err(why), None),
        };
        let readers = ReaderPool::new(opened.path, matches!(writer, Err(ReadOnlyReason::DiskFull)));
        Ok(Self { readers, writer, owners, owner, reserve, identity })
    }

    /// Registers this process as an owner and starts the writer.
    #[expect(clippy::type_complexity, reason = "both are fields of the same names")]
    fn start_writer(
        connection: Connection,
        path: &Path,
        owners: &OwnerDirectory,
        options: &StoreOptions,
        reserve: &DiskReserve,
    ) -> Result<(Result<LogWriter, ReadOnlyReason>, Option<(u64, File)>), StoreError> {
        let register = || options.owner.as_ref().map(|owner| owners.register_owner(&connection, owner)).transpose();
        let registered = match register() {
            Err(StoreError::Full) if reserve.release() => register(),
            registered => registered,
        };
        let owner = match registered {
            Err(StoreError::Full) => return Ok((Err(ReadOnlyReason::DiskFull), None)),
            registered => registered?,
        };
        let writer = LogWriter::start(connection, path, owners.clone(), owner.as_ref(), reserve.clone())?;
        Ok((Ok(writer), owner))
    }

    /// Returns the owner number of this process.
    #[must_use]
    pub fn owner_number(&self) -> Option<u64> {
        self.owner.as_ref().map(|(number, _)| *number)
    }

    /// Lists the processes that run sessions, and some that did.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub fn list_owners(&self) -> Result<Vec<RegisteredOwner>, StoreError> {
        self.readers.with_connection(|connection| self.owners.list_owners(connection))
    }

    /// Returns the directory of the owners' files: their locks, and other files named after their numbers.
    #[must_use]
    pub fn owners_directory(&self) -> PathBuf {
        self.owners.path().to_owned()
    }

    /// Returns whether the log is read-only: a later version created it, or the disk was full when it was opened.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.writer.is_err()
    }

    fn submit_write(&self, work: WriteRequest, reply: WriteReply) {
        match &self.writer {
            Ok(writer) => writer.submit_write(work, reply),
            Err(why) => reply.send(Err((*why).into())),
        }
    }

    /// Deletes a session, unless it was reopened or already deleted.
    fn expire_session(&self, session: EndedSession) -> Result<Option<Id>, StoreError> {
        let id = session.id.clone();
        match self.write_and_wait(WriteRequest::Expire(session)) {
            Ok(_) => Ok(Some(id)),
            Err(StoreError::Open(_) | StoreError::NoSession(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_larger_than(&self, bytes: Option<u64>) -> Result<bool, StoreError> {
        bytes.map_or(Ok(false), |bytes| {
            self.readers.with_connection(|connection| Ok(expire::used_bytes(connection)? > bytes))
        })
    }

    /// Releases free space of the file and the write-ahead log to the disk. On failure the space is still reusable.
    fn release_free_space(&self) {
        drop(file::release_free_space(self.readers.path()));
    }

    /// Submits a request and waits for the result.
    fn write_and_wait(&self, work: WriteRequest) -> Result<WriteResponse, StoreError> {
        let (send, receive) = sync_channel(1);
        self.submit_write(work, WriteReply::new(move |answer| drop(send.send(answer))));
        receive.recv().unwrap_or(Err(StoreError::Closed))
    }
}

fn file_identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl SessionLog for SqliteStore {
    fn create_session(&self, session: NewSession) -> Result<(), StoreError> {
        if let LogHealth::Missing(path) = self.check_health() {
            return Err(StoreError::Missing(path));
        }
        self.write_and_wait(WriteRequest::Create(Box::new(session))).map(drop)
    }

    fn claim_session(&self, session: &str, head: Option<u64>) -> Result<SessionRecord, StoreError> {
        self.write_and_wait(WriteRequest::Claim(session.into(), head))?;
        self.get_session(session)?.ok_or_else(|| StoreError::NoSession(session.to_owned()))
    }

    fn append_batch(&self, batch: EventBatch) {
        let EventBatch { session, events, update, done } = batch;
        self.submit_write(
            WriteRequest::Append(session, events, Box::new(update)),
            WriteReply::new(|answer| done(answer.map(drop))),
        );
    }

    fn get_session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError> {
        self.readers.with_connection(|connection| read::find_session(connection, id))
    }

    fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionRecord>, StoreError> {
        self.readers.with_connection(|connection| read::list_sessions(connection, filter))
    }

    fn read_rows(&self, session: &str, page: PageQuery) -> Result<Vec<EventRow>, StoreError> {
        self.readers.with_connection(|connection| read::read_rows(connection, session, page))
    }

    fn find_damaged_events(&self) -> Result<Vec<(Id, Vec<u64>)>, StoreError> {
        let mut found = Vec::new();
        for session in self.list_sessions(&SessionFilter::default())? {
            let damaged = self.readers.with_connection(|connection| read::find_damaged_events(connection, &session))?;
            if !damaged.is_empty() {
                found.push((session.id, damaged));
            }
        }
        Ok(found)
    }

    fn check_health(&self) -> LogHealth {
        match &self.writer {
            _ if file_identity(self.readers.path()) != self.identity => {
                LogHealth::Missing(self.readers.path().to_owned())
            }
            Err(ReadOnlyReason::Newer(_)) => LogHealth::ReadOnly,
            Err(ReadOnlyReason::DiskFull) => LogHealth::DiskFull,
            Ok(_) if self.reserve.is_low() => LogHealth::DiskFull,
            Ok(_) => LogHealth::Sound,
        }
    }

    fn list_runs(&self, session: &str) -> Result<Vec<AgentRun>, StoreError> {
        self.readers
            .with_connection(|connection| read::list_runs(connection, read::session_number(connection, session)?))
    }

    fn list_abandoned(&self) -> Result<Vec<AbandonedSession>, StoreError> {
        self.readers.with_connection(|connection| self.owners.list_abandoned(connection, self.owner_number()))
    }

    fn take_over(&self) -> Result<Vec<AbandonedSession>, StoreError> {
        match self.write_and_wait(WriteRequest::TakeOver)? {
            WriteResponse::Taken(sessions) => Ok(sessions),
            WriteResponse::Written | WriteResponse::Deleted { .. } | WriteResponse::Reclaiming => Ok(Vec::new()),
        }
    }

    fn save_checkpoint(&self, session: &str, checkpoint: Checkpoint) {
        self.submit_write(WriteRequest::Save(session.into(), Box::new(checkpoint)), WriteReply::new(drop));
    }

    fn find_checkpoint(
        &self,
        session: &str,
        dialect: &str,
        version: &str,
        at: CheckpointPosition,
    ) -> Result<Option<Checkpoint>, StoreError> {
        self.readers.with_connection(|connection| {
            saved::find_checkpoint(connection, read::session_number(connection, session)?, dialect, version, at)
        })
    }

    fn watch_commits(&self, notify: Box<dyn Fn() + Send>) -> Option<CommitWatch> {
        DirectoryWatch::start(self.owners.path(), notify).ok().map(CommitWatch::new)
    }

    fn set_archived(&self, session: &str, archived: bool) -> Result<(), StoreError> {
        self.write_and_wait(WriteRequest::Archive(session.into(), archived)).map(drop)
    }

    fn delete_session(&self, session: &str) -> Result<(), StoreError> {
        self.write_and_wait(WriteRequest::Delete(session.into())).map(drop)
    }

    fn reclaim_space(&self) -> Result<(), StoreError> {
        self.write_and_wait(WriteRequest::Reclaim)?;
        self.release_free_space();
        Ok(())
    }

    fn expire_sessions(&self, retention: &Retention, now: Timestamp) -> Result<Vec<Id>, StoreError> {
        let ended = self.readers.with_connection(expire::list_ended_sessions)?;
        let outdated = retention.count_expired(ended.iter().map(|session| session.at), now);
        let mut deleted = Vec::new();
        for (index, session) in ended.into_iter().enumerate() {
            if index >= outdated && !self.is_larger_than(retention.max_bytes)? {
                break;
            }
            deleted.extend(self.expire_session(session)?);
        }
        if !deleted.is_empty() {
            self.release_free_space();
        }
        Ok(deleted)
    }
}
