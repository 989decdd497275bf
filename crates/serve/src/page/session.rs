//! One session: a window of its entries, their sizes, and the stream of their changes. The first change is sent at
//! once, those of the next moment together; a reader that cannot keep up gets fewer updates and delays no other.

use std::time::Duration;

use axum::{extract::State, http::HeaderMap, response::Response};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_engine::Follower;
use switchboard_event::Id;
use switchboard_page::timeline::{TimelineCursor, TimelineOp};
use switchboard_store::{SessionRecord, StoreError};
use tokio::time::{Instant, sleep_until};

use super::{
    board::session_choices,
    session_timeline::{EntryWindow, RenderedEntry, TimelineChanges},
};
use crate::{
    Problem, Service,
    api::{json_response, last_event_id},
    extract::{PathParams, QueryParams},
    metrics::OpenStream,
    sse::{self, SseChunk, SseSource},
};

const DEFAULT_ENTRIES: u32 = 60;

const MAX_ENTRIES: u32 = 300;

/// The minimum time between two messages to a reader.
const MIN_INTERVAL: Duration = Duration::from_millis(16);

/// How often figures that change with every event are sent.
const FIGURES_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Default, Deserialize)]
pub struct WindowParams {
    /// The first entry, counted from 0; by default the last ones are returned.
    from: Option<u32>,
    /// The number of entries.
    count: Option<u32>,
}

impl WindowParams {
    pub fn range(&self) -> Result<(Option<u32>, u32), Problem> {
        let count = self.count.unwrap_or(DEFAULT_ENTRIES);
        if !(1..=MAX_ENTRIES).contains(&count) {
            return Err(Problem::bad_field("count", &format!("must be a number from 1 to {MAX_ENTRIES}")));
        }
        Ok((self.from, count))
    }
}

#[derive(Serialize)]
pub struct WindowResponse {
    pub session: Value,
    pub total: u32,
    pub seq: u64,
    pub from: u32,
    pub entries: Vec<RenderedEntry>,
    pub choices: Value,
}

impl WindowResponse {
    pub fn new(window: EntryWindow, session: Value) -> Self {
        let EntryWindow { entries, from, total, seq, summary } = window;
        Self { session, total, seq, from, entries, choices: session_choices(&summary) }
    }

    pub fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[derive(Serialize)]
pub struct OutlineResponse {
    total: usize,
    sizes: Vec<u32>,
}

impl OutlineResponse {
    pub fn json(sizes: Vec<u32>) -> Vec<u8> {
        serde_json::to_vec(&Self { total: sizes.len(), sizes }).unwrap_or_default()
    }
}

pub async fn session_window(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<WindowParams>,
) -> Result<Response, Problem> {
    let (from, count) = query.range()?;
    let stored = service.session_record(&id).await?;
    let renderer = service.clone();
    let json = service.with_timeline(&id, move |timeline| {
        let window = timeline.window(from, count)?;
        let card = renderer.card(stored, Some(&window.summary));
        Ok(WindowResponse::new(window, card).json())
    });
    Ok(json_response(json.await?))
}

pub async fn session_outline(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
) -> Result<Response, Problem> {
    Ok(json_response(service.with_timeline(&id, |timeline| timeline.sizes().map(OutlineResponse::json)).await?))
}

#[derive(Debug, Default, Deserialize)]
pub struct SessionStreamParams {
    /// The last event that the client has seen.
    after: Option<u64>,
}

/// Streams the changes of a session.
pub async fn stream_session(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<SessionStreamParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stored = service.session_record(&id).await?;
    let after = last_event_id(&headers)?.or(query.after);
    let cursor = service.with_timeline(&id, move |timeline| timeline.cursor(after)).await?;
    let open = service.metrics().count_stream("sse", "page");
    Ok(sse::respond(SessionStream {
        session: stored.id,
        cursor,
        follower: None,
        last_sent: String::new(),
        sent_at: Instant::now(),
        changed: None,
        next_figures: Instant::now(),
        service,
        _open: open,
    }))
}

/// The stream of one reader.
struct SessionStream {
    service: Service,
    session: Id,
    cursor: TimelineCursor,
    follower: Option<Follower>,
    /// The session as it was last sent, without what changes with every event.
    last_sent: String,
    /// The time of the last message.
    sent_at: Instant,
    /// The event that last changed the session as a whole.
    changed: Option<u64>,
    /// When figures may be sent next.
    next_figures: Instant,
    _open: OpenStream,
}

impl SseSource for SessionStream {
    async fn next_chunk(&mut self) -> Option<SseChunk> {
        let drain = self.service.drain().clone();
        while !self.last_sent.is_empty() {
            match sse::wait_for(&drain, self.wait_for_change()).await {
                Err(chunk) => return Some(chunk),
                Ok(Err(problem)) => return Some(SseChunk::Closed(problem.detail.into())),
                Ok(Ok(())) => {}
            }
            match self.read_changes().await {
                SseChunk::Events(events) if events.is_empty() => {}
                chunk => return Some(chunk),
            }
        }
        Some(self.read_changes().await)
    }
}

impl SessionStream {
    /// Waits until something has changed, and the reader may be sent the next message. May be dropped while it waits.
    async fn wait_for_change(&mut self) -> Result<(), Problem> {
        let (service, seen) = (self.service.clone(), self.cursor.seq);
        let follower = match self.follower.take() {
            Some(follower) => follower,
            None => {
                let (engine, session) = (service.engine().clone(), self.session.clone());
                service.query_log(move |_| engine.follow(&session, seen)).await?
            }
        };
        let follower = self.follower.insert(follower);
        if follower.last_seq() <= seen && !follower.is_ended() {
            follower.wait_for_events_after(seen).await;
        } else if follower.last_seq() <= seen {
            // The session has ended; its next run has another tail.
            service.engine().wait_for_next_run(&self.session, seen).await?;
            self.follower = None;
        }
        sleep_until(self.sent_at + MIN_INTERVAL).await;
        Ok(())
    }

