//! Discovers logs. Only directories that can contain logs are scanned, and only databases are opened.

use std::{
    cmp::Reverse,
    collections::HashMap,
    fs::Metadata,
    io, iter,
    os::unix::fs::MetadataExt as _,
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use switchboard_agents::{LogFile, LogFormat, SessionQueries};

use crate::index::{DatabaseSessionLists, SessionVersions};
use crate::query::expand_pattern;
use crate::{AgentHome, read};

/// An existing log.
#[derive(Debug)]
pub struct DiscoveredLog {
    /// Machine, agent and log, separated by line feeds.
    pub name: String,
    pub agent: &'static str,
    /// The machine, unless it is this one.
    pub machine: Option<String>,
    pub path: PathBuf,
    /// The session, if the log is part of a database.
    pub part: Option<String>,
    pub file: LogFile,
    pub bytes: u64,
    /// The inode number.
    pub inode: u64,
    /// Changes whenever the log does.
    pub seen: String,
}

impl DiscoveredLog {
    /// Returns the session as far as it is known without opening the file.
    pub fn session_id(&self) -> String {
        let stem = || self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.file.session.clone().or_else(|| self.part.clone()).unwrap_or_else(stem)
    }
}

impl DiscoveredLog {
    /// Returns whether the session is part of a shared document.
    pub fn is_in_shared_document(&self) -> bool {
        matches!(self.file.form, LogFormat::SharedDocument(_))
    }

    /// Returns whether this is the own log of a session that is also in a shared document.
    pub fn covers_session_of(&self, shared: &Self) -> bool {
        let session = shared.part.as_deref().unwrap_or_default();
        let is_prefix = self.file.session_prefix.as_deref().is_some_and(|prefix| session.starts_with(prefix));
        let is_same_session = is_prefix || self.file.session.as_deref() == Some(session);
        is_same_session && (self.agent, &self.machine) == (shared.agent, &shared.machine)
    }
}

/// A directory or database that could not be scanned.
pub struct UnreadablePath {
    pub agent: &'static str,
    pub path: PathBuf,
    pub error: io::Error,
}

/// Returns all logs of these homes, and the paths that could not be scanned. Homes are scanned in parallel: with a cold
/// cache, most of the time is spent waiting for the disk.
pub fn discover_logs(
    homes: &[AgentHome],
    lists: &mut DatabaseSessionLists,
) -> (Vec<DiscoveredLog>, Vec<UnreadablePath>) {
    let (known, next) = (&*lists, AtomicUsize::new(0));
    let some = || {
        let numbers = iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let mine = numbers.map_while(|number| Some((number, homes.get(number)?)));
        mine.map(|(number, home)| (number, HomeWalker::walk_home(home, known))).collect::<Vec<_>>()
    };
    let mut walked = thread::scope(|scope| {
        let others: Vec<_> = (1..homes.len().min(MAX_WALK_THREADS)).map(|_| scope.spawn(some)).collect();
        let join = |other: thread::ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(|panic| resume_unwind(panic));
        [some()].into_iter().chain(others.into_iter().map(join)).flatten().collect::<Vec<_>>()
    });
    // A log in several homes is read in the first one, whichever thread was faster.
    walked.sort_by_key(|(number, _)| *number);
    let (mut seen, mut blocked) = (Vec::new(), Vec::new());
    for (_, walked) in walked {
        seen.extend(walked.seen);
        blocked.extend(walked.blocked);
        walked.listed.into_iter().for_each(|(path, mark, sessions)| lists.insert(&path, mark, sessions));
    }
    (drop_twins(seen), blocked)
}

/// The maximum number of scanning threads.
const MAX_WALK_THREADS: usize = 4;

/// The maximum directory depth of logs.
const MAX_WALK_DEPTH: usize = 8;

struct HomeWalker<'a> {
    known: &'a DatabaseSessionLists,
    walked: HomeLogs,
}

/// The logs found in a home.
#[derive(Default)]
struct HomeLogs {
    seen: Vec<DiscoveredLog>,
    blocked: Vec<UnreadablePath>,
    /// Databases whose sessions were listed, with the mark of their files from before.
    listed: Vec<(PathBuf, String, SessionVersions)>,
}

