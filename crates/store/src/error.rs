//! Errors of the log. The messages say how to fix the problem.

use std::{io, path::PathBuf};

use rusqlite::{ErrorCode, ffi::SQLITE_IOERR_SHMSIZE};
use switchboard_event::{EventError, Id};
use thiserror::Error;

/// An error of the log.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The directory or a file in it cannot be used.
    #[error("{0}: {1}")]
    Folder(PathBuf, #[source] io::Error),
    /// The file at the log's path is not a log.
    #[error("{0} is not a log of switchboard: move it away, or name another folder")]
    Foreign(PathBuf),
    /// The file is damaged.
    #[error("the log is damaged ({0}): keep a copy, and name another folder to go on")]
    Corrupt(#[source] rusqlite::Error),
    /// The log was created by a later version.
    #[error("the log has format {found}, and this version writes {known}: it can be read only; update switchboard")]
    Newer {
        /// The log's format.
        found: i64,
        /// The latest known format.
        known: i64,
    },
    /// The disk is full.
    #[error("no space left on device: free some disk space")]
    Full,
    /// The directory of the log, or the log in it, was removed while it was in use.
    #[error("{0} was removed or replaced while it was in use: restart switchboard")]
    Missing(PathBuf),
    /// The stored event differs from what was written.
    #[error("session {session}: event {seq} is damaged: its checksum does not match")]
    Damaged {
        /// The session.
        session: Id,
        /// The event.
        seq: u64,
    },
    /// Another process did not release the log in time.
    #[error("the log is busy: another process has been writing to it for too long")]
    Busy,
    /// There is no such session.
    #[error("no session {0}")]
    NoSession(String),
    /// The name matches several sessions.
    #[error("{what} could be any of {}", join_ids(.matches))]
    Ambiguous {
        /// The given name.
        what: String,
        /// The ids of the matches, newest first.
        matches: Vec<Id>,
    },
    /// A session with this ID already exists.
    #[error("session {0} exists already")]
    Exists(Id),
    /// A batch does not continue at the end of the session.
    #[error("session {session}: event {found} does not follow on {head}")]
    Gap {
        /// The session.
        session: Id,
        /// The last stored event.
        head: u64,
        /// The first event of the batch that does not fit.
        found: u64,
    },
    /// A batch contains an event of another session.
    #[error("session {0}: an event of another session")]
    Misplaced(Id),
    /// The session belongs to another process.
    #[error("session {0} belongs to another process")]
    NotOwner(Id),
    /// The session is open and cannot be deleted.
    #[error("session {0} is still open: cancel it first")]
    Open(Id),
    /// Only a registered process can run sessions.
    #[error("the log was opened without an owner, so it runs no sessions")]
    Unregistered,
    /// A column of a row cannot be parsed.
    #[error("session {session}: {what} cannot be read: {error}")]
    Unreadable {
        /// The session.
        session: Id,
        /// The name of the column.
        what: &'static str,
        /// The cause.
        error: serde_json::Error,
    },
    /// An event cannot be parsed.
    #[error("session {0}: {1}")]
    Event(Id, #[source] EventError),
    /// The writer thread has ended.
    #[error("the log is closed")]
    Closed,
    /// The servers of the log cannot be reached, or do not accept writes for now.
    #[error("{0}")]
    Unreachable(String),
    /// The servers of the log are set up in a way that cannot be used.
    #[error("{0}")]
    Cluster(String),
    /// Any other error of SQLite.
    #[error("the log: {0}")]
    Sqlite(#[source] rusqlite::Error),
}

impl StoreError {
    /// Returns whether the storage failed, not the request: the whole transaction is lost then.
    pub(crate) fn is_medium_failure(&self) -> bool {
        matches!(self, Self::Corrupt(_) | Self::Full | Self::Busy | Self::Sqlite(_))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let extended = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            // No space for the shared memory file of the write-ahead log.
            _ if extended == Some(SQLITE_IOERR_SHMSIZE) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(error),
            _ => Self::Sqlite(error),
        }
    }
}

fn join_ids(ids: &[Id]) -> String {
    ids.iter().map(Id::as_str).collect::<Vec<_>>().join(", ")
}
