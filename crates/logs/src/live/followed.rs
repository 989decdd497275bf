//! Followers: a log, or a database of many sessions. They are read when they are due.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use switchboard_agents::{LogFile, SessionQueries};
use switchboard_event::{Event, Timestamp};

use super::tail::LogTail;
use crate::read;

/// A log that has to be read from its beginning takes at most 1/20 of the time.
const REREAD_PAUSE_FACTOR: u32 = 20;

/// Identifies a log by its path and, in a database, its session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogKey {
    path: PathBuf,
    part: Option<String>,
}

impl LogKey {
    pub fn for_file(path: &Path) -> Self {
        Self { path: path.to_owned(), part: None }
    }

    pub fn for_session(path: &Path, session: &str) -> Self {
        Self { path: path.to_owned(), part: Some(session.to_owned()) }
    }
}

pub struct LogFollower {
    pub tail: LogTail,
    pub machine: Option<String>,
    /// When the log last grew. If the file is newer than its records it is a copy, and this is the time of its last
    /// record.
    pub updated: Timestamp,
    pub due: Option<Instant>,
    /// When it was last read, or found.
    pub read_at: Instant,
    /// The earliest time of the next read.
    next: Instant,
    /// It was seen to grow, or was read before: new records are being written now.
    grows: bool,
}

impl LogFollower {
    /// Creates a follower that is due immediately. `grows` means that the log was seen to grow; otherwise its records
    /// show whether the file is a copy.
    pub fn new(tail: LogTail, machine: Option<String>, updated: Timestamp, grows: bool) -> Self {
        let now = Instant::now();
        Self { tail, machine, updated, due: Some(now), read_at: now, next: now, grows }
    }

    pub fn mark_due(&mut self) {
        self.due.get_or_insert(self.next);
    }

    /// Reads the log if it is due. Returns whether it changed.
    pub fn read(&mut self, now: Timestamp, out: &mut Vec<Event>) -> bool {
        let begin = Instant::now();
        if self.due.is_none_or(|due| due > begin) {
            return false;
        }
        self.due = None;
        self.read_at = begin;
        // A log that cannot be read now is retried when it changes again.
        let changed = self.tail.read(now, out).unwrap_or(false);
        if self.tail.needs_full_read() {
            self.next = begin + begin.elapsed() * REREAD_PAUSE_FACTOR;
        }
        if changed {
            self.updated = self.last_growth_time(now);
        }
        changed
    }

    fn last_growth_time(&mut self, now: Timestamp) -> Timestamp {
        match self.tail.tail_state().facts.updated {
            _ if std::mem::replace(&mut self.grows, true) => now,
            // A database stores when a session changed.
            Some(last_record) if !self.tail.is_database_session() => self.updated.min(last_record),
            _ => self.updated,
        }
    }
}

/// A database of many sessions.
pub struct DatabaseFollower {
    /// Index of the home that contains it.
    pub home: usize,
    pub file: LogFile,
    queries: &'static SessionQueries,
    /// The version of each session when it was last listed.
    known: Option<HashMap<String, String>>,
    pub due: bool,
}

impl DatabaseFollower {
    /// Creates a follower that knows no sessions.
    pub fn new(home: usize, file: LogFile, queries: &'static SessionQueries) -> Self {
        Self { home, file, queries, known: None, due: true }
    }

    /// Returns new and changed sessions. The first call returns those that changed `within` this time.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn changed_sessions(&mut self, path: &Path, now: Timestamp, within: Duration) -> io::Result<Vec<String>> {
        self.due = false;
        let sessions: HashMap<String, String> = read::list_database_sessions(path, self.queries)?.into_iter().collect();
        let is_new = |(id, state): &(&String, &String)| match &self.known {
            Some(known) => known.get(*id) != Some(*state),
            None => read::newest_timestamp(state)
                .is_some_and(|time| u128::from(now.millis_since(time)) <= within.as_millis()),
        };
        let changed = sessions.iter().filter(is_new).map(|(id, _)| id.clone()).collect();
        self.known = Some(sessions);
        Ok(changed)
    }

    /// Returns the known session IDs with this prefix.
    pub fn session_ids_with_prefix<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a String> {
        self.known.iter().flat_map(HashMap::keys).filter(move |known| known.starts_with(id))
    }
}

/// Returns when each session of a database changed, as far as it is recorded.
///
/// # Errors
/// If it cannot be read.
pub fn session_change_times(path: &Path, queries: &SessionQueries) -> io::Result<Vec<(String, Timestamp)>> {
    let sessions = read::list_database_sessions(path, queries)?.into_iter();
    Ok(sessions.map(|(id, state)| (id, read::newest_timestamp(&state).unwrap_or_default())).collect())
}
