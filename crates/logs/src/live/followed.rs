//! What is followed: a log, or a database of many. When it is due, it is read.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use switchboard_agents::{LogFile, Queries};
use switchboard_event::{Event, Timestamp};

use super::tail::Tail;
use crate::read;

/// A log that has to be read from its beginning takes at most this part of the time.
const PATIENCE: u32 = 20;

/// A log, by its path and, in a database, its session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    path: PathBuf,
    part: Option<String>,
}

impl Key {
    /// A file.
    pub fn file(path: &Path) -> Self {
        Self { path: path.to_owned(), part: None }
    }

    /// A session of a database.
    pub fn part(path: &Path, session: &str) -> Self {
        Self { path: path.to_owned(), part: Some(session.to_owned()) }
    }
}

/// A log that is followed.
pub struct Followed {
    /// It.
    pub tail: Tail,
    /// The machine that it comes from.
    pub machine: Option<String>,
    /// When it grew. A file that is younger than its records is a copy: then, when its last record happened.
    pub updated: Timestamp,
    /// When it is to be read.
    pub due: Option<Instant>,
    /// When it was read last, or found.
    pub read_at: Instant,
    /// When it may be read again.
    next: Instant,
    /// It was seen to grow, or was read before: what is new in it is written now.
    grows: bool,
}

impl Followed {
    /// A log that is to be read at once. `grows` says that it was seen to grow; else its records say whether its file is
    /// as old as they are, or a copy.
    pub fn new(tail: Tail, machine: Option<String>, updated: Timestamp, grows: bool) -> Self {
        let now = Instant::now();
        Self { tail, machine, updated, due: Some(now), read_at: now, next: now, grows }
    }

    /// There is something to read.
    pub fn is_due(&mut self) {
        self.due.get_or_insert(self.next);
    }

    /// Reads it, if it is time for that. Says whether there was anything.
    pub fn read(&mut self, now: Timestamp, out: &mut Vec<Event>) -> bool {
        let begin = Instant::now();
        if self.due.is_none_or(|due| due > begin) {
            return false;
        }
        self.due = None;
        self.read_at = begin;
        // What cannot be read now is tried when it changes again.
        let changed = self.tail.read(now, out).unwrap_or(false);
        if self.tail.is_whole() {
            self.next = begin + begin.elapsed() * PATIENCE;
        }
        if changed {
            self.updated = self.last_growth(now);
        }
        changed
    }

    fn last_growth(&mut self, now: Timestamp) -> Timestamp {
        match self.tail.known().facts.updated {
            _ if std::mem::replace(&mut self.grows, true) => now,
            // A database says itself when a session changed.
            Some(last_record) if !self.tail.is_part() => self.updated.min(last_record),
            _ => self.updated,
        }
    }
}

/// A database of many sessions.
pub struct Base {
    /// The home that it lies in.
    pub home: usize,
    /// What it is.
    pub file: LogFile,
    queries: &'static Queries,
    /// What each session was when it was looked at last.
    known: Option<HashMap<String, String>>,
    /// It is to be read.
    pub due: bool,
}

impl Base {
    /// A database that nothing is known of.
    pub fn new(home: usize, file: LogFile, queries: &'static Queries) -> Self {
        Self { home, file, queries, known: None, due: true }
    }

    /// The sessions that are new or have changed. At first those that say that they changed in this time.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn changed(&mut self, path: &Path, now: Timestamp, within: Duration) -> io::Result<Vec<String>> {
        self.due = false;
        let sessions: HashMap<String, String> = read::sessions_of(path, self.queries)?.into_iter().collect();
        let is_new = |(id, state): &(&String, &String)| match &self.known {
            Some(known) => known.get(*id) != Some(*state),
            None => read::newest(state).is_some_and(|time| u128::from(now.millis_since(time)) <= within.as_millis()),
        };
        let changed = sessions.iter().filter(is_new).map(|(id, _)| id.clone()).collect();
        self.known = Some(sessions);
        Ok(changed)
    }

    /// The ids that begin so.
    pub fn named<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a String> {
        self.known.iter().flat_map(HashMap::keys).filter(move |known| known.starts_with(id))
    }
}

/// When each session of a database changed, as far as it says.
///
/// # Errors
/// If it cannot be read.
pub fn changes_of(path: &Path, queries: &Queries) -> io::Result<Vec<(String, Timestamp)>> {
    let sessions = read::sessions_of(path, queries)?.into_iter();
    Ok(sessions.map(|(id, state)| (id, read::newest(&state).unwrap_or_default())).collect())
}
