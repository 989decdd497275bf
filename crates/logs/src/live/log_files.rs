//! Finds the logs in the agents' homes, and watches their directories.

use std::{
    cmp::Reverse,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use switchboard_agents::{LogFile, LogFormat, SessionFacts};
use switchboard_event::Timestamp;
use switchboard_store::{SessionFilter, SessionPhase, SessionRecord};

use super::{file_watcher::FileWatcher, follower::session_change_times, tail::LogTail, watcher::LogWatcher};
use crate::query::expand_pattern;
use crate::{AgentHome, LogsError};

#[derive(Clone)]
pub struct LiveLogFile {
    /// Index of the home that contains it.
    pub home: usize,
    pub file: LogFile,
    pub path: PathBuf,
    /// The modification time.
    pub written: Timestamp,
}

/// Finds the logs of all homes, and watches every directory on the way.
pub fn find_log_files(homes: &[AgentHome], file_watcher: &mut FileWatcher, found: &mut dyn FnMut(LiveLogFile)) {
    (0..homes.len()).for_each(|number| find_in_home(homes, number, file_watcher, found));
}

/// Finds the logs of one home.
pub fn find_in_home(
    homes: &[AgentHome],
    number: usize,
    file_watcher: &mut FileWatcher,
    found: &mut dyn FnMut(LiveLogFile),
) {
    let Some(home) = homes.get(number) else { return };
    // For directories that do not exist yet.
    file_watcher.watch_directory(&home.folder);
    for path in home.logs.folders.iter().flat_map(|inner| expand_pattern(&home.folder, inner)) {
        find_below(homes, number, &path, file_watcher, found);
    }
}

/// Checks a path of a home and, if it is a directory, everything below it.
pub fn find_below(
    homes: &[AgentHome],
    number: usize,
    path: &Path,
    file_watcher: &mut FileWatcher,
    found: &mut dyn FnMut(LiveLogFile),
) {
    let Ok(meta) = fs::metadata(path) else { return };
    if !meta.is_dir() {
        // A pipe may be named like a log.
        if let Some(log) = log_file(homes, number, path, &meta).filter(|_| meta.is_file()) {
            found(log);
        }
        return;
    }
    // Before reading the directory, so that later changes are reported.
    file_watcher.watch_directory(path);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        // Symbolic links could form cycles.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink() || entry.path().is_file()) {
            find_below(homes, number, &entry.path(), file_watcher, found);
        }
    }
}

/// Returns the homes in which a path can be a log or contain one.
pub fn homes_containing(homes: &[AgentHome], path: &Path) -> Vec<usize> {
    let fits = |home: &AgentHome, inner: &str| match inner.contains('*') {
        true => path.parent() == Some(&home.folder) && matches_pattern(path, inner),
        false => path.starts_with(home.folder.join(inner)),
    };
    let is_inside = |home: &AgentHome| home.logs.folders.iter().any(|inner| fits(home, inner));
    homes.iter().enumerate().filter(|(_, home)| is_inside(home)).map(|(number, _)| number).collect()
}

fn matches_pattern(path: &Path, name: &str) -> bool {
    let Some((begin, end)) = name.split_once('*') else { return false };
    let given = path.file_name().unwrap_or_default().to_string_lossy();
    given.strip_prefix(begin).is_some_and(|rest| rest.ends_with(end))
}

fn log_file(homes: &[AgentHome], number: usize, path: &Path, meta: &fs::Metadata) -> Option<LiveLogFile> {
    let home = homes.get(number)?;
    let file = (home.logs.file)(path.strip_prefix(&home.folder).ok()?)?;
    if matches!(file.form, LogFormat::SharedDocument(_)) {
        // Active sessions have logs of their own.
        return None;
    }
    let written = Timestamp::from_micros(meta.mtime() * 1_000_000 + meta.mtime_nsec() / 1_000)?;
    Some(LiveLogFile { home: number, file, path: path.to_owned(), written })
}

/// The argument that means the latest session.
const LAST_SESSION_KEYWORD: &str = "last";

