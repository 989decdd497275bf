//! Switchboard's own log, beside those of agents. It is opened when it is first needed: most questions ask the index alone.

use std::sync::{Arc, Mutex, PoisonError};

use switchboard_store::{Log, StoreError};

type Open = dyn Fn() -> Result<Arc<dyn Log>, StoreError> + Send + Sync;

/// Switchboard's own log.
pub struct Ours {
    open: Box<Open>,
    log: Mutex<Option<Arc<dyn Log>>>,
}

impl Ours {
    /// The log that this opens.
    pub fn new(open: impl Fn() -> Result<Arc<dyn Log>, StoreError> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), log: Mutex::default() }
    }

    /// The log, open.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn log(&self) -> Result<Arc<dyn Log>, StoreError> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        match &*log {
            Some(log) => Ok(log.clone()),
            None => Ok(log.insert((self.open)()?).clone()),
        }
    }
}

impl From<Arc<dyn Log>> for Ours {
    fn from(log: Arc<dyn Log>) -> Self {
        Self::new(move || Ok(log.clone()))
    }
}
