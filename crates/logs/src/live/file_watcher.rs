//! Watches files with inotify. Where that is unavailable, the caller has to poll.

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

/// A message to the watcher.
#[derive(Debug)]
pub enum WatchSignal {
    /// This path changed.
    Path(PathBuf),
    /// Events were dropped: everything has to be checked.
    Lost,
    /// Stop watching.
    Stop,
}

pub struct FileWatcher {
    watcher: Option<RecommendedWatcher>,
    folders: HashSet<PathBuf>,
    /// Why watching does not work.
    deaf: Option<String>,
}

impl FileWatcher {
    /// Creates a watcher that sends changes to `tell`.
    pub fn new(tell: Sender<WatchSignal>) -> Self {
        let made = notify::recommended_watcher(move |event: notify::Result<Event>| forward_event(event, &tell));
        match made {
            Ok(watcher) => Self { watcher: Some(watcher), folders: HashSet::new(), deaf: None },
            Err(error) => Self { watcher: None, folders: HashSet::new(), deaf: Some(error.to_string()) },
        }
    }

    /// Returns why watching does not work, if so.
    pub fn watch_error(&self) -> Option<&str> {
        self.deaf.as_deref()
    }

    /// Returns whether the directory is watched.
    pub fn is_watching(&self, folder: &Path) -> bool {
        self.folders.contains(folder)
    }

    /// Watches a directory, not recursively. An unreadable one is ignored.
    pub fn watch_directory(&mut self, folder: &Path) {
        let Some(watcher) = &mut self.watcher else { return };
        if self.folders.contains(folder) {
            return;
        }
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => drop(self.folders.insert(folder.to_owned())),
            Err(error) if matches!(error.kind, ErrorKind::MaxFilesWatch) => {
                let hint = "fs.inotify.max_user_watches is too small for so many folders";
                self.deaf = Some(hint.to_owned());
                self.watcher = None;
            }
            Err(_) => {}
        }
    }

    /// Forgets a deleted directory; a new one of the same name has to be watched again.
    pub fn forget_directory(&mut self, folder: &Path) {
        self.folders.remove(folder);
    }
}

fn forward_event(event: notify::Result<Event>, tell: &Sender<WatchSignal>) {
    let Ok(event) = event else { return drop(tell.send(WatchSignal::Lost)) };
    if event.flag() == Some(Flag::Rescan) {
        return drop(tell.send(WatchSignal::Lost));
    }
    // Reads are ignored; this process reads too. SQLite readers close the files next to a database as if they had been
    // written, and may change their metadata. The first reader even writes the `-shm` file if the process that had the
    // database open was killed.
    let beside = event.paths.iter().find_map(|path| database_of_side_file(path)).map(|(_, end)| end);
    let is_news = match (event.kind, beside) {
        (EventKind::Access(kind), beside) => kind == AccessKind::Close(AccessMode::Write) && beside.is_none(),
        (EventKind::Modify(ModifyKind::Metadata(_)), Some(_)) | (_, Some("-shm")) => false,
        _ => true,
    };
    if is_news {
        // The receiver is gone during shutdown.
        event.paths.into_iter().for_each(|path| drop(tell.send(WatchSignal::Path(path))));
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
            WatchSignal::Path(path) => path.file_name().unwrap().to_string_lossy().into_owned(),
            other => panic!("{other:?}"),
        };
        std::iter::repeat_with(next).take_while(|name| name != end).collect()
    }

    #[test]
    fn whoever_reads_what_a_killed_program_left_is_not_heard() {
        let (folder, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let writer = rusqlite::Connection::open(source.path().join("a.db")).unwrap();
        writer.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE session (id, time_updated, time_created)").unwrap();
        writer.execute("INSERT INTO session VALUES ('s', 1, 1)", []).unwrap();
        for name in ["a.db", "a.db-wal", "a.db-shm"] {
            fs::copy(source.path().join(name), folder.path().join(name)).unwrap();
        }
        let (tell, inbox) = channel();
        let mut ears = FileWatcher::new(tell);
        ears.watch_directory(folder.path());
        let queries = SessionQueries { sessions: &[&["SELECT id, time_updated FROM session"]], rows: &[] };
        let before = fs::read(folder.path().join("a.db-shm")).unwrap();
        assert_eq!(list_database_sessions(&folder.path().join("a.db"), &queries).unwrap().len(), 1);
        assert_ne!(fs::read(folder.path().join("a.db-shm")).unwrap(), before, "it is written, so it could be heard");
        fs::write(folder.path().join("end"), "x").unwrap();
        assert_eq!(changed_names(&inbox, "end"), [""; 0]);
    }

    #[test]
    fn folders_are_heard_whatever_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let (tell, inbox) = channel();
        let mut ears = FileWatcher::new(tell);
        ears.watch_directory(folder.path());
        // Agents name directories after the working directory, such as `/dev/shm`.
        for name in ["-dev-shm", "-home-wal"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("end"), "x").unwrap();
        assert_eq!(changed_names(&inbox, "end"), ["-dev-shm", "-home-wal"]);
    }

    #[test]
    fn whoever_reads_a_database_is_not_heard_and_whoever_writes_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let open = |path: PathBuf| OpenOptions::new().read(true).write(true).open(path).unwrap();
        for name in ["a.db", "a.db-wal"] {
            fs::write(file(name), "x").unwrap();
        }
        let (tell, inbox) = channel();
        let mut ears = FileWatcher::new(tell);
        ears.watch_directory(folder.path());
        // SQLite does this for a reader.
        drop(open(file("a.db-wal")));
        fs::write(file("one"), "x").unwrap();
        assert!(changed_names(&inbox, "one").is_empty());
        open(file("a.db-wal")).write_all(b"y").unwrap();
        fs::write(file("two"), "x").unwrap();
        assert!(changed_names(&inbox, "two").contains(&"a.db-wal".to_owned()));
    }
}
