//! The end of serving, as streams hear of it.

use std::sync::Arc;

use tokio::sync::watch;

/// Tells everybody who holds it that the server is shutting down.
#[derive(Clone, Debug)]
pub struct Drain(Arc<watch::Sender<bool>>);

impl Drain {
    /// What a stream that is closed for it says.
    pub const REASON: &'static str = "the server is shutting down";

    /// Nothing ends yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// From now on, streams close and connections are not kept.
    pub fn begin(&self) {
        self.0.send_replace(true);
    }

    /// It has begun.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it begins. May be dropped and asked again.
    pub async fn begun(&self) {
        // The sender is in our own hands, so this cannot fail.
        drop(self.0.subscribe().wait_for(|begun| *begun).await);
    }
}

impl Default for Drain {
    fn default() -> Self {
        Self::new()
    }
}
