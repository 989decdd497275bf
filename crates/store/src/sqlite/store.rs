//! The front of the log: hands what is to be written to the thread that writes, and lends connections to who reads.

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::mpsc::sync_channel,
};

use rusqlite::Connection;
use switchboard_event::{Id, Timestamp};

use super::{
    expire::{self, Ended},
    file::{self, Unwritable},
    group::{Answer, Reply, Work, Writer},
    owners::Owners,
    read::{self, Readers},
    reserve::DiskReserve,
    saved,
};
use crate::{
    Abandoned, At, Batch, Checkpoint, Filter, Log, LogHealth, NewSession, Owner, Page, Registered, Retention, Row, Run,
    Session, StoreError,
};

/// How to open the log.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Committed means safe against a loss of power too. Every commit then waits for the disk.
    pub durable: bool,
    /// This process, if it will run sessions.
    pub owner: Option<Owner>,
    /// The log takes at most so many bytes; beyond that it is as if the disk were full.
    pub max_bytes: Option<u64>,
}

/// A log in a folder of this machine.
#[derive(Debug)]
pub struct Store {
    // The order is that of closing. The writer comes after the readers, so that it can tidy up, and the lock last.
    readers: Readers,
    writer: Result<Writer, Unwritable>,
    owners: Owners,
    owner: Option<(u64, File)>,
    reserve: DiskReserve,
    /// The device and the number of the file, by which it is known again.
    identity: Option<(u64, u64)>,
}

impl Store {
    /// Opens the log in a folder, and makes both if they are not there. A log of a later version opens, and so does one
    /// on a full disk, but whatever would write to it is an error.
    ///
    /// # Errors
    /// If the folder cannot be used, what is there is not a log, or it is damaged.
    pub fn open(folder: &Path, options: &Options) -> Result<Self, StoreError> {
        let reserve = DiskReserve::new(folder);
        let opened = file::open(folder, options, &reserve)?;
        let owners = Owners::new(folder)?;
        let identity = identity(&opened.path);
        let (writer, owner) = match opened.writer {
            Ok(connection) => Self::write_with(connection, &opened.path, &owners, options, &reserve)?,
            Err(why) => (Err(why), None),
        };
        let readers = Readers::new(opened.path, matches!(writer, Err(Unwritable::DiskFull)));
        Ok(Self { readers, writer, owners, owner, reserve, identity })
    }

    /// Enters this process among the owners, and starts to write.
    #[expect(clippy::type_complexity, reason = "both are fields of the same names")]
    fn write_with(
        connection: Connection,
        path: &Path,
        owners: &Owners,
        options: &Options,
        reserve: &DiskReserve,
    ) -> Result<(Result<Writer, Unwritable>, Option<(u64, File)>), StoreError> {
        let register = || options.owner.as_ref().map(|owner| owners.register(&connection, owner)).transpose();
        let registered = match register() {
            Err(StoreError::Full) if reserve.release() => register(),
            registered => registered,
        };
        let owner = match registered {
            Err(StoreError::Full) => return Ok((Err(Unwritable::DiskFull), None)),
            registered => registered?,
        };
        let number = owner.as_ref().map(|(number, _)| *number);
        let writer = Writer::start(connection, path, owners.clone(), number, reserve.clone())?;
        Ok((Ok(writer), owner))
    }

    /// The number of this process among the owners.
    #[must_use]
    pub fn owner(&self) -> Option<u64> {
        self.owner.as_ref().map(|(number, _)| *number)
    }