impl<'a> HomeWalker<'a> {
    /// Scans a home.
    fn walk_home(home: &AgentHome, known: &'a DatabaseSessionLists) -> HomeLogs {
        let mut it = Self { known, walked: HomeLogs::default() };
        let folders = home.logs.folders.iter();
        for path in folders.flat_map(|folder| expand_pattern(&home.folder, folder)) {
            match path.metadata() {
                Ok(found) if found.is_file() => it.visit_file(home, &path, Ok(found)),
                Ok(found) if found.is_dir() => it.walk_directory(home, &path, 0),
                Ok(_) => {}
                Err(error) => it.push_unreadable(home, &path, error),
            }
        }
        it.walked
    }

    fn walk_directory(&mut self, home: &AgentHome, folder: &Path, depth: usize) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.push_unreadable(home, folder, error),
        };
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_WALK_DEPTH => self.walk_directory(home, &path, depth + 1),
                Ok(kind) if kind.is_file() => self.visit_file(home, &path, entry.metadata()),
                // Links to files are followed, links to directories are not: they may form cycles.
                Ok(kind) if kind.is_symlink() && path.is_file() => self.visit_file(home, &path, path.metadata()),
                _ => {}
            }
        }
    }

    fn push_unreadable(&mut self, home: &AgentHome, path: &Path, error: io::Error) {
        // A path deleted meanwhile is not an error.
        if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            self.walked.blocked.push(UnreadablePath { agent: home.logs.agent, path: path.to_owned(), error });
        }
    }

    fn visit_file(&mut self, home: &AgentHome, path: &Path, metadata: io::Result<Metadata>) {
        let Some(file) = path.strip_prefix(&home.folder).ok().and_then(|path| (home.logs.file)(path)) else { return };
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(error) => return self.push_unreadable(home, path, error),
        };
        let mark = format!("{}.{}.{}.{}", metadata.size(), metadata.mtime(), metadata.mtime_nsec(), metadata.ino());
        match file.form {
            LogFormat::Database(queries) => match self.database_sessions(path, queries) {
                Ok(sessions) => {
                    for (id, seen) in sessions {
                        self.push_log(home, path, &metadata, (Some(id), seen), file.clone());
                    }
                }
                Err(error) => self.push_unreadable(home, path, error),
            },
            LogFormat::SharedDocument(split) => {
                match self.cached_sessions(path, mark, |path| read::list_shared_sessions(path, split)) {
                    Ok(sessions) => {
                        for (id, seen) in sessions {
                            self.push_log(home, path, &metadata, (Some(id), seen), file.clone());
                        }
                    }
                    Err(error) => self.push_unreadable(home, path, error),
                }
            }
            LogFormat::Tree(pieces) => match read::tree_mark(path, pieces) {
                Ok(seen) => self.push_log(home, path, &metadata, (None, seen), file),
                Err(error) => self.push_unreadable(home, path, error),
            },
            _ => self.push_log(home, path, &metadata, (None, mark), file),
        }
    }

    /// Returns the sessions of a database, which is opened only if its files changed.
    fn database_sessions(&mut self, path: &Path, queries: &SessionQueries) -> io::Result<SessionVersions> {
        let Some(mark) = read::database_mark(path)? else { return read::list_database_sessions(path, queries) };
        self.cached_sessions(path, mark, |path| {
            read::prefetch_database(path);
            read::list_database_sessions(path, queries)
        })
    }

    /// Returns the sessions of a file with many, which is read only if it changed.
    fn cached_sessions(
        &mut self,
        path: &Path,
        mark: String,
        list: impl FnOnce(&Path) -> io::Result<SessionVersions>,
    ) -> io::Result<SessionVersions> {
        if let Some(sessions) = self.known.get(path, &mark) {
            return Ok(sessions.clone());
        }
        let sessions = list(path)?;
        self.walked.listed.push((path.to_owned(), mark, sessions.clone()));
        Ok(sessions)
    }

    fn push_log(
        &mut self,
        home: &AgentHome,
        path: &Path,
        data: &Metadata,
        (part, seen): (Option<String>, String),
        file: LogFile,
    ) {
        let machine = home.machine.clone().unwrap_or_default();
        let log = match (&file.twin, &part) {
            (Some((twin, _)), part) => format!("{twin}{}", part.as_deref().unwrap_or_default()),
            (None, Some(part)) => format!("{}#{part}", path.display()),
            (None, None) => path.display().to_string(),
        };
        // The size of a database is not that of its sessions.
        let bytes = if part.is_some() { 0 } else { data.size() };
        self.walked.seen.push(DiscoveredLog {
            name: format!("{machine}\n{}\n{log}", home.logs.agent),
            agent: home.logs.agent,
            machine: home.machine.clone(),
            path: path.to_owned(),
            part,
            file,
            bytes,
            inode: data.ino(),
            seen,
        });
    }
}

