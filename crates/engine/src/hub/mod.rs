//! Following a session: first what is in the log, then what is added to it. Each follower has its own place; one
//! that is slow reads from the log what memory no longer has, and delays nobody.

mod head;
mod slice;

use std::sync::Arc;

use switchboard_store::{Log, Page, StoreError};

pub use slice::Slice;

use head::Found;
pub(crate) use head::{Head, Room};

/// So much is read from the log at once.
const PAGE_EVENTS: usize = 1024;
const PAGE_BYTES: usize = 256 << 10;

/// One reader of a session.
pub struct Follower {
    head: Arc<Head>,
    log: Arc<dyn Log>,
    /// The last event it has seen.
    seen: u64,
}

impl Follower {
    /// A reader that has seen the events up to this one.
    pub(crate) fn new(head: Arc<Head>, log: Arc<dyn Log>, seen: u64) -> Self {
        Self { head, log, seen }
    }

    /// The next events, as many as there are; nothing once the session has ended and all was seen. May be dropped
    /// while it waits, and nothing is missed.
    ///
    /// # Errors
    /// If the log cannot be read, or the session was deleted.
    pub async fn next(&mut self) -> Result<Option<Slice>, StoreError> {
        let head = self.head.clone();
        until(&head, || match self.look() {
            Ok(Look::Here(slice)) => Some(Ok(Some(slice))),
            Ok(Look::Over) => Some(Ok(None)),
            Ok(Look::Nothing) => None,
            Err(error) => Some(Err(error)),
        })
        .await
    }

    /// Looks again whenever the session has changed, until there is something to be seen.
    pub async fn until<T>(&self, look: impl FnMut() -> Option<T>) -> T {
        until(&self.head, look).await
    }

    /// What there is now, without waiting.
    ///
    /// # Errors
    /// If the log cannot be read, or the session was deleted.
    pub fn look(&mut self) -> Result<Look, StoreError> {
        let slice = match self.head.behind(self.seen) {
            Found::Here(slice) => slice,
            Found::InLog => {
                let page = Page { after: self.seen, limit: PAGE_EVENTS, max_bytes: PAGE_BYTES };
                Slice::from_log(self.log.rows(self.head.session(), page)?)
            }
            Found::Nothing => return Ok(Look::Nothing),
            Found::Over => return Ok(Look::Over),
        };
        let Some(last) = slice.last_seq() else {
            // The head says that there is more, and the log has none: it was deleted meanwhile.
            return Err(StoreError::NoSession(self.head.session().to_string()));
        };
        self.seen = last;
        Ok(Look::Here(slice))
    }

    /// The place of the last event that it has seen.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// What comes next is in memory, or has not happened yet.
    #[must_use]
    pub fn is_close(&self) -> bool {
        !matches!(self.head.behind(self.seen), Found::InLog)
    }

    /// Nothing will be added to what there is.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.head.is_ended()
    }

    /// The place of the last event there is.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.head.last()
    }

    /// Both follow the same run of the same session.
    #[must_use]
    pub fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.head, &other.head)
    }

    /// Another reader of the same session, with a place of its own.
    #[must_use]
    pub fn at(&self, seq: u64) -> Self {
        Self { head: self.head.clone(), log: self.log.clone(), seen: seq }
    }
}

async fn until<T>(head: &Head, mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        // Registered before looking, so that a change between looking and waiting wakes us.
        let changed = head.changed();
        tokio::pin!(changed);
        changed.as_mut().enable();
        match look() {
            Some(found) => return found,
            None => changed.await,
        }
    }
}

/// What a follower finds.
pub enum Look {
    /// More events.
    Here(Slice),
    /// None yet.
    Nothing,
    /// The session has ended, and all was seen.
    Over,
}