/// Files written within this time may have been copied together: their records decide which is the latest.
const COPY_WINDOW_MS: u64 = 60_000;

/// A session that may be the latest.
enum LastSessionCandidate {
    /// A log, with its session if it is a database.
    Log(Box<LiveLogFile>, Option<String>),
    /// A session that Switchboard runs.
    Own(String),
}

impl LogWatcher {
    /// Resolves `last` to a session ID.
    pub(super) fn resolve_last_session(&mut self) -> Result<(), LogsError> {
        if self.setup.only.as_deref() != Some(LAST_SESSION_KEYWORD) {
            return Ok(());
        }
        let mut candidates = self.list_candidates();
        candidates.sort_by_key(|(written, _)| Reverse(*written));
        let named =
            self.latest_candidate(candidates).ok_or_else(|| LogsError::NoSession(LAST_SESSION_KEYWORD.to_owned()))?;
        self.setup.only = Some(named);
        Ok(())
    }

    /// Returns the latest candidate. They are sorted by write time, newest first.
    fn latest_candidate(&self, candidates: Vec<(Timestamp, LastSessionCandidate)>) -> Option<String> {
        let (mut newest, mut last) = (None, None);
        for (written, candidate) in candidates {
            if newest.is_some_and(|newest: Timestamp| newest.millis_since(written) > COPY_WINDOW_MS) {
                break;
            }
            if let Some((updated, id)) = self.candidate_session(candidate, written) {
                newest.get_or_insert(written);
                last = last.max(Some((updated, id)));
            }
        }
        last.map(|(_, id)| id)
    }

    fn list_candidates(&mut self) -> Vec<(Timestamp, LastSessionCandidate)> {
        let mut found = Vec::new();
        find_log_files(&self.setup.homes, &mut self.file_watcher, &mut |log| found.push(log));
        found.into_iter().flat_map(file_candidates).chain(self.open_own_sessions()).collect()
    }

    fn open_own_sessions(&self) -> Vec<(Timestamp, LastSessionCandidate)> {
        let filter = SessionFilter { states: SessionPhase::OPEN.to_vec(), ..SessionFilter::default() };
        // Sessions that cannot be read now are not candidates.
        let open = self.setup.own.iter().flat_map(|ours| ours.log.list_sessions(&filter).unwrap_or_default());
        let is_wanted = |session: &SessionRecord| {
            let facts = SessionFacts { cwd: Some(session.cwd.clone()), ..SessionFacts::default() };
            self.setup.wanted.matches_session(&session.agent, None, &facts)
        };
        let candidate = |session: SessionRecord| {
            let id = session.agent_session.as_ref().unwrap_or(&session.id).to_string();
            (session.updated, LastSessionCandidate::Own(id))
        };
        open.filter(is_wanted).map(candidate).collect()
    }

    /// Returns the time and ID of a candidate, if the filter includes it.
    fn candidate_session(&self, candidate: LastSessionCandidate, written: Timestamp) -> Option<(Timestamp, String)> {
        let (log, part) = match candidate {
            LastSessionCandidate::Own(id) => return Some((written, id)),
            LastSessionCandidate::Log(log, part) => (log, part),
        };
        let home = self.setup.homes.get(log.home)?;
        let mut tail = LogTail::new(home.logs, log.file, &log.path, part.as_deref());
        tail.read((self.setup.now)(), &mut Vec::new()).ok()?;
        let fits =
            self.setup.wanted.matches_session(home.logs.agent, home.machine.as_deref(), &tail.tail_state().facts);
        fits.then(|| (tail.tail_state().facts.updated.unwrap_or(written), tail.session_id()))
    }
}

/// A file is one log, a database has many.
fn file_candidates(found: LiveLogFile) -> Vec<(Timestamp, LastSessionCandidate)> {
    let LogFormat::Database(queries) = found.file.form else {
        return vec![(found.written, LastSessionCandidate::Log(Box::new(found), None))];
    };
    let sessions = session_change_times(&found.path, queries).unwrap_or_default().into_iter();
    sessions.map(|(id, at)| (at, LastSessionCandidate::Log(Box::new(found.clone()), Some(id)))).collect()
}
