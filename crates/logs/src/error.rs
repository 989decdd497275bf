use std::{io, path::PathBuf};

use crate::SessionCandidates;

/// Errors from logs and their index.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    #[error("the index of logs in {}: {error}{}", path.display(), error_hint(error))]
    Index { path: PathBuf, error: rusqlite::Error },
    /// The index was created by a later version.
    #[error("the index of logs in {} was made by a later version of Switchboard: update, or name another --data", path.display())]
    Later { path: PathBuf },
    /// A file or directory cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// Stored content of the index cannot be decoded.
    #[error("the index of logs is damaged ({0}): `switchboard logs scan --rebuild` makes it anew")]
    Damaged(&'static str),
    #[error("no session {0}: `switchboard logs list` shows them all")]
    NoSession(String),
    /// Several sessions match.
    #[error("several sessions begin with {given}: more of the id, or --agent NAME, says which{found}")]
    Ambiguous { given: String, found: SessionCandidates },
    /// The regular expression is invalid.
    #[error("not a regular expression: {0}")]
    Regex(String),
    /// The price file in the data directory is invalid.
    #[error(transparent)]
    Prices(#[from] crate::usage::PriceFileError),
    /// Switchboard's own log cannot be read.
    #[error(transparent)]
    Store(#[from] switchboard_store::StoreError),
}

fn error_hint(error: &rusqlite::Error) -> &'static str {
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
