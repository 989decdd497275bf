//! Sessions of the logs, as entries: the same page as for sessions that run here, without a stream. A log is translated
//! once, for as long as there is room for what came of it.

use std::{cmp::Ordering, sync::Arc};

use axum::{extract::State, response::Response};
use parking_lot::Mutex;
use serde_json::Value;
use switchboard_engine::{EventSource, Follower};
use switchboard_event::{Event, Kind, Timestamp};
use switchboard_logs::{LogLibrary, LogSession, SessionView, Transcript, export};
use switchboard_page::sheet::SessionSummary;
use switchboard_store::{EventRow, PageQuery, StoreError};

use super::{
    card::add_usage,
    parts::{self, RawQuery, file, no_entry},
    session::{Outline, Shown, WindowQuery},
    session_timeline::SessionTimeline,
    source::Events,
};
use crate::{
    Problem, Service,
    api::answer,
    input::{Path, Query},
};

/// So much may transcripts take together. One that is larger is there alone.
const MOST: usize = 128 << 20;

/// The events of a transcript, packed as JSON.
struct PackedEvents {
    json: Vec<u8>,
    places: Vec<PackedEvent>,
}

/// An event of a transcript, and where its JSON ends.
#[derive(Clone, Copy)]
struct PackedEvent {
    seq: u64,
    kind: Kind,
    end: usize,
}

impl PackedEvents {
    fn new(events: Vec<Event>) -> Self {
        let mut packed = Self { json: Vec::new(), places: Vec::with_capacity(events.len()) };
        for event in events {
            let start = packed.json.len();
            match event.write_json(&mut packed.json) {
                Ok(()) => {
                    let (seq, kind, end) = (event.seq, event.body.kind(), packed.json.len());
                    packed.places.push(PackedEvent { seq, kind, end });
                }
                Err(_) => packed.json.truncate(start),
            }
        }
        packed.json.shrink_to_fit();
        packed
    }

    fn last(&self) -> u64 {
        self.places.last().map_or(0, |event| event.seq)
    }

    fn row(&self, at: usize) -> Option<EventRow> {
        let start = at.checked_sub(1).and_then(|before| self.places.get(before)).map_or(0, |event| event.end);
        let PackedEvent { seq, end, .. } = *self.places.get(at)?;
        let json = std::str::from_utf8(self.json.get(start..end)?).ok()?.to_owned();
        Some(EventRow { seq, json })
    }
}

impl EventSource for PackedEvents {
    fn read_rows(&self, page: PageQuery) -> Result<Vec<EventRow>, StoreError> {
        let first = self.places.partition_point(|event| event.seq <= page.after);
        let is_wanted = |event: &PackedEvent| page.kinds.is_empty() || page.kinds.contains(&event.kind);
        let wanted = (first..self.places.len()).filter(|at| self.places.get(*at).is_some_and(is_wanted));
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for row in wanted.map_while(|at| self.row(at)).take(page.limit) {
            bytes += row.json.len();
            if bytes > page.max_bytes && !rows.is_empty() {
                break;
            }
            rows.push(row);
        }
        Ok(rows)
    }
}

/// The events of a transcript.
struct TranscriptEvents {
    follower: Follower,
    media: String,
}

impl Events for TranscriptEvents {
    fn follow(&self, after: u64) -> Result<Follower, StoreError> {
        Ok(self.follower.at(after))
    }

    fn media(&self) -> &str {
        &self.media
    }
}

/// The transcripts that somebody looked at lately, the last one at the end.
#[derive(Default)]
pub struct Transcripts(Mutex<Vec<Kept>>);

#[derive(Clone)]
struct Kept {
    key: Key,
    bytes: usize,
    timeline: Arc<SessionTimeline>,
}

/// The agent, the session, and what tells its versions apart.
type Key = (String, String, Option<Timestamp>, Option<u64>);

impl Transcripts {
    fn find(&self, key: &Key) -> Option<Arc<SessionTimeline>> {
        let mut kept = self.0.lock();
        let at = kept.iter().position(|kept| kept.key == *key)?;
        let found = kept.remove(at);
        let timeline = found.timeline.clone();
        kept.push(found);
        Some(timeline)
    }

