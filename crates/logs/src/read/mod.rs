//! Records of a log, whatever the form of its file. What a record means is not known here, and nothing is ever written:
//! agents may be at work on the same files.

mod compressed;
mod database;
mod disk;
mod document;
mod file;
mod lines;
mod tree;

use std::{
    borrow::Cow,
    io::{self, Seek as _, SeekFrom},
    num::NonZeroU64,
    path::Path,
};

use rustix::fs::{Advice, fadvise};

pub use database::{Database, database_mark, database_of, fetch_database, newest, sessions_of};
pub use document::shared_sessions;
pub use file::open;
use switchboard_agents::{Depth, Form, Logs};
pub use tree::mark as tree_mark;

/// Gives the records of a file, from a place in it to its end, and says where it ends. In a file of lines a place is a
/// byte (of a compressed one, when it is not compressed); in all others, the number of a record. Of a file of many
/// sessions, `part` is the session.
///
/// The last line is only given if it is whole; if not, the end is where it begins, since somebody is about to write the
/// rest. Records that say nothing about tokens may be given as empty ones to who wants no more than those.
///
/// # Errors
/// If the file cannot be read, or not to its end. What could be read was given.
pub fn records(
    path: &Path,
    form: &Form,
    part: Option<&str>,
    from: u64,
    depth: Depth,
    each: &mut dyn FnMut(u64, &[u8]),
) -> io::Result<u64> {
    match form {
        Form::Lines | Form::Replayed => {
            let mut file = open(path)?;
            file.seek(SeekFrom::Start(from))?;
            lines::read(&mut file, from, each)
        }
        Form::Compressed => compressed::read(path, from, each),
        Form::Document(split) => document::read(path, split, from, each),
        Form::SharedDocument(split) => {
            let is_wanted = |session: &str| part.is_none_or(|part| part == session);
            let records = |text: &str| {
                let all = split(text).into_iter();
                all.filter(|(session, _)| is_wanted(session)).map(|(_, record)| record).collect()
            };
            document::read(path, records, from, each)
        }
        Form::Database(queries) => Database::open(path)?.records(queries, part.unwrap_or_default(), from, depth, each),
        Form::Tree(pieces) => tree::read(path, *pieces, from, each),
        Form::Events => Err(io::Error::new(io::ErrorKind::Unsupported, "these are not the records of a file")),
    }
}

/// Makes sure that a file can be read to its end, where only that tells.
///
/// # Errors
/// If it cannot.
pub fn check(path: &Path, form: &Form) -> io::Result<()> {
    match form {
        Form::Compressed => compressed::check(path),
        _ => Ok(()),
    }
}

/// How much of a file is fetched before it is read: reading in order does the rest.
const FETCHED: u64 = 8 << 20;

/// Has the system fetch a file that will be read soon, from a place on.
pub fn fetch(path: &Path, from: u64) {
    fetch_part(path, from, FETCHED);
}

/// Has the system fetch a part of a file. It is only a hint: what is wrong with the file is seen when it is read.
fn fetch_part(path: &Path, from: u64, bytes: u64) {
    if let Ok(file) = open(path) {
        fadvise(&file, from, NonZeroU64::new(bytes), Advice::WillNeed).ok();
    }
}

/// The folder that was worked in, where the agent has written it beside a log.
#[must_use]
pub fn root(logs: &Logs, path: &Path) -> Option<String> {
    (logs.root)(&disk::Disk, path)
}

/// A record as one line, as others want it: a line end in JSON lies between two values and means nothing.
fn on_one_line(record: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\n', b'\r', record).is_none() {
        return Cow::Borrowed(record);
    }
    let mut record = record.to_vec();
    record.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    Cow::Owned(record)
}

#[cfg(test)]
mod tests;