    /// The processes that run sessions, and some that did.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn owners(&self) -> Result<Vec<Registered>, StoreError> {
        self.readers.with(|connection| self.owners.all(connection))
    }

    /// Where the files of the owners are: their locks, and what else is named after their numbers.
    #[must_use]
    pub fn owners_folder(&self) -> PathBuf {
        self.owners.folder().to_owned()
    }

    /// The log cannot be written: a later version made it, or the disk was full when it was opened.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.writer.is_err()
    }

    fn submit(&self, work: Work, reply: Reply) {
        match &self.writer {
            Ok(writer) => writer.submit(work, reply),
            Err(why) => reply.send(Err((*why).into())),
        }
    }

    /// Deletes a session, unless it was opened again or deleted by somebody else.
    fn expire_one(&self, session: Ended) -> Result<Option<Id>, StoreError> {
        let id = session.id.clone();
        match self.wait(Work::Expire(session)) {
            Ok(_) => Ok(Some(id)),
            Err(StoreError::Open(_) | StoreError::NoSession(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_larger_than(&self, bytes: Option<u64>) -> Result<bool, StoreError> {
        bytes.map_or(Ok(false), |bytes| self.readers.with(|connection| Ok(expire::used_bytes(connection)? > bytes)))
    }

    /// Gives to the disk what is free in the file and in the write-ahead log. If that fails, it is free all the same.
    fn give_back(&self) {
        drop(file::give_back(self.readers.path()));
    }

    /// Has something written, and waits for it.
    fn wait(&self, work: Work) -> Result<Answer, StoreError> {
        let (send, receive) = sync_channel(1);
        self.submit(work, Reply::new(move |answer| drop(send.send(answer))));
        receive.recv().unwrap_or(Err(StoreError::Closed))
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl Log for Store {
    fn create(&self, session: NewSession) -> Result<(), StoreError> {
        if let LogHealth::Missing(path) = self.health() {
            return Err(StoreError::Missing(path));
        }
        self.wait(Work::Create(Box::new(session))).map(drop)
    }

    fn claim(&self, session: &str, head: Option<u64>) -> Result<Session, StoreError> {
        self.wait(Work::Claim(session.into(), head))?;
        self.session(session)?.ok_or_else(|| StoreError::NoSession(session.to_owned()))
    }

    fn append(&self, batch: Batch) {
        let Batch { session, events, update, done } = batch;
        self.submit(Work::Append(session, events, Box::new(update)), Reply::new(|answer| done(answer.map(drop))));
    }

    fn session(&self, id: &str) -> Result<Option<Session>, StoreError> {
        self.readers.with(|connection| read::session(connection, id))
    }

    fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError> {
        self.readers.with(|connection| read::sessions(connection, filter))
    }

    fn rows(&self, session: &str, page: Page) -> Result<Vec<Row>, StoreError> {
        self.readers.with(|connection| read::rows(connection, session, page))
    }

    fn damaged_events(&self) -> Result<Vec<(Id, Vec<u64>)>, StoreError> {
        let mut found = Vec::new();
        for session in self.sessions(&Filter::default())? {
            let damaged = self.readers.with(|connection| read::damaged(connection, &session))?;
            if !damaged.is_empty() {
                found.push((session.id, damaged));
            }
        }
        Ok(found)
    }

    fn health(&self) -> LogHealth {
        match &self.writer {
            _ if identity(self.readers.path()) != self.identity => LogHealth::Missing(self.readers.path().to_owned()),
            Err(Unwritable::Newer(_)) => LogHealth::ReadOnly,
            Err(Unwritable::DiskFull) => LogHealth::DiskFull,
            Ok(_) if self.reserve.is_low() => LogHealth::DiskFull,
            Ok(_) => LogHealth::Sound,
        }
    }

    fn runs(&self, session: &str) -> Result<Vec<Run>, StoreError> {
        self.readers.with(|connection| read::runs(connection, read::number(connection, session)?))
    }

    fn abandoned(&self) -> Result<Vec<Abandoned>, StoreError> {
        self.readers.with(|connection| self.owners.abandoned(connection, self.owner()))
    }

    fn take_over(&self) -> Result<Vec<Abandoned>, StoreError> {
        match self.wait(Work::TakeOver)? {
            Answer::Taken(sessions) => Ok(sessions),
            Answer::Written | Answer::Deleted { .. } | Answer::Reclaiming => Ok(Vec::new()),
        }
    }

    fn save_checkpoint(&self, session: &str, checkpoint: Checkpoint) {
        self.submit(Work::Save(session.into(), Box::new(checkpoint)), Reply::new(drop));
    }

    fn checkpoint(
        &self,
        session: &str,
        dialect: &str,
        version: &str,
        at: At,
    ) -> Result<Option<Checkpoint>, StoreError> {
        self.readers
            .with(|connection| saved::read(connection, read::number(connection, session)?, dialect, version, at))
    }

    fn archive(&self, session: &str, archived: bool) -> Result<(), StoreError> {
        self.wait(Work::Archive(session.into(), archived)).map(drop)
    }

    fn delete(&self, session: &str) -> Result<(), StoreError> {
        self.wait(Work::Delete(session.into())).map(drop)
    }

    fn reclaim(&self) -> Result<(), StoreError> {
        self.wait(Work::Reclaim)?;
        self.give_back();
        Ok(())
    }

    fn expire(&self, retention: &Retention, now: Timestamp) -> Result<Vec<Id>, StoreError> {
        let ended = self.readers.with(expire::ended)?;
        let outdated = expire::outdated(&ended, retention, now);
        let mut deleted = Vec::new();
        for (index, session) in ended.into_iter().enumerate() {
            if index >= outdated && !self.is_larger_than(retention.max_bytes)? {
                break;
            }
            deleted.extend(self.expire_one(session)?);
        }
        if !deleted.is_empty() {
            self.give_back();
        }
        Ok(deleted)
    }
}