    /// Sends what has changed.
    async fn read_changes(&mut self) -> SseChunk {
        let (id, mut cursor) = (self.session.clone(), std::mem::take(&mut self.cursor));
        let service = self.service.clone();
        let since = self.changed.filter(|_| Instant::now() < self.next_figures);
        let asked = self.service.query_log(move |log| {
            let mut changes = service.timeline(&id).changes(&mut cursor, since)?;
            service.shrink_timelines();
            // Added text of an item does not need the session record.
            let stored = match changes.summary {
                Some(_) => Some(log.get_session(&id)?.ok_or_else(|| StoreError::NoSession(id.to_string()))?),
                None => None,
            };
            if stored.as_ref().is_some_and(|stored| stored.state.is_final() && stored.head > cursor.seq) {
                // The end is committed and about to be visible: it is sent with the last entries.
                changes.summary = None;
            }
            Ok((cursor, changes, stored))
        });
        match asked.await {
            Ok((cursor, changes, stored)) => {
                (self.cursor, self.sent_at) = (cursor, Instant::now());
                SseChunk::Events(self.write(changes, stored))
            }
            Err(problem) => SseChunk::Closed(problem.detail.into()),
        }
    }

    fn write(&mut self, changes: TimelineChanges, stored: Option<SessionRecord>) -> Bytes {
        let mut messages: Vec<String> = changes.ops.iter().filter_map(|op| serde_json::to_string(op).ok()).collect();
        messages.extend(stored.and_then(|stored| self.write_session(changes, stored)));
        sse::write_events(&messages, self.cursor.seq)
    }

    /// Returns the session, if it has changed.
    fn write_session(&mut self, changes: TimelineChanges, stored: SessionRecord) -> Option<String> {
        let summary = changes.summary?;
        self.changed = Some(summary.state.changed);
        // The same without what changes with every event.
        let stable = SessionRecord { head: 0, updated: stored.created, ..stored.clone() };
        let stable = self.service.card(stable, Some(&summary));
        let card = self.service.card(stored, Some(&summary));
        let (choices, total) = (session_choices(&summary), changes.total);
        let key = format!("{stable}{choices}{total}");
        let now = Instant::now();
        let is_reset = changes.ops.iter().any(|op| matches!(op, TimelineOp::Reset));
        if key == self.last_sent && now < self.next_figures && !is_reset {
            return None;
        }
        (self.last_sent, self.next_figures) = (key, now + FIGURES_INTERVAL);
        Some(json!({ "op": "session", "session": card, "total": total, "choices": choices }).to_string())
    }
}
