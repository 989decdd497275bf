//! Switchboard's own log. It is opened on first use, since most queries need only the index.

use std::sync::Arc;

use parking_lot::Mutex;
use switchboard_store::{SessionLog, StoreError};

type OpenOwnLog = dyn Fn() -> Result<Arc<dyn SessionLog>, StoreError> + Send + Sync;

pub struct OwnLog {
    open: Box<OpenOwnLog>,
    log: Mutex<Option<Arc<dyn SessionLog>>>,
}

impl OwnLog {
    /// Creates a handle that opens the log with `open`.
    pub fn new(open: impl Fn() -> Result<Arc<dyn SessionLog>, StoreError> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), log: Mutex::default() }
    }

    /// Returns the log, opening it if necessary.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open_log(&self) -> Result<Arc<dyn SessionLog>, StoreError> {
        let mut log = self.log.lock();
        match &*log {
            Some(log) => Ok(log.clone()),
            None => Ok(log.insert((self.open)()?).clone()),
        }
    }
}

impl From<Arc<dyn SessionLog>> for OwnLog {
    fn from(log: Arc<dyn SessionLog>) -> Self {
        Self::new(move || Ok(log.clone()))
    }
}
