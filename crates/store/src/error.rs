//! What can go wrong with the log. The messages say what a person can do about it.

use std::{io, path::PathBuf};

use rusqlite::{ErrorCode, ffi::SQLITE_IOERR_SHMSIZE};
use switchboard_event::{EventError, Id};
use thiserror::Error;

/// Why the log did not do what it was asked to.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The folder or a file in it cannot be used.
    #[error("{0}: {1}")]
    Folder(PathBuf, #[source] io::Error),
    /// There is a file where the log should be, and it is something else.
    #[error("{0} is not a log of switchboard: move it away, or name another folder")]
    Foreign(PathBuf),
    /// The file is damaged.
    #[error("the log is damaged ({0}): keep a copy, and name another folder to go on")]
    Corrupt(#[source] rusqlite::Error),
    /// A later version made the log.
    #[error("the log has format {found}, and this version writes {known}: it can be read only; update switchboard")]
    Newer {
        /// The log's format.
        found: i64,
        /// The latest that is known here.
        known: i64,
    },
    /// There is no room.
    #[error("no space left on device: free some disk space")]
    Full,
    /// The directory of the log, or the log in it, was removed while it was in use.
    #[error("{0} was removed or replaced while it was in use: restart switchboard")]
    Missing(PathBuf),
    /// An event is not what was written.
    #[error("session {session}: event {seq} is damaged: its checksum does not match")]
    Damaged {
        /// The session.
        session: Id,
        /// The event.
        seq: u64,
    },
    /// Another process did not let go of the log in time.
    #[error("the log is busy: another process has been writing to it for too long")]
    Busy,
    /// There is no such session.
    #[error("no session {0}")]
    NoSession(String),
    /// Several sessions could be meant.
    #[error("{what} could be any of {}", list(.matches))]
    Ambiguous {
        /// What was asked for.
        what: String,
        /// Their ids, newest first; not all of them, if there are very many.
        matches: Vec<Id>,
    },
    /// There is a session of that id already.
    #[error("session {0} exists already")]
    Exists(Id),
    /// A batch does not follow on what is there.
    #[error("session {session}: event {found} does not follow on {head}")]
    Gap {
        /// The session.
        session: Id,
        /// The last event that is there.
        head: u64,
        /// The event that came.
        found: u64,
    },
    /// An event of another session.
    #[error("session {0}: an event of another session")]
    Misplaced(Id),
    /// The session is run by another process.
    #[error("session {0} belongs to another process")]
    NotOwner(Id),
    /// The session runs, so it cannot be deleted.
    #[error("session {0} is still open: cancel it first")]
    Open(Id),
    /// Only a registered process runs sessions.
    #[error("the log was opened without an owner, so it runs no sessions")]
    Unregistered,
    /// Something in a row cannot be read.
    #[error("session {session}: {what} cannot be read: {error}")]
    Unreadable {
        /// The session.
        session: Id,
        /// What it was.
        what: &'static str,
        /// Why.
        error: serde_json::Error,
    },
    /// An event cannot be read.
    #[error("session {0}: {1}")]
    Event(Id, #[source] EventError),
    /// The thread that writes is gone.
    #[error("the log is closed")]
    Closed,
    /// Anything else.
    #[error("the log: {0}")]
    Sqlite(#[source] rusqlite::Error),
}

impl StoreError {
    /// The medium failed, not the request: nothing of the transaction can be trusted to be there.
    pub(crate) fn is_medium(&self) -> bool {
        matches!(self, Self::Corrupt(_) | Self::Full | Self::Busy | Self::Sqlite(_))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let extended = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            // No room for what the processes share about the write-ahead log.
            _ if extended == Some(SQLITE_IOERR_SHMSIZE) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(error),
            _ => Self::Sqlite(error),
        }
    }
}

fn list(ids: &[Id]) -> String {
    ids.iter().map(Id::as_str).collect::<Vec<_>>().join(", ")
}
