//! The contract of the log, on SQLite.

use switchboard_log_conformance::{LogStorage, log_conformance_tests};
use switchboard_store::SessionLog;
use tempfile::TempDir;

use crate::fixture::{open_store, temp_dir};

/// A directory that several processes share.
struct SharedDirectory(TempDir);

impl LogStorage for SharedDirectory {
    fn open_log(&self) -> Box<dyn SessionLog> {
        Box::new(open_store(self.0.path()))
    }
}

log_conformance_tests!(Some(SharedDirectory(temp_dir())));
