//! Notifies the processes that share a log of each other's commits. After a commit, a process touches its lock file, or
//! the directory of the lock files if it has none; inotify reports this, and the end of a process, to all watchers.

use std::{
    fs::File,
    io,
    os::fd::OwnedFd,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::fs::{
    Timespec, Timestamps, UTIME_NOW, futimens,
    inotify::{self, CreateFlags, WatchFlags},
};

/// Commits in quicker succession are reported together.
const MIN_NOTIFY_INTERVAL: Duration = Duration::from_millis(5);

/// Announces the commits of this process.
pub(super) struct CommitSignal(File);

impl CommitSignal {
    /// Returns the signal of a process with a lock file, or of one without.
    pub fn new(owners: &Path, lock: Option<&File>) -> io::Result<Self> {
        lock.map_or_else(|| File::open(owners), File::try_clone).map(Self)
    }

    pub fn announce_commit(&self) {
        // Changing both times is a distinct inotify event; changing one would look like a write.
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        // Watchers also poll the log, so a missed notification is harmless.
        futimens(&self.0, &Timestamps { last_access: now, last_modification: now }).unwrap_or_default();
    }
}

/// Calls a function after commits, until it is dropped.
pub(super) struct DirectoryWatch {
    inotify: Arc<OwnedFd>,
    watch: i32,
    is_stopped: Arc<AtomicBool>,
}

impl DirectoryWatch {
    pub fn start(owners: &Path, notify: Box<dyn Fn() + Send>) -> io::Result<Self> {
        let inotify = Arc::new(inotify::init(CreateFlags::CLOEXEC)?);
        let watch = inotify::add_watch(&*inotify, owners, WatchFlags::ATTRIB | WatchFlags::CLOSE_WRITE)?;
        let is_stopped = Arc::<AtomicBool>::default();
        let (events, stopped) = (inotify.clone(), is_stopped.clone());
        thread::Builder::new().name("log watch".to_owned()).spawn(move || {
            let mut buffer = [0_u8; 4096];
            while rustix::io::read(&*events, &mut buffer).is_ok() && !stopped.load(Ordering::Acquire) {
                notify();
                thread::sleep(MIN_NOTIFY_INTERVAL);
            }
        })?;
        Ok(Self { inotify, watch, is_stopped })
    }
}

impl Drop for DirectoryWatch {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Release);
        // Removing a watch is an event, too, and wakes the thread.
        inotify::remove_watch(&*self.inotify, self.watch).unwrap_or_default();
    }
}
