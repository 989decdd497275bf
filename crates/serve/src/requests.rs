//! What the agent of a session asks, as the log has it: what is open, and what ever was.

use std::{collections::BTreeMap, sync::Arc};

use switchboard_event::{Body, Event, Id, RequestOpened};
use switchboard_store::{Log, Page, StoreError};

use crate::{Problem, Service};

/// So much of a log is read at once.
const PAGE: Page = Page { after: 0, limit: 4096, max_bytes: 4 << 20 };

/// What every event about a request has in it. Most events are about something else, and need not be read.
const MARK: &str = r#""kind":"request."#;

/// The requests of a session, from its log.
#[derive(Default)]
pub struct Requests {
    open: BTreeMap<u64, Arc<RequestOpened>>,
    places: BTreeMap<Id, u64>,
}

impl Requests {
    /// Reads all of them.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    pub fn read(log: &dyn Log, session: &str) -> Result<Self, StoreError> {
        let mut requests = Self::default();
        let mut after = 0;
        loop {
            let (rows, _) = log.sound_rows(session, Page { after, ..PAGE })?;
            let Some(last) = rows.last() else { return Ok(requests) };
            after = last.seq;
            for row in rows.iter().filter(|row| row.json.contains(MARK)) {
                let event = Event::from_json(&row.json).map_err(|error| StoreError::Event(session.into(), error))?;
                requests.event(event);
            }
        }
    }

    fn event(&mut self, event: Event) {
        match event.body {
            Body::RequestOpened(request) => {
                self.places.insert(request.request.clone(), event.seq);
                self.open.insert(event.seq, Arc::from(request));
            }
            Body::RequestResolved(resolved) => {
                if let Some(place) = self.places.get(&resolved.request) {
                    self.open.remove(place);
                }
            }
            _ => {}
        }
    }

    /// The request was made at some time.
    #[must_use]
    pub fn knows(&self, request: &str) -> bool {
        self.places.contains_key(request)
    }

    /// Those that wait for an answer, oldest first.
    #[must_use]
    pub fn into_open(self) -> Vec<Arc<RequestOpened>> {
        self.open.into_values().collect()
    }
}

impl Service {
    /// The session's agent asked this at some time.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    pub async fn ever_asked(&self, session: &str, request: &str) -> Result<bool, Problem> {
        let session = session.to_owned();
        Ok(self.ask(move |log| Requests::read(log, &session)).await?.knows(request))
    }
}
