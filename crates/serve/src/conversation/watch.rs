//! Following a session across its runs: at the end of one, the next is waited for.

use switchboard_dialects::Dialect;
use switchboard_event::Id;

use crate::{
    Problem, Service,
    feed::{Begin, Part, Reader},
};

/// A reader of a session that does not stop where a run ends.
pub struct Watch {
    service: Service,
    id: Id,
    dialect: &'static Dialect,
    /// Nothing while the session has ended and all of it was given out.
    reader: Option<Reader>,
    seen: u64,
}

impl Watch {
    pub(super) async fn new(
        service: Service,
        id: Id,
        dialect: &'static Dialect,
        begin: Begin,
    ) -> Result<Self, Problem> {
        let reader = Some(service.read(&id, dialect, begin).await?);
        Ok(Self { service, id, dialect, reader, seen: 0 })
    }

    /// The next messages. Waits for them as long as it takes; may be dropped while it waits, and nothing is missed.
    ///
    /// # Errors
    /// If the log cannot be read, or the session was deleted.
    pub async fn next(&mut self) -> Result<Part, Problem> {
        loop {
            if let Some(reader) = &mut self.reader {
                if let Some(part) = reader.next().await? {
                    return Ok(part);
                }
                self.seen = reader.seen();
                self.reader = None;
            }
            self.service.engine().goes_on(&self.id, self.seen).await?;
            self.reader = Some(self.service.read(&self.id, self.dialect, Begin::Event(self.seen)).await?);
        }
    }

    /// The last event of which everything was given out.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.reader.as_ref().map_or(self.seen, Reader::seen)
    }

    /// The session has ended, and all of it was given out.
    #[must_use]
    pub fn is_resting(&self) -> bool {
        self.reader.is_none()
    }
}
