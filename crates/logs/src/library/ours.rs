//! Switchboard's own log, beside those of agents. It is opened when it is first needed: most questions ask the index alone.

use std::sync::{Arc, OnceLock};

use switchboard_store::{Log, StoreError};

type Open = dyn Fn() -> Result<Arc<dyn Log>, StoreError> + Send + Sync;

/// Switchboard's own log.
pub struct Ours {
    open: Box<Open>,
    log: OnceLock<Arc<dyn Log>>,
}

impl Ours {
    /// The log that this opens.
    pub fn new(open: impl Fn() -> Result<Arc<dyn Log>, StoreError> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), log: OnceLock::new() }
    }

    /// The log, open.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn log(&self) -> Result<Arc<dyn Log>, StoreError> {
        if let Some(log) = self.log.get() {
            return Ok(log.clone());
        }
        let log = (self.open)()?;
        Ok(self.log.get_or_init(|| log).clone())
    }
}

impl From<Arc<dyn Log>> for Ours {
    fn from(log: Arc<dyn Log>) -> Self {
        Self::new(move || Ok(log.clone()))
    }
}
