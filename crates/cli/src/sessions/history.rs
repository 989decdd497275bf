//! The events of a session that are in the log, a page at a time.

use std::{
    cell::RefCell,
    collections::{BTreeSet, VecDeque},
};

use switchboard_event::{Body, Event};
use switchboard_store::{Log, Page, Row, Session, StoreError};

use super::say;
use crate::failure::Failure;

/// So much is read at once.
const PAGE: (usize, usize) = (4096, 4 << 20);

/// What a session has behind it, up to where it was when somebody looked.
pub struct History<'a> {
    log: &'a dyn Log,
    session: &'a Session,
    /// The damaged events of which the user was told: a session is read more than once.
    warned: RefCell<BTreeSet<u64>>,
}

impl<'a> History<'a> {
    /// The events of a session.
    pub fn new(log: &'a dyn Log, session: &'a Session) -> Self {
        Self { log, session, warned: RefCell::default() }
    }

    /// The pages behind an event, in order.
    pub fn pages(&self, mut after: u64) -> impl Iterator<Item = Result<Vec<Event>, Failure>> {
        std::iter::from_fn(move || {
            if after >= self.session.head {
                return None;
            }
            let page = Page { after, limit: PAGE.0, max_bytes: PAGE.1 };
            let page = self.read(page);
            // A session that somebody deletes in the meantime just ends here.
            after = page.as_ref().ok().and_then(|events| events.last()).map_or(u64::MAX, |event| event.seq);
            Some(page.map_err(Failure::from))
        })
    }

    /// A page without the events that are damaged.
    fn read(&self, page: Page) -> Result<Vec<Event>, StoreError> {
        let (rows, damaged) = self.log.sound_rows(&self.session.id, page)?;
        for seq in damaged {
            if self.warned.borrow_mut().insert(seq) {
                say(&format!("warning: event {seq} is damaged and left out: its checksum does not match"));
            }
        }
        let event =
            |row: Row| Event::from_json(&row.json).map_err(|error| StoreError::Event(self.session.id.clone(), error));
        rows.into_iter().map(event).collect()
    }

    /// Where the last turns begin.
    pub fn last(&self, turns: usize) -> Result<Place, Failure> {
        let (mut run, mut count, mut starts) = (None, 0, VecDeque::new());
        for page in self.pages(0) {
            for event in page?.into_iter().filter(|event| event.thread.is_none()) {
                match event.body {
                    Body::TurnStarted(_) => {
                        count += 1;
                        starts.push_back(Place { after: event.seq - 1, opening: run.clone() });
                        if starts.len() > turns {
                            starts.pop_front();
                        }
                    }
                    Body::SessionStarted(_) => run = Some(event),
                    _ => {}
                }
            }
        }
        let end = Place { after: self.session.head, opening: run };
        Ok(if count > turns { starts.pop_front().unwrap_or(end) } else { Place::default() })
    }
}

/// Where in a session somebody begins to read.
#[derive(Clone, Default)]
pub struct Place {
    /// Behind this event.
    pub after: u64,
    /// How the run began that this is the middle of: without that, nobody knows what is spoken of.
    pub opening: Option<Event>,
}
