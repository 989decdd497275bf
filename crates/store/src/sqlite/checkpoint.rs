//! Checkpoints the write-ahead log on a separate thread and connection, so that commits do not wait for it.

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

/// The write-ahead log is checkpointed when the writer is idle, or when it has grown by this many pages (64 MB). A
/// checkpoint under load slows down the writers.
const CHECKPOINT_PAGES: i32 = 16_384;

/// A write-ahead log of this many pages is checkpointed by the commit itself, which then waits.
pub(super) const MAX_WAL_PAGES: i32 = 65_536;

/// The checkpoint thread. Dropping it stops the thread.
pub(super) struct WalCheckpointer {
    bell: Option<Arc<SyncSender<()>>>,
    /// The file and the write-ahead log are to be truncated.
    gives_back: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WalCheckpointer {
    pub fn start(path: &Path, reserve: DiskReserve) -> Result<Self, StoreError> {
        let connection = file::open_checkpoint_connection(path)?;
        let (bell, rings) = sync_channel::<()>(1);
        let gives_back = Arc::new(AtomicBool::new(false));
        let (wanted, file) = (gives_back.clone(), path.to_owned());
        let work = move || {
            while rings.recv().is_ok() {
                if file::wal_growth(&connection).is_ok_and(|growth| !reserve.has_space_for(growth)) {
                    // A checkpoint needs space and frees more.
                    if file::wal_growth(&connection).is_ok_and(|growth| reserve.release_if_sufficient(growth)) {
                        drop(file::release_free_space(&file));
                        reserve.restore();
                    }
                    continue;
                }
                if wanted.swap(false, Ordering::Relaxed) {
                    // On failure the space is still reusable within the file.
                    drop(file::release_free_space(&file));
                    continue;
                }
                // If a reader is in the way, the next checkpoint moves the rest.
                drop(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
            }
            file::prepare_to_close(&connection, &reserve);
        };
        let thread =
            thread::Builder::new().name("checkpoint".to_owned()).spawn(work).map_err(file::path_error(path))?;
        Ok(Self { bell: Some(Arc::new(bell)), gives_back, thread: Some(thread) })
    }

    /// Checks the length of the write-ahead log after each commit, in place of SQLite's auto-checkpoint.
    pub fn install_wal_hook(&self, connection: &mut Connection) -> Result<(), StoreError> {
        // The connection may outlive the thread and must not keep its channel open.
        let bell = self.bell.as_ref().map(Arc::downgrade).unwrap_or_default();
        let mut enough = CHECKPOINT_PAGES;
        let look = move |wal: &mut Wal, pages: i32| {
            if pages < enough - CHECKPOINT_PAGES {
                // The write-ahead log was restarted after a full checkpoint.
                enough = CHECKPOINT_PAGES;
            }
            if pages >= MAX_WAL_PAGES {
                wal.checkpoint().ok();
            } else if pages >= enough {
                enough = pages + CHECKPOINT_PAGES;
                wake_thread(bell.upgrade().as_deref());
            }
            // An error here would be reported as an error of the commit, which has succeeded.
            Ok(())
        };
        Ok(connection.wal_hook(Some(look))?)
    }

    /// Requests a checkpoint.
    pub fn wake(&self) {
        wake_thread(self.bell.as_deref());
    }

    /// Requests the release of free space in the file and the write-ahead log.
    pub fn request_release(&self) {
        self.gives_back.store(true, Ordering::Relaxed);
        self.wake();
    }
}

fn wake_thread(bell: Option<&SyncSender<()>>) {
    if let Some(bell) = bell {
        // A pending notification suffices.
        bell.try_send(()).ok();
    }
}

impl Drop for WalCheckpointer {
    fn drop(&mut self) {
        drop(self.bell.take());
        drop(self.thread.take().map(JoinHandle::join));
    }
}
