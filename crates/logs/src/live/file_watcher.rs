//! Watches directories for changed files with inotify. Where that is unavailable, the caller has to poll.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::mpsc::Sender,
};

use notify::{
    ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode, Flag, ModifyKind},
};

use crate::read::database_of_side_file;

/// A message to [`LogWatcher`](super::watcher::LogWatcher).
#[derive(Debug)]
pub enum WatchSignal {
    /// This path changed.
    Changed(PathBuf),
    /// Events were dropped: everything has to be checked.
    EventsLost,
    /// Stop watching.
    Stop,
}

pub struct FileWatcher {
    watcher: Option<RecommendedWatcher>,
    directories: HashSet<PathBuf>,
    /// Why watching does not work.
    error: Option<String>,
}

impl FileWatcher {
    /// Creates a watcher that sends changes to `sender`.
    pub fn new(sender: Sender<WatchSignal>) -> Self {
        let result = notify::recommended_watcher(move |event: notify::Result<Event>| forward_event(event, &sender));
        match result {
            Ok(watcher) => Self { watcher: Some(watcher), directories: HashSet::new(), error: None },
            Err(error) => Self { watcher: None, directories: HashSet::new(), error: Some(error.to_string()) },
        }
    }

    /// Returns why watching does not work, if so.
    pub fn watch_error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Returns whether the directory is watched.
    pub fn is_watching(&self, folder: &Path) -> bool {
        self.directories.contains(folder)
    }

    /// Watches a directory, not recursively. An unreadable one is ignored.
    pub fn watch_directory(&mut self, folder: &Path) {
        let Some(watcher) = &mut self.watcher else { return };
        if self.directories.contains(folder) {
            return;
        }
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => drop(self.directories.insert(folder.to_owned())),
            Err(error) if matches!(error.kind, ErrorKind::MaxFilesWatch) => {
                let hint = "the limit fs.inotify.max_user_watches is too low";
                self.error = Some(hint.to_owned());
                self.watcher = None;
            }
            Err(_) => {}
        }
    }

    /// Forgets a deleted directory; a new one of the same name has to be watched again.
    pub fn remove_directory(&mut self, folder: &Path) {
        self.directories.remove(folder);
    }
}

fn forward_event(event: notify::Result<Event>, sender: &Sender<WatchSignal>) {
    let Ok(event) = event else { return drop(sender.send(WatchSignal::EventsLost)) };
    if event.flag() == Some(Flag::Rescan) {
        return drop(sender.send(WatchSignal::EventsLost));
    }
    // Reads are ignored; this process reads too. SQLite readers close a database's `-wal` and `-shm` files as if they had been
    // written, and may change their metadata. The first reader even writes the `-shm` file if the process that had the
    // database open was killed.
    let side_file_suffix = event.paths.iter().find_map(|path| database_of_side_file(path)).map(|(_, end)| end);
    let is_change = match (event.kind, side_file_suffix) {
        (EventKind::Access(kind), suffix) => kind == AccessKind::Close(AccessMode::Write) && suffix.is_none(),
        (EventKind::Modify(ModifyKind::Metadata(_)), Some(_)) | (_, Some("-shm")) => false,
        _ => true,
    };
    if is_change {
        // The receiver is gone during shutdown.
        event.paths.into_iter().for_each(|path| drop(sender.send(WatchSignal::Changed(path))));
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, OpenOptions},
        io::Write as _,
        path::PathBuf,
        sync::mpsc::{Receiver, channel},
        time::Duration,
    };

    use switchboard_agents::SessionQueries;

    use super::{FileWatcher, WatchSignal};
    use crate::read::list_database_sessions;

    /// Returns the names of changed files until `end` changes.
    fn changed_names(inbox: &Receiver<WatchSignal>, end: &str) -> Vec<String> {
        let next = || match inbox.recv_timeout(Duration::from_secs(20)).unwrap() {
            WatchSignal::Changed(path) => path.file_name().unwrap().to_string_lossy().into_owned(),
            other => panic!("{other:?}"),
        };
        std::iter::repeat_with(next).take_while(|name| name != end).collect()
    }

    #[test]
    fn reading_a_database_left_by_a_killed_process_is_not_a_change() {
        let (folder, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let writer = rusqlite::Connection::open(source.path().join("a.db")).unwrap();
        writer.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE session (id, time_updated, time_created)").unwrap();
        writer.execute("INSERT INTO session VALUES ('s', 1, 1)", []).unwrap();
        for name in ["a.db", "a.db-wal", "a.db-shm"] {
            fs::copy(source.path().join(name), folder.path().join(name)).unwrap();
        }
        let (tell, inbox) = channel();
        let mut file_watcher = FileWatcher::new(tell);
        file_watcher.watch_directory(folder.path());
        let queries = SessionQueries { sessions: &[&["SELECT id, time_updated FROM session"]], rows: &[] };
        let before = fs::read(folder.path().join("a.db-shm")).unwrap();
        assert_eq!(list_database_sessions(&folder.path().join("a.db"), &queries).unwrap().len(), 1);
        assert_ne!(fs::read(folder.path().join("a.db-shm")).unwrap(), before, "it is written, so it could be heard");
        fs::write(folder.path().join("end"), "x").unwrap();
        assert_eq!(changed_names(&inbox, "end"), [""; 0]);
    }

    #[test]
    fn directories_with_side_file_suffixes_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let (tell, inbox) = channel();
        let mut file_watcher = FileWatcher::new(tell);
        file_watcher.watch_directory(folder.path());
        // Agents name directories after the working directory, such as `/dev/shm`.
        for name in ["-dev-shm", "-home-wal"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("end"), "x").unwrap();
        assert_eq!(changed_names(&inbox, "end"), ["-dev-shm", "-home-wal"]);
    }

    #[test]
    fn database_writes_are_reported_and_reads_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let open = |path: PathBuf| OpenOptions::new().read(true).write(true).open(path).unwrap();
        for name in ["a.db", "a.db-wal"] {
            fs::write(file(name), "x").unwrap();
        }
        let (tell, inbox) = channel();
        let mut file_watcher = FileWatcher::new(tell);
        file_watcher.watch_directory(folder.path());
        // SQLite does this for a reader.
        drop(open(file("a.db-wal")));
        fs::write(file("one"), "x").unwrap();
        assert!(changed_names(&inbox, "one").is_empty());
        open(file("a.db-wal")).write_all(b"y").unwrap();
        fs::write(file("two"), "x").unwrap();
        assert!(changed_names(&inbox, "two").contains(&"a.db-wal".to_owned()));
    }
}
