//! Which logs there are. Only the folders that can hold logs are looked through, and nothing is opened but databases.

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

use switchboard_agents::{Form, LogFile, Queries};

use crate::{
    Home,
    index::lists::{List, Lists},
    places::inside,
    read,
};

/// A log that is there.
#[derive(Debug)]
pub struct Seen {
    /// Machine, agent and log.
    pub name: String,
    /// The agent.
    pub agent: &'static str,
    /// The machine, if it is another one.
    pub machine: Option<String>,
    /// Where it lies.
    pub path: PathBuf,
    /// The session in a database.
    pub part: Option<String>,
    /// What it is.
    pub file: LogFile,
    /// How large it is.
    pub bytes: u64,
    /// What the file system calls it.
    pub inode: u64,
    /// What changes whenever it does.
    pub seen: String,
}

impl Seen {
    /// The session, as far as it is known without opening it.
    pub fn session(&self) -> String {
        let stem = || self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.file.session.clone().or_else(|| self.part.clone()).unwrap_or_else(stem)
    }
}

impl Seen {
    /// It is a session of a document that several share.
    pub fn is_shared(&self) -> bool {
        matches!(self.file.form, Form::SharedDocument(_))
    }

    /// It is a log of the session that the other one is a part of.
    fn has(&self, other: &Self) -> bool {
        let session = other.part.as_deref().unwrap_or_default();
        let is_prefix = self.file.session_prefix.as_deref().is_some_and(|prefix| session.starts_with(prefix));
        is_prefix || self.file.session.as_deref() == Some(session)
    }
}

/// A folder or a database that could not be looked through.
pub struct Blocked {
    /// The agent.
    pub agent: &'static str,
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// All logs of these homes, and what could not be looked through. Several homes are looked through at once: where nothing
/// is in memory yet, most of it is waiting for the disk.
pub fn walk(homes: &[Home], lists: &mut Lists) -> (Vec<Seen>, Vec<Blocked>) {
    let (known, next) = (&*lists, AtomicUsize::new(0));
    let some = || {
        let numbers = iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let mine = numbers.map_while(|number| Some((number, homes.get(number)?)));
        mine.map(|(number, home)| (number, Walker::through(home, known))).collect::<Vec<_>>()
    };
    let mut walked = thread::scope(|scope| {
        let others: Vec<_> = (1..homes.len().min(MOST_THREADS)).map(|_| scope.spawn(some)).collect();
        let join = |other: thread::ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(|panic| resume_unwind(panic));
        [some()].into_iter().chain(others.into_iter().map(join)).flatten().collect::<Vec<_>>()
    });
    // Whoever was quicker: what lies in several homes is read in the first.
    walked.sort_by_key(|(number, _)| *number);
    let (mut seen, mut blocked) = (Vec::new(), Vec::new());
    for (_, walked) in walked {
        seen.extend(walked.seen);
        blocked.extend(walked.blocked);
        walked.listed.into_iter().for_each(|(path, mark, sessions)| lists.add(&path, mark, sessions));
    }
    (without_repeated(without_twins(seen)), blocked)
}

/// Sessions in a shared document that have logs of their own are not read there.
fn without_repeated(all: Vec<Seen>) -> Vec<Seen> {
    let (shared, mut own): (Vec<_>, Vec<_>) = all.into_iter().partition(Seen::is_shared);
    let is_repeated = |shared: &Seen| {
        let is_own = |seen: &Seen| (seen.agent, &seen.machine) == (shared.agent, &shared.machine) && seen.has(shared);
        own.iter().any(is_own)
    };
    let alone: Vec<_> = shared.into_iter().filter(|shared| !is_repeated(shared)).collect();
    own.extend(alone);
    own.sort_by(|a, b| a.name.cmp(&b.name));
    own
}

/// The most threads that look.
const MOST_THREADS: usize = 4;

/// How deep logs can lie.
const DEEPEST: usize = 8;

struct Walker<'a> {
    known: &'a Lists,
    walked: Walked,
}

/// What was found in a home.
#[derive(Default)]
struct Walked {
    seen: Vec<Seen>,
    blocked: Vec<Blocked>,
    /// Databases whose sessions were listed, with what their files were before.
    listed: Vec<(PathBuf, String, List)>,
}

impl<'a> Walker<'a> {
    /// Looks through a home.
    fn through(home: &Home, known: &'a Lists) -> Walked {
        let mut it = Self { known, walked: Walked::default() };
        let folders = home.logs.folders.iter();
        for path in folders.flat_map(|folder| inside(&home.folder, folder)) {
            match path.metadata() {
                Ok(found) if found.is_file() => it.file(home, &path, Ok(found)),
                Ok(found) if found.is_dir() => it.folder(home, &path, 0),
                Ok(_) => {}
                Err(error) => it.block(home, &path, error),
            }
        }
        it.walked
    }