    fn keep(&self, new: Kept) {
        let mut kept = self.0.lock();
        kept.retain(|old| (&old.key.0, &old.key.1).cmp(&(&new.key.0, &new.key.1)) != Ordering::Equal);
        kept.push(new);
        let mut bytes: usize = kept.iter().map(|kept| kept.bytes).sum();
        while bytes > MOST && kept.len() > 1 {
            bytes -= kept.remove(0).bytes;
        }
    }
}

impl Service {
    /// Asks the entries of a session of the logs.
    async fn at_transcript<T: Send + 'static>(
        &self,
        id: String,
        ask: impl FnOnce(&SessionTimeline, &LogSession) -> Result<Option<T>, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let service = self.clone();
        self.logs()
            .ask(move |library| {
                let session = library.find_session(&id)?;
                let timeline = service.transcript(library, &session)?;
                ask(&timeline, &session)?.ok_or_else(no_entry)
            })
            .await
    }

    fn transcript(&self, library: &LogLibrary, session: &LogSession) -> Result<Arc<SessionTimeline>, Problem> {
        let key = (session.agent.clone(), session.id.clone(), session.facts.updated, session.bytes);
        if let Some(timeline) = self.transcripts().find(&key) {
            return Ok(timeline);
        }
        let events = match library.read_transcript(session)? {
            Transcript::Events(events) => events,
            Transcript::Kept(kept) => export::kept::rebuild_events(session, &kept),
        };
        let packed = PackedEvents::new(events);
        let (bytes, last) = (packed.json.len() + packed.places.len() * 64, packed.last());
        let follower = Follower::of_complete_session(Arc::new(packed), session.id.as_str().into(), last);
        let events = TranscriptEvents { follower, media: format!("/api/page/logs/{}/media", session.id) };
        let timeline = Arc::new(SessionTimeline::new(Box::new(events), self.summaries().prices.clone()));
        self.transcripts().keep(Kept { key, bytes, timeline: timeline.clone() });
        Ok(timeline)
    }
}

/// A session of the logs in short.
fn card(session: &LogSession, summary: &SessionSummary) -> Value {
    let mut card = serde_json::to_value(SessionView::from(session)).unwrap_or_default();
    if let Some(card) = card.as_object_mut() {
        card.insert("column".to_owned(), "done".into());
        add_usage(card, &summary.usage());
    }
    card
}

/// Some entries of a session of the logs.
pub async fn window(
    State(service): State<Service>,
    Path(id): Path<String>,
    Query(query): Query<WindowQuery>,
) -> Result<Response, Problem> {
    let (from, count) = query.wanted()?;
    let json = service.at_transcript(id, move |timeline, session| {
        let window = timeline.window(from, count)?;
        let card = card(session, &window.summary);
        Ok(Some(Shown::new(window, card).json()))
    });
    Ok(answer(json.await?))
}

/// How long each entry is.
pub async fn outline(State(service): State<Service>, Path(id): Path<String>) -> Result<Response, Problem> {
    let json = service.at_transcript(id, |timeline, _| Ok(Some(Outline::json(timeline.sizes()?))));
    Ok(answer(json.await?))
}

/// The events of an entry.
pub async fn raw(
    State(service): State<Service>,
    Path((id, n)): Path<(String, u32)>,
    Query(query): Query<RawQuery>,
) -> Result<Response, Problem> {
    let raw = service.at_transcript(id, move |timeline, _| parts::raw(timeline, n, query.after));
    Ok(answer(raw.await?.json()))
}

/// All the text of an entry.
pub async fn text(State(service): State<Service>, Path((id, n)): Path<(String, u32)>) -> Result<Response, Problem> {
    let text = service.at_transcript(id, move |timeline, _| parts::text(timeline, n));
    Ok(file(text.await?, &format!("entry-{n}.txt"), "text/plain; charset=utf-8"))
}

/// An image.
pub async fn image(
    State(service): State<Service>,
    Path((id, seq, k)): Path<(String, u64, usize)>,
) -> Result<Response, Problem> {
    let image = service.at_transcript(id, move |timeline, _| parts::image(timeline, seq, k));
    parts::shown(Some(image.await?))
}
