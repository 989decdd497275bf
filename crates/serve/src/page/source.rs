//! Where the events of a session are read again: its log, or a transcript that is held here.

use std::sync::Arc;

use switchboard_event::{Event, Id};
use switchboard_page::sheet::Source;
use switchboard_store::{Log, Page, Row, StoreError};

/// The events of one session.
pub trait Events: Send + Sync {
    /// So many of them behind a place, as they lie there.
    ///
    /// # Errors
    /// If they cannot be read.
    fn rows(&self, page: Page) -> Result<Vec<Row>, StoreError>;

    /// Where its images are found.
    fn media(&self) -> &str;
}

/// The events of a session in the log.
pub struct Logged {
    pub log: Arc<dyn Log>,
    pub session: Id,
    pub media: String,
}

impl Events for Logged {
    fn rows(&self, page: Page) -> Result<Vec<Row>, StoreError> {
        // The page shows what is left of a session with damaged events.
        Ok(self.log.sound_rows(&self.session, page)?.0)
    }

    fn media(&self) -> &str {
        &self.media
    }
}

/// One event as it lies there.
///
/// # Errors
/// If it cannot be read.
pub fn row(events: &dyn Events, seq: u64) -> Result<Option<Row>, StoreError> {
    let after = seq.saturating_sub(1);
    let rows = events.rows(Page { after, limit: 1, max_bytes: 1 })?;
    Ok(rows.into_iter().next().filter(|row| row.seq == seq))
}

/// Reads events one by one.
pub struct Reading<'a>(pub &'a dyn Events);

impl Source for Reading<'_> {
    fn event(&mut self, seq: u64) -> Option<Event> {
        let row = row(self.0, seq).ok()??;
        Event::from_json(&row.json).ok()
    }

    fn media(&self) -> &str {
        self.0.media()
    }
}
