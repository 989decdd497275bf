//! Moves what is committed from the write-ahead log into the file, on a thread and a connection of its own: whoever
//! commits does not wait for that.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use rusqlite::{Connection, hooks::Wal};

use super::{file, reserve::DiskReserve};
use crate::StoreError;

/// The write-ahead log is moved when nothing was written for a moment, or when it has grown by so many pages (64 MB).
/// To move it in the middle of much work costs those who do the work.
const ENOUGH: i32 = 16_384;

/// If it got so long nevertheless, a commit moves it and does wait.
pub(super) const BACKSTOP: i32 = 65_536;

/// The thread. Dropping it ends it.
pub(super) struct Checkpointer {
    bell: Option<Arc<SyncSender<()>>>,
    /// The file and the write-ahead log are to become as small as they can be.
    gives_back: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub fn start(path: &Path, reserve: DiskReserve) -> Result<Self, StoreError> {
        let connection = file::checkpointer(path)?;
        let (bell, rings) = sync_channel::<()>(1);
        let gives_back = Arc::new(AtomicBool::new(false));
        let (wanted, file) = (gives_back.clone(), path.to_owned());
        let work = move || {
            while rings.recv().is_ok() {
                if file::wal_growth(&connection).is_ok_and(|growth| !reserve.has_space_for(growth)) {
                    // To move it takes space, and gives back more.
                    if file::wal_growth(&connection).is_ok_and(|growth| reserve.lend(growth)) {
                        drop(file::give_back(&file));
                        reserve.restore();
                    }
                    continue;
                }
                if wanted.swap(false, Ordering::Relaxed) {
                    // What can't be given back now can be used again all the same.
                    drop(file::give_back(&file));
                    continue;
                }
                // If somebody is in the way, what is left is moved the next time.
                drop(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
            }
            file::prepare_to_close(&connection, &reserve);
        };
        let thread = thread::Builder::new().name("checkpoint".to_owned()).spawn(work).map_err(file::at(path))?;
        Ok(Self { bell: Some(Arc::new(bell)), gives_back, thread: Some(thread) })
    }

    /// Looks at the length of the write-ahead log after each commit. This takes the place of SQLite's own look.
    pub fn watch(&self, connection: &mut Connection) -> Result<(), StoreError> {
        // The connection may live longer than the thread, and must not keep it waiting.
        let bell = self.bell.as_ref().map(Arc::downgrade).unwrap_or_default();
        let mut enough = ENOUGH;
        let look = move |wal: &mut Wal, pages: i32| {
            if pages < enough - ENOUGH {
                // All was moved, and it began anew.
                enough = ENOUGH;
            }
            if pages >= BACKSTOP {
                wal.checkpoint().ok();
            } else if pages >= enough {
                enough = pages + ENOUGH;
                ring(bell.upgrade().as_deref());
            }
            // An error would be taken for one of the commit, which is done.
            Ok(())
        };
        Ok(connection.wal_hook(Some(look))?)
    }

    /// Has it done now.
    pub fn wake(&self) {
        ring(self.bell.as_deref());
    }

    /// Gives what is free in the file and in the write-ahead log to the disk.
    pub fn give_back(&self) {
        self.gives_back.store(true, Ordering::Relaxed);
        self.wake();
    }
}

fn ring(bell: Option<&SyncSender<()>>) {
    if let Some(bell) = bell {
        // If it rings already, that will do.
        bell.try_send(()).ok();
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.bell.take());
        drop(self.thread.take().map(JoinHandle::join));
    }
}
