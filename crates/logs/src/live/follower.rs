//! Followers: a log, or a database of many sessions. They are read when they are due.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use switchboard_agents::{LogFile, LogFormat, SessionQueries};
use switchboard_event::{Event, Timestamp};

use super::{
    log_files::LiveLogFile,
    tail::LogTail,
    watcher::{LogWatcher, SessionChange},
};
use crate::{LogsError, SessionCandidates, read};

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
    fn changed_sessions(&mut self, path: &Path, now: Timestamp, within: Duration) -> io::Result<Vec<String>> {
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
    fn session_ids_with_prefix<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a String> {
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

/// A log that does not grow.
pub struct IdleLog {
    home: usize,
    file: LogFile,
    path: PathBuf,
}

/// Whether a log grows.
#[derive(Clone, Copy, PartialEq)]
pub enum LogGrowth {
    /// Last written long ago.
    None,
    /// The file is new or was written recently: the log grows, or it is a copy.
    Recent,
    /// The file existed and was then written.
    Seen,
}

impl LogWatcher {
    /// Takes note of a log, and follows it if it grows.
    pub(super) fn note_log(&mut self, log: LiveLogFile, growth: LogGrowth) {
        let LiveLogFile { home, file, path, written } = log;
        if let LogFormat::Database(queries) = file.form {
            self.bases.entry(path).or_insert_with(|| DatabaseFollower::new(home, file, queries)).due = true;
            return;
        }
        if let Some(known) = self.logs.get_mut(&LogKey::for_file(&path)) {
            known.mark_due();
            return;
        }
        let asleep = IdleLog { home, file, path };
        if self.may_be_watched(&asleep, growth != LogGrowth::None) {
            self.follow_log(&asleep, written, growth == LogGrowth::Seen);
        } else if let Some(session) = asleep.file.session.clone().filter(|_| asleep.file.parent.is_none()) {
            self.asleep.insert(session, asleep);
        }
    }

    /// Returns whether the log grows, or may belong to the only watched session.
    fn may_be_watched(&self, log: &IdleLog, grows: bool) -> bool {
        let Some(only) = &self.setup.only else { return grows };
        let names: Vec<_> = [&log.file.session, &log.file.parent].into_iter().flatten().collect();
        let may_be = |name: &&String| name.starts_with(only.as_str()) || only.starts_with(name.as_str());
        if names.is_empty() { grows } else { names.iter().any(may_be) }
    }

    fn follow_log(&mut self, log: &IdleLog, written: Timestamp, grows: bool) {
        let Some(home) = self.setup.homes.get(log.home) else { return };
        let tail = LogTail::new(home.logs, log.file.clone(), &log.path, None);
        self.logs.insert(LogKey::for_file(&log.path), LogFollower::new(tail, home.machine.clone(), written, grows));
        if let Some(session) = &log.file.session {
            self.asleep.remove(session);
        }
    }

    /// Reads the logs that are due.
    pub(super) fn read_logs(&mut self) -> Vec<SessionChange> {
        self.read_databases();
        let now = (self.setup.now)();
        let (mut changes, mut parents) = (Vec::new(), Vec::new());
        for log in self.logs.values_mut() {
            let mut events = Vec::new();
            if log.read(now, &mut events) {
                parents.extend(log.tail.parent_session().map(str::to_owned));
                let (id, agent) = (log.tail.session_id(), log.tail.agent_name().to_owned());
                let events = if self.setup.only.is_some() { events } else { Vec::new() };
                changes.push(SessionChange { id, agent, events });
            }
        }
        // A session that waits for a subagent writes nothing.
        let waiting: Vec<_> = parents.iter().filter_map(|parent| self.asleep.remove(parent)).collect();
        if !waiting.is_empty() {
            waiting.iter().for_each(|log| self.follow_log(log, now, true));
            changes.extend(self.read_logs());
        }
        if let Some(only) = self.setup.only.clone().filter(|_| self.is_found) {
            // Logs of a database are kept: their session is only known after they were read.
            let is_its = |agent: &str| self.setup.wanted.has_agent(agent);
            self.logs.retain(|_, log| {
                log.tail.is_database_session() || log.tail.session_id() == only && is_its(log.tail.agent_name())
            });
            changes.retain(|change| change.id == only && is_its(&change.agent));
        }
        changes
    }

    fn read_databases(&mut self) {
        let (now, within) = ((self.setup.now)(), self.setup.within);
        for (path, base) in self.bases.iter_mut().filter(|(_, base)| base.due) {
            let Some(home) = self.setup.homes.get(base.home) else { continue };
            // A database that cannot be read now is retried when it changes again.
            let mut changed = base.changed_sessions(path, now, within).unwrap_or_default();
            changed.extend(
                self.setup.only.iter().flat_map(|only| base.session_ids_with_prefix(only).cloned().collect::<Vec<_>>()),
            );
            for session in changed {
                let new = || {
                    let tail = LogTail::new(home.logs, base.file.clone(), path, Some(&session));
                    LogFollower::new(tail, home.machine.clone(), now, false)
                };
                self.logs.entry(LogKey::for_session(path, &session)).or_insert_with(new).mark_due();
            }
        }
    }

    /// Stops following logs that have not grown for long.
    pub(super) fn drop_idle_logs(&mut self) -> Vec<SessionChange> {
        if self.setup.only.is_some() {
            return Vec::new();
        }
        let (now, within) = ((self.setup.now)(), self.setup.within);
        let runs: Vec<_> = self.own.iter().flat_map(|own| own.agent_session_ids()).collect();
        let is_over = |log: &LogFollower| {
            let session = log.tail.session_id();
            u128::from(now.millis_since(log.updated)) > within.as_millis() && !runs.contains(&session)
        };
        let parents: Vec<_> = self.logs.values().filter(|log| !is_over(log)).map(|log| log.tail.session_id()).collect();
        let mut changes = Vec::new();
        self.logs.retain(|_, log| {
            let goes = is_over(log) && !parents.contains(&log.tail.session_id());
            if goes {
                let (id, agent) = (log.tail.session_id(), log.tail.agent_name().to_owned());
                changes.push(SessionChange { id, agent, events: Vec::new() });
            }
            !goes
        });
        changes
    }

    /// Resolves the only watched session, and stops following everything else.
    pub(super) fn resolve_only_session(&mut self) -> Result<(), LogsError> {
        let Some(only) = self.setup.only.clone() else { return Ok(()) };
        let mut found = self.running_sessions();
        found.sort_by(|a, b| (&a.id, &a.agent).cmp(&(&b.id, &b.agent)));
        found.dedup_by(|a, b| (&a.id, &a.agent) == (&b.id, &b.agent));
        if found.iter().any(|session| session.id == only) {
            found.retain(|session| session.id == only);
        }
        match found.as_slice() {
            [] => return Err(LogsError::NoSession(only)),
            [one] => (self.setup.only, self.setup.wanted.agents) = (Some(one.id.clone()), vec![one.agent.clone()]),
            _ => {
                let told = found.iter().map(|session| (session.id.as_str(), session.agent.as_str(), &session.facts));
                return Err(LogsError::Ambiguous { given: only, found: SessionCandidates::from_sessions(told) });
            }
        }
        self.is_found = true;
        Ok(())
    }

    /// The events of the only session come from its log, if it has one.
    pub(super) fn has_log(&self, id: &str) -> bool {
        self.logs.values().any(|log| log.tail.session_id() == id)
    }

    /// Keeps the events that were read when the only session was resolved.
    pub(super) fn keep_initial_events(&mut self, changes: Vec<SessionChange>) {
        let (only, wanted) = (self.setup.only.clone(), &self.setup.wanted);
        let events: Vec<Event> = changes
            .into_iter()
            .filter(|change| Some(&change.id) == only.as_ref() && wanted.has_agent(&change.agent))
            .flat_map(|change| change.events)
            .collect();
        self.first = events;
    }
}
