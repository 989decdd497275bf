//! The stored events of a session, a page at a time.

use std::{
    cell::RefCell,
    collections::{BTreeSet, VecDeque},
};

use switchboard_event::{Event, EventBody};
use switchboard_store::{PageQuery, SessionLog, SessionRecord, StoreError};

use crate::{failure::Failure, terminal::print_note};

/// Maximum events and bytes of a page.
const PAGE_LIMITS: (usize, usize) = (4096, 4 << 20);

/// The events of a session up to its head at the time of reading.
pub struct SessionHistory<'a> {
    log: &'a dyn SessionLog,
    session: &'a SessionRecord,
    /// The damaged events that were reported: a session is read more than once.
    warned: RefCell<BTreeSet<u64>>,
}

impl<'a> SessionHistory<'a> {
    pub fn new(log: &'a dyn SessionLog, session: &'a SessionRecord) -> Self {
        Self { log, session, warned: RefCell::default() }
    }

    /// Returns the pages after an event, in order.
    pub fn pages(&self, mut after: u64) -> impl Iterator<Item = Result<Vec<Event>, Failure>> {
        std::iter::from_fn(move || {
            if after >= self.session.head {
                return None;
            }
            let page = PageQuery { after, limit: PAGE_LIMITS.0, max_bytes: PAGE_LIMITS.1, kinds: &[] };
            let page = self.read(page);
            // A session that is deleted in the meantime ends here.
            after = page.as_ref().ok().and_then(|events| events.last()).map_or(u64::MAX, |event| event.seq);
            Some(page.map_err(Failure::from))
        })
    }

    /// Reads a page, without damaged events.
    fn read(&self, page: PageQuery) -> Result<Vec<Event>, StoreError> {
        let (rows, damaged) = self.log.read_sound_rows(&self.session.id, page)?;
        for seq in damaged {
            if self.warned.borrow_mut().insert(seq) {
                print_note(&format!("warning: event {seq} is damaged and skipped: checksum mismatch"));
            }
        }
        rows.iter().map(|row| row.decode(&self.session.id)).collect()
    }

    /// Returns where the last turns begin.
    pub fn start_of_last_turns(&self, turns: usize) -> Result<HistoryPosition, Failure> {
        let (mut run, mut count, mut starts) = (None, 0, VecDeque::new());
        for page in self.pages(0) {
            for event in page?.into_iter().filter(|event| event.thread.is_none()) {
                match event.body {
                    EventBody::TurnStarted(_) => {
                        count += 1;
                        starts.push_back(HistoryPosition { after: event.seq - 1, opening: run.clone() });
                        if starts.len() > turns {
                            starts.pop_front();
                        }
                    }
                    EventBody::SessionStarted(_) => run = Some(event),
                    _ => {}
                }
            }
        }
        let end = HistoryPosition { after: self.session.head, opening: run };
        Ok(if count > turns { starts.pop_front().unwrap_or(end) } else { HistoryPosition::default() })
    }
}

/// The position in a session from which it is shown.
#[derive(Clone, Default)]
pub struct HistoryPosition {
    pub after: u64,
    /// The start of the run that contains this position, which gives the agent, model and directory.
    pub opening: Option<Event>,
}
