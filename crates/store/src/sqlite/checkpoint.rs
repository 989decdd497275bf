//! Moves what is committed from the write-ahead log into the file, on a thread and a connection of its own: whoever
//! commits does not wait for that.

use std::{
    path::Path,
    sync::mpsc::{SyncSender, sync_channel},
    thread::{self, JoinHandle},
};

use super::file;
use crate::StoreError;

/// The write-ahead log is moved when about so much was written to it.
const ENOUGH: usize = 4 << 20;

/// The thread. Dropping it ends it.
pub(super) struct Checkpointer {
    bell: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    written: usize,
}

impl Checkpointer {
    pub fn start(path: &Path) -> Result<Self, StoreError> {
        let connection = file::checkpointer(path)?;
        let (bell, rings) = sync_channel::<()>(1);
        let work = move || {
            while rings.recv().is_ok() {
                // If somebody is in the way, what is left is moved the next time.
                drop(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
            }
        };
        let thread = thread::Builder::new().name("checkpoint".to_owned()).spawn(work).map_err(file::at(path))?;
        Ok(Self { bell: Some(bell), thread: Some(thread), written: 0 })
    }

    /// So many bytes more were written.
    pub fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written >= ENOUGH {
            self.wake();
        }
    }

    /// Has it done now.
    pub fn wake(&mut self) {
        self.written = 0;
        if let Some(bell) = &self.bell {
            // If it rings already, that will do.
            bell.try_send(()).ok();
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.bell.take());
        drop(self.thread.take().map(JoinHandle::join));
    }
}