/// If a log has several files, keeps the one with the lowest rank, and among equal ranks the largest: the others are
/// copies from before it continued. Of equal files, the first is kept.
fn drop_twins(all: Vec<DiscoveredLog>) -> Vec<DiscoveredLog> {
    let rank = |seen: &DiscoveredLog| {
        // The size of a session in a database is unknown, but not when it changed.
        let newest = seen.part.as_ref().and_then(|_| read::newest_timestamp(&seen.seen));
        (seen.file.twin.as_ref().map_or(0, |(_, rank)| *rank), Reverse((seen.bytes, newest)))
    };
    let mut first: HashMap<String, DiscoveredLog> = HashMap::new();
    for seen in all {
        match first.get(&seen.name) {
            Some(known) if rank(known) <= rank(&seen) => {}
            _ => drop(first.insert(seen.name.clone(), seen)),
        }
    }
    let mut seen: Vec<DiscoveredLog> = first.into_values().collect();
    seen.sort_by(|a, b| a.name.cmp(&b.name));
    seen
}

#[cfg(test)]
mod tests {
    use std::fs;

    use switchboard_agents::{AgentLogs, LogFile, no_workspace_root, own_log_scanner, own_reply_key};

    use super::discover_logs;
    use crate::AgentHome;
    use crate::index::DatabaseSessionLists;

    /// An agent whose logs are the same if they have the same name.
    const TEST_AGENT_LOGS: AgentLogs = AgentLogs {
        agent: "any",
        source: "any:log",
        homes: |_| Vec::new(),
        below: &[],
        folders: &["logs"],
        file: |path| Some(LogFile { twin: Some((path.display().to_string(), 0)), ..LogFile::line_log(None) }),
        skim: |_, _| own_log_scanner(),
        key: own_reply_key,
        root: no_workspace_root,
        kept_days: None,
    };

    #[test]
    fn a_copy_from_before_a_log_went_on_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        for (home, text) in [("old", "1"), ("new", "12"), ("other", "1")] {
            let logs = folder.path().join(home).join("logs");
            fs::create_dir_all(&logs).unwrap();
            fs::write(logs.join("log"), text).unwrap();
        }
        let home = |name: &str| AgentHome { logs: &TEST_AGENT_LOGS, folder: folder.path().join(name), machine: None };
        for order in [["old", "new", "other"], ["new", "other", "old"], ["other", "old", "new"]] {
            let (seen, _) = discover_logs(&order.map(home), &mut DatabaseSessionLists::default());
            let paths: Vec<_> = seen.into_iter().map(|log| log.path).collect();
            assert_eq!(paths, [folder.path().join("new/logs/log")]);
        }
    }

    #[test]
    fn what_lies_in_several_homes_is_read_in_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let homes: Vec<AgentHome> = (0..9)
            .map(|number| {
                let home = folder.path().join(format!("home{number}"));
                fs::create_dir_all(home.join("logs")).unwrap();
                // The first home has the most files and finishes last.
                (number..200).for_each(|log| fs::write(home.join(format!("logs/{log:03}")), "").unwrap());
                AgentHome { logs: &TEST_AGENT_LOGS, folder: home, machine: None }
            })
            .collect();
        fs::remove_file(folder.path().join("home0/logs/150")).unwrap();
        let (seen, blocked) = discover_logs(&homes, &mut DatabaseSessionLists::default());
        assert!(seen.len() == 200 && blocked.is_empty());
        for (number, log) in seen.iter().enumerate() {
            let home = folder.path().join(if number == 150 { "home1" } else { "home0" });
            assert_eq!(log.path, home.join(format!("logs/{number:03}")));
        }
    }
}
