//! The stored events of a session, a page at a time.

use std::{
    cell::RefCell,
    collections::{BTreeSet, VecDeque},
};

use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_client::{AgentError, AgentErrorKind, http::percent_encode};
use switchboard_dialects::DIALECTS;
use switchboard_event::{Event, EventBody, EventError};
use switchboard_store::{PageQuery, SessionLog, SessionRecord};

use crate::{
    failure::Failure,
    remote::{ServerClient, server_failure},
    terminal::print_note,
};

/// Maximum events and bytes of a page.
const PAGE_LIMITS: (usize, usize) = (4096, 4 << 20);

/// The events of a session up to its head at the time of reading.
pub struct SessionHistory<'a> {
    source: HistorySource<'a>,
    session: &'a SessionRecord,
    /// The damaged events that were reported: a session is read more than once.
    warned: RefCell<BTreeSet<u64>>,
}

/// Where the events are read from.
#[derive(Clone, Copy)]
enum HistorySource<'a> {
    Log(&'a dyn SessionLog),
    Server(&'a ServerClient),
}

/// A page of events from a server.
#[derive(Deserialize)]
struct ReceivedPage {
    events: Vec<Box<RawValue>>,
}

impl<'a> SessionHistory<'a> {
    pub fn new(log: &'a dyn SessionLog, session: &'a SessionRecord) -> Self {
        Self { source: HistorySource::Log(log), session, warned: RefCell::default() }
    }

    pub fn on_server(server: &'a ServerClient, session: &'a SessionRecord) -> Self {
        Self { source: HistorySource::Server(server), session, warned: RefCell::default() }
    }

    /// Returns the pages after an event, in order.
    pub fn pages(&self, mut after: u64) -> impl Iterator<Item = Result<Vec<Event>, Failure>> {
        std::iter::from_fn(move || {
            if after >= self.session.head {
                return None;
            }
            let page = PageQuery { after, limit: PAGE_LIMITS.0, max_bytes: PAGE_LIMITS.1, kinds: &[] };
            let page = match self.source {
                HistorySource::Log(log) => self.read(log, page),
                HistorySource::Server(server) => self.fetch(server, page),
            };
            // A session that is deleted in the meantime ends here.
            after = page.as_ref().ok().and_then(|events| events.last()).map_or(u64::MAX, |event| event.seq);
            Some(page)
        })
    }

    /// Reads a page, without damaged events.
    fn read(&self, log: &dyn SessionLog, page: PageQuery) -> Result<Vec<Event>, Failure> {
        let (rows, damaged) = log.read_sound_rows(&self.session.id, page)?;
        for seq in damaged {
            if self.warned.borrow_mut().insert(seq) {
                print_note(&format!("warning: event {seq} is damaged and skipped: checksum mismatch"));
            }
        }
        rows.iter().map(|row| Ok(row.decode(&self.session.id)?)).collect()
    }

    /// Requests a page from a server. Events since the head was read are left out.
    fn fetch(&self, server: &ServerClient, page: PageQuery) -> Result<Vec<Event>, Failure> {
        let dialect = DIALECTS.iter().find(|dialect| dialect.verbatim).map_or("", |dialect| dialect.name);
        let (id, after, limit) = (percent_encode(&self.session.id), page.after, page.limit);
        let path = format!("/api/sessions/{id}/events?dialect={dialect}&after={after}&limit={limit}");
        let received: ReceivedPage = server.wait(server.server.get(&path))?;
        let malformed = |error: EventError| {
            server_failure(AgentError::new(AgentErrorKind::ProtocolError, format!("malformed event: {error}")))
        };
        let events = received.events.iter().map(|event| Event::from_json(event.get()).map_err(malformed));
        let mut events = events.collect::<Result<Vec<_>, _>>()?;
        events.retain(|event| event.seq <= self.session.head);
        Ok(events)
    }

    /// Returns whether a turn started in the last run.
    pub fn has_started_turn(&self) -> bool {
        let run = self.session.runs;
        let is_turn = |event: &Event| event.run == run && matches!(event.body, EventBody::TurnStarted(_));
        self.pages(0).flatten().any(|page| page.iter().any(is_turn))
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
