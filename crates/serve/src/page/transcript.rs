//! Session logs as entries, like sessions but without a stream. Translated logs are cached.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use serde_json::Value;
use switchboard_engine::{EventSource, Follower};
use switchboard_event::{Event, Kind, Timestamp};
use switchboard_logs::{LogLibrary, LogSession, SessionView, Transcript, export};
use switchboard_page::timeline::SessionSummary;
use switchboard_store::{EventRow, PageQuery, StoreError};

use super::{
    board::add_usage,
    entry_parts::{self, RawEventsParams, download_response, entry_not_found},
    session::{OutlineResponse, WindowParams, WindowResponse},
    session_timeline::{LruCache, SessionTimeline, TimelineEvents},
};
use crate::{
    Problem, Service,
    api::json_response,
    extract::{PathParams, QueryParams},
};

/// The maximum size of all cached transcripts; the last one is kept however large it is.
const MAX_TRANSCRIPTS_BYTES: usize = 128 << 20;

struct PackedEvents {
    json: Vec<u8>,
    index: Vec<PackedEvent>,
}

#[derive(Clone, Copy)]
struct PackedEvent {
    seq: u64,
    kind: Kind,
    end: usize,
}

impl PackedEvents {
    fn new(events: Vec<Event>) -> Self {
        let mut packed = Self { json: Vec::new(), index: Vec::with_capacity(events.len()) };
        for event in events {
            let start = packed.json.len();
            match event.write_json(&mut packed.json) {
                Ok(()) => {
                    let (seq, kind, end) = (event.seq, event.body.kind(), packed.json.len());
                    packed.index.push(PackedEvent { seq, kind, end });
                }
                Err(_) => packed.json.truncate(start),
            }
        }
        packed.json.shrink_to_fit();
        packed
    }

    fn last(&self) -> u64 {
        self.index.last().map_or(0, |event| event.seq)
    }

    fn row(&self, at: usize) -> Option<EventRow> {
        let start = at.checked_sub(1).and_then(|before| self.index.get(before)).map_or(0, |event| event.end);
        let PackedEvent { seq, end, .. } = *self.index.get(at)?;
        let json = std::str::from_utf8(self.json.get(start..end)?).ok()?.to_owned();
        Some(EventRow { seq, json })
    }
}

impl EventSource for PackedEvents {
    fn read_rows(&self, page: PageQuery) -> Result<Vec<EventRow>, StoreError> {
        let first = self.index.partition_point(|event| event.seq <= page.after);
        let is_wanted = |event: &PackedEvent| page.kinds.is_empty() || page.kinds.contains(&event.kind);
        let wanted = (first..self.index.len()).filter(|at| self.index.get(*at).is_some_and(is_wanted));
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

struct TranscriptEvents {
    follower: Follower,
    media: String,
}

impl TimelineEvents for TranscriptEvents {
    fn follow(&self, after: u64) -> Result<Follower, StoreError> {
        Ok(self.follower.at(after))
    }

    fn media(&self) -> &str {
        &self.media
    }
}

/// The recently viewed transcripts, with their sizes.
pub type TranscriptCache = LruCache<TranscriptKey, (usize, Arc<SessionTimeline>)>;

/// The agent, the session, and what identifies its version.
type TranscriptKey = (String, String, Option<Timestamp>, Option<u64>);

impl Service {
    /// Runs a query on the timeline of a session log.
    async fn with_transcript<T: Send + 'static>(
        &self,
        id: String,
        ask: impl FnOnce(&SessionTimeline, &LogSession) -> Result<Option<T>, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let service = self.clone();
        self.logs()
            .query(move |library| {
                let session = library.find_session(&id)?;
                let timeline = service.transcript(library, &session)?;
                ask(&timeline, &session)?.ok_or_else(entry_not_found)
            })
            .await
    }

    fn transcript(&self, library: &LogLibrary, session: &LogSession) -> Result<Arc<SessionTimeline>, Problem> {
        let key = (session.agent.clone(), session.id.clone(), session.facts.updated, session.bytes);
        if let Some((_, timeline)) = self.transcripts().get(&key) {
            return Ok(timeline);
        }
        let events = match library.read_transcript(session)? {
            Transcript::Events(events) => events,
            Transcript::Kept(kept) => export::rebuild::rebuild_events(session, &kept),
        };
        let packed = PackedEvents::new(events);
        let (bytes, last) = (packed.json.len() + packed.index.len() * 64, packed.last());
        let follower = Follower::of_complete_session(Arc::new(packed), session.id.as_str().into(), last);
        let events = TranscriptEvents { follower, media: format!("/api/page/logs/{}/media", session.id) };
        let timeline = Arc::new(SessionTimeline::new(Box::new(events), self.summaries().prices.clone()));
        self.transcripts().remove(|known| known.0 == key.0 && known.1 == key.1);
        self.transcripts().insert(key, (bytes, timeline.clone()));
        self.transcripts().shrink(MAX_TRANSCRIPTS_BYTES, |(bytes, _)| *bytes);
        Ok(timeline)
    }
}

fn transcript_card(session: &LogSession, summary: &SessionSummary) -> Value {
    let mut card = serde_json::to_value(SessionView::from(session)).unwrap_or_default();
    if let Some(card) = card.as_object_mut() {
        card.insert("column".to_owned(), "done".into());
        add_usage(card, &summary.usage());
    }
    card
}

pub async fn transcript_window(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<WindowParams>,
) -> Result<Response, Problem> {
    let (from, count) = query.range()?;
    let json = service.with_transcript(id, move |timeline, session| {
        let window = timeline.window(from, count)?;
        let card = transcript_card(session, &window.summary);
        Ok(Some(WindowResponse::new(window, card).json()))
    });
    Ok(json_response(json.await?))
}

pub async fn transcript_outline(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
) -> Result<Response, Problem> {
    let json = service.with_transcript(id, |timeline, _| Ok(Some(OutlineResponse::json(timeline.sizes()?))));
    Ok(json_response(json.await?))
}

pub async fn transcript_raw_events(
    State(service): State<Service>,
    PathParams((id, n)): PathParams<(String, u32)>,
    QueryParams(query): QueryParams<RawEventsParams>,
) -> Result<Response, Problem> {
    let raw = service.with_transcript(id, move |timeline, _| entry_parts::read_raw_events(timeline, n, query.after));
    Ok(json_response(raw.await?.json()))
}

pub async fn transcript_entry_text(
    State(service): State<Service>,
    PathParams((id, n)): PathParams<(String, u32)>,
) -> Result<Response, Problem> {
    let text = service.with_transcript(id, move |timeline, _| entry_parts::read_full_text(timeline, n));
    Ok(download_response(text.await?, &format!("entry-{n}.txt"), "text/plain; charset=utf-8"))
}

pub async fn transcript_image(
    State(service): State<Service>,
    PathParams((id, seq, k)): PathParams<(String, u64, usize)>,
) -> Result<Response, Problem> {
    let image = service.with_transcript(id, move |timeline, _| entry_parts::read_image(timeline, seq, k));
    entry_parts::image_response(Some(image.await?))
}
