//! Hearing that files change, by inotify. Where that is not to be had, whoever listens has to look instead.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::mpsc::Sender,
};

use notify::{
    ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode, Flag, ModifyKind},
};

use crate::read::database_of;

/// What is heard.
#[derive(Debug)]
pub enum Heard {
    /// Something about this path is new.
    Path(PathBuf),
    /// More happened than can be told: everything has to be looked at.
    Lost,
    /// Enough.
    Stop,
}

/// Hears what changes in folders.
pub struct Ears {
    watcher: Option<RecommendedWatcher>,
    folders: HashSet<PathBuf>,
    /// Why nothing is heard.
    deaf: Option<String>,
}

impl Ears {
    /// Ears that tell what they hear.
    pub fn new(tell: Sender<Heard>) -> Self {
        let made = notify::recommended_watcher(move |event: notify::Result<Event>| hear(event, &tell));
        match made {
            Ok(watcher) => Self { watcher: Some(watcher), folders: HashSet::new(), deaf: None },
            Err(error) => Self { watcher: None, folders: HashSet::new(), deaf: Some(error.to_string()) },
        }
    }

    /// Why nothing is heard, if that is so.
    pub fn deaf(&self) -> Option<&str> {
        self.deaf.as_deref()
    }

    /// It listens to a folder.
    pub fn hears(&self, folder: &Path) -> bool {
        self.folders.contains(folder)
    }

    /// Listens to a folder, not to those in it. One that cannot be read has nothing to tell.
    pub fn listen(&mut self, folder: &Path) {
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

    /// A folder is gone; one of the same name is another.
    pub fn forget(&mut self, folder: &Path) {
        self.folders.remove(folder);
    }
}

fn hear(event: notify::Result<Event>, tell: &Sender<Heard>) {
    let Ok(event) = event else { return drop(tell.send(Heard::Lost)) };
    if event.flag() == Some(Flag::Rescan) {
        return drop(tell.send(Heard::Lost));
    }
    // That somebody reads is no news; we do it ourselves. Who reads a database closes the files beside it as if they had
    // been written, and may say again whose they are. Even to one of them readers write: the first one does, if whoever had
    // the database open was killed.
    let beside = event.paths.iter().find_map(|path| database_of(path)).map(|(_, end)| end);
    let is_news = match (event.kind, beside) {
        (EventKind::Access(kind), beside) => kind == AccessKind::Close(AccessMode::Write) && beside.is_none(),
        (EventKind::Modify(ModifyKind::Metadata(_)), Some(_)) | (_, Some("-shm")) => false,
        _ => true,
    };
    if is_news {
        // Nobody listens any more when we are about to end.
        event.paths.into_iter().for_each(|path| drop(tell.send(Heard::Path(path))));
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

    use switchboard_agents::Queries;

    use super::{Ears, Heard};
    use crate::read::sessions_of;

    /// The names of all that is heard until something happens to `end`.
    fn heard(inbox: &Receiver<Heard>, end: &str) -> Vec<String> {
        let next = || match inbox.recv_timeout(Duration::from_secs(20)).unwrap() {
            Heard::Path(path) => path.file_name().unwrap().to_string_lossy().into_owned(),
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
        let mut ears = Ears::new(tell);
        ears.listen(folder.path());
        let queries = Queries { sessions: &[&["SELECT id, time_updated FROM session"]], rows: &[] };
        let before = fs::read(folder.path().join("a.db-shm")).unwrap();
        assert_eq!(sessions_of(&folder.path().join("a.db"), &queries).unwrap().len(), 1);
        assert_ne!(fs::read(folder.path().join("a.db-shm")).unwrap(), before, "it is written, so it could be heard");
        fs::write(folder.path().join("end"), "x").unwrap();
        assert_eq!(heard(&inbox, "end"), [""; 0]);
    }

    #[test]
    fn folders_are_heard_whatever_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let (tell, inbox) = channel();
        let mut ears = Ears::new(tell);
        ears.listen(folder.path());
        // Agents name folders after where they work: in `/dev/shm`, say.
        for name in ["-dev-shm", "-home-wal"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("end"), "x").unwrap();
        assert_eq!(heard(&inbox, "end"), ["-dev-shm", "-home-wal"]);
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
        let mut ears = Ears::new(tell);
        ears.listen(folder.path());
        // As SQLite does for a reader.
        drop(open(file("a.db-wal")));
        fs::write(file("one"), "x").unwrap();
        assert!(heard(&inbox, "one").is_empty());
        open(file("a.db-wal")).write_all(b"y").unwrap();
        fs::write(file("two"), "x").unwrap();
        assert!(heard(&inbox, "two").contains(&"a.db-wal".to_owned()));
    }
}
