//! What can go wrong with logs and their index.

use std::{io, path::PathBuf};

use crate::Candidates;

/// Why something about logs could not be done.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    /// The index cannot be read or written.
    #[error("the index of logs in {}: {error}{}", path.display(), hint(error))]
    Index {
        /// The index.
        path: PathBuf,
        /// What is wrong with it.
        error: rusqlite::Error,
    },
    /// A later version made the index.
    #[error("the index of logs in {} was made by a later version of Switchboard: update, or name another --data", path.display())]
    Later {
        /// The index.
        path: PathBuf,
    },
    /// Something on disk cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Something in the index is not what it was when it was written.
    #[error("the index of logs is damaged ({0}): `switchboard logs scan --rebuild` makes it anew")]
    Damaged(&'static str),
    /// There is no such session.
    #[error("no session {0}: `switchboard logs list` shows them all")]
    NoSession(String),
    /// There are several.
    #[error("several sessions begin with {given}: more of the id, or --agent NAME, says which{found}")]
    Ambiguous {
        /// What was asked for.
        given: String,
        /// What it could be.
        found: Candidates,
    },
    /// A regular expression that is none.
    #[error("not a regular expression: {0}")]
    Regex(String),
    /// The prices of the data folder make no sense.
    #[error(transparent)]
    Prices(#[from] crate::usage::BadPrices),
    /// The log of Switchboard's own sessions cannot be read.
    #[error(transparent)]
    Store(#[from] switchboard_store::StoreError),
}

fn hint(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => "; what was indexed so far is kept: make room and run it again",
        Some(
            rusqlite::ErrorCode::ReadOnly | rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::PermissionDenied,
        ) => "; name a folder that can be written with --data",
        _ if crate::index::is_damaged(error) => {
            "; `switchboard logs scan --rebuild` puts it aside and reads all logs that are there anew"
        }
        _ => "",
    }
}