    fn folder(&mut self, home: &Home, folder: &Path, depth: usize) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.block(home, folder, error),
        };
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEEPEST => self.folder(home, &path, depth + 1),
                Ok(kind) if kind.is_file() => self.file(home, &path, entry.metadata()),
                // A link is followed to a file and to no folder: it may lead in a circle.
                Ok(kind) if kind.is_symlink() && path.is_file() => self.file(home, &path, path.metadata()),
                _ => {}
            }
        }
    }

    fn block(&mut self, home: &Home, path: &Path, error: io::Error) {
        // What is gone by now was not there.
        if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            self.walked.blocked.push(Blocked { agent: home.logs.agent, path: path.to_owned(), error });
        }
    }

    fn file(&mut self, home: &Home, path: &Path, metadata: io::Result<Metadata>) {
        let Some(file) = path.strip_prefix(&home.folder).ok().and_then(|path| (home.logs.file)(path)) else { return };
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(error) => return self.block(home, path, error),
        };
        let mark = format!("{}.{}.{}.{}", metadata.size(), metadata.mtime(), metadata.mtime_nsec(), metadata.ino());
        match file.form {
            Form::Database(queries) => match self.sessions_of(path, queries) {
                Ok(sessions) => {
                    for (id, seen) in sessions {
                        self.push(home, path, &metadata, (Some(id), seen), file.clone());
                    }
                }
                Err(error) => self.block(home, path, error),
            },
            Form::SharedDocument(split) => match self.listed(path, mark, |path| read::shared_sessions(path, split)) {
                Ok(sessions) => {
                    for (id, seen) in sessions {
                        self.push(home, path, &metadata, (Some(id), seen), file.clone());
                    }
                }
                Err(error) => self.block(home, path, error),
            },
            Form::Tree(pieces) => match read::tree_mark(path, pieces) {
                Ok(seen) => self.push(home, path, &metadata, (None, seen), file),
                Err(error) => self.block(home, path, error),
            },
            _ => self.push(home, path, &metadata, (None, mark), file),
        }
    }

    /// The sessions of a database, which is opened only if its files are not what they were.
    fn sessions_of(&mut self, path: &Path, queries: &Queries) -> io::Result<List> {
        let Some(mark) = read::database_mark(path)? else { return read::sessions_of(path, queries) };
        self.listed(path, mark, |path| {
            read::fetch_database(path);
            read::sessions_of(path, queries)
        })
    }

    /// The sessions of a file of many, which is read only if it is not what it was.
    fn listed(&mut self, path: &Path, mark: String, list: impl FnOnce(&Path) -> io::Result<List>) -> io::Result<List> {
        if let Some(sessions) = self.known.of(path, &mark) {
            return Ok(sessions.clone());
        }
        let sessions = list(path)?;
        self.walked.listed.push((path.to_owned(), mark, sessions.clone()));
        Ok(sessions)
    }

    fn push(
        &mut self,
        home: &Home,
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
        // A database is as large as it is; its sessions are not.
        let bytes = if part.is_some() { 0 } else { data.size() };
        self.walked.seen.push(Seen {
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

/// The same log in several files is read where its rank is lowest, and of several of the same rank in the one that has
/// most: others are copies from before it went on. Of equal ones, the first is read.
fn without_twins(all: Vec<Seen>) -> Vec<Seen> {
    let rank = |seen: &Seen| {
        // What a session in a database has is not known, but when it was changed.
        let newest = seen.part.as_ref().and_then(|_| read::newest(&seen.seen));
        (seen.file.twin.as_ref().map_or(0, |(_, rank)| *rank), Reverse((seen.bytes, newest)))
    };
    let mut first: HashMap<String, Seen> = HashMap::new();
    for seen in all {
        match first.get(&seen.name) {
            Some(known) if rank(known) <= rank(&seen) => {}
            _ => drop(first.insert(seen.name.clone(), seen)),
        }
    }
    let mut seen: Vec<Seen> = first.into_values().collect();
    seen.sort_by(|a, b| a.name.cmp(&b.name));
    seen
}

#[cfg(test)]
mod tests {
    use std::fs;

    use switchboard_agents::{LogFile, Logs, no_root, own_key, own_skim};

    use super::walk;
    use crate::{Home, index::lists::Lists};

    /// An agent whose logs are the same wherever they have the same name.
    const AGENT: Logs = Logs {
        agent: "any",
        source: "any:log",
        homes: |_| Vec::new(),
        below: &[],
        folders: &["logs"],
        file: |path| Some(LogFile { twin: Some((path.display().to_string(), 0)), ..LogFile::lines(None) }),
        skim: |_, _| own_skim(),
        key: own_key,
        root: no_root,
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
        let home = |name: &str| Home { logs: &AGENT, folder: folder.path().join(name), machine: None };
        for order in [["old", "new", "other"], ["new", "other", "old"], ["other", "old", "new"]] {
            let (seen, _) = walk(&order.map(home), &mut Lists::default());
            let paths: Vec<_> = seen.into_iter().map(|log| log.path).collect();
            assert_eq!(paths, [folder.path().join("new/logs/log")]);
        }
    }

    #[test]
    fn what_lies_in_several_homes_is_read_in_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let homes: Vec<Home> = (0..9)
            .map(|number| {
                let home = folder.path().join(format!("home{number}"));
                fs::create_dir_all(home.join("logs")).unwrap();
                // The first home has most to look through, and is the last one to be done.
                (number..200).for_each(|log| fs::write(home.join(format!("logs/{log:03}")), "").unwrap());
                Home { logs: &AGENT, folder: home, machine: None }
            })
            .collect();
        fs::remove_file(folder.path().join("home0/logs/150")).unwrap();
        let (seen, blocked) = walk(&homes, &mut Lists::default());
        assert!(seen.len() == 200 && blocked.is_empty());
        for (number, log) in seen.iter().enumerate() {
            let home = folder.path().join(if number == 150 { "home1" } else { "home0" });
            assert_eq!(log.path, home.join(format!("logs/{number:03}")));
        }
    }
}
