//! Hearing that files change, by inotify. Where that is not to be had, whoever listens has to look instead.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::mpsc::Sender,
};

use notify::{
    ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode, Flag},
};

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
    // That somebody reads is no news; we do it ourselves.
    let is_news = match event.kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    };
    if is_news {
        // Nobody listens any more when we are about to end.
        event.paths.into_iter().for_each(|path| drop(tell.send(Heard::Path(path))));
    }
}
