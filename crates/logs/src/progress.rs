//! What is told of long work, and of what could not be read.

use std::path::PathBuf;

/// How far the index is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Bytes that were read.
    pub bytes: u64,
    /// Bytes that there are to read.
    pub of_bytes: u64,
    /// Files that are done.
    pub files: u64,
    /// Files that there are to read.
    pub of_files: u64,
}

/// What bringing the index up to date came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Files that are logs.
    pub files: u64,
    /// Of these, read now because they are new or have changed.
    pub read: u64,
    /// Bytes that were read now.
    pub bytes: u64,
    /// Files that are gone; what was indexed of them stays.
    pub gone: u64,
    /// Files that could not be read, and records that make no sense: `troubles` tells of them.
    pub troubles: u64,
    /// Of these, records that make sense and are of a kind that nobody knows yet.
    pub unknown: u64,
}

/// Something that could not be read.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// The agent.
    pub agent: String,
    /// The file.
    pub path: PathBuf,
    /// Where in the file, if it is a record.
    pub offset: Option<u64>,
    /// What is wrong with it.
    pub what: String,
    /// How often that is so in this file.
    pub times: u64,
}
