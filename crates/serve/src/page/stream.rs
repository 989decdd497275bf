//! What happens in a session, as changes of its entries. The first change is told at once, and those of the next moment
//! together; a reader that cannot keep up is told less often, and nobody waits for it.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::stream as streams;
use serde::Deserialize;
use serde_json::json;
use switchboard_engine::Follower;
use switchboard_event::Id;
use switchboard_page::sheet::{TimelineCursor, TimelineOp};
use switchboard_store::{SessionRecord, StoreError};
use tokio::time::{Instant, sleep_until, timeout};

use super::{card::choices, session_timeline::TimelineChanges};
use crate::{
    Drain, Problem, Service,
    api::last_event_id,
    input::{Path, Query},
    metrics::OpenStream,
};

/// The minimum time between two messages to a reader.
const MIN_INTERVAL: Duration = Duration::from_millis(16);

/// A comment is sent when there was nothing to say for so long.
pub const QUIET: Duration = Duration::from_secs(15);

/// Figures that change with every event are told so often.
const FIGURES: Duration = Duration::from_millis(500);

/// From where on.
#[derive(Debug, Default, Deserialize)]
pub struct StreamQuery {
    /// Behind this event.
    after: Option<u64>,
}

/// What happens in a session.
pub async fn stream(
    State(service): State<Service>,
    Path(id): Path<String>,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stored = service.stored(&id).await?;
    let after = last_event_id(&headers)?.or(query.after);
    let cursor = service.with_timeline(&id, move |timeline| timeline.cursor(after)).await?;
    let open = service.metrics().stream("sse", "page");
    let teller = Teller {
        session: stored.id,
        cursor,
        follower: None,
        told: String::new(),
        told_at: Instant::now(),
        changed: None,
        figures: Instant::now(),
        over: false,
        service,
        _open: open,
    };
    Ok(events(streams::unfold(teller, |mut teller| async move {
        let bytes = teller.next().await?;
        Some((Ok::<_, Infallible>(bytes), teller))
    })))
}

/// Server-sent events.
pub fn events(stream: impl futures_util::Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    let mut response = Body::from_stream(stream).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that would collect the stream before they pass it on.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Tells one reader what happens.
struct Teller {
    service: Service,
    session: Id,
    cursor: TimelineCursor,
    /// Hears of what happens.
    follower: Option<Follower>,
    /// The session as it was told last, without what changes with every event.
    told: String,
    /// When something was told last.
    told_at: Instant,
    /// The event that last changed the session as a whole.
    changed: Option<u64>,
    /// When figures may be told next.
    figures: Instant,
    over: bool,
    _open: OpenStream,
}

impl Teller {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        let drain = self.service.drain().clone();
        loop {
            if self.told.is_empty() {
                return self.tell().await;
            }
            let changed = tokio::select! {
                changed = timeout(QUIET, self.wait_for_change()) => changed,
                () = drain.begun() => return self.close(Drain::REASON),
            };
            match changed {
                Err(_) => return Some(Bytes::from_static(b": still here\n\n")),
                Ok(Err(problem)) => return self.close(&problem.detail),
                Ok(Ok(())) => {}
            }
            let said = self.tell().await?;
            if !said.is_empty() {
                return Some(said);
            }
        }
    }

    /// Waits until something happened, and until a reader may be told again. May be dropped while it waits.
    async fn wait_for_change(&mut self) -> Result<(), Problem> {
        let (service, seen) = (self.service.clone(), self.cursor.seq);
        let follower = match self.follower.take() {
            Some(follower) => follower,
            None => {
                let (engine, session) = (service.engine().clone(), self.session.clone());
                service.ask(move |_| engine.follow(&session, seen)).await?
            }
        };
        let follower = self.follower.insert(follower);
        if follower.last_seq() <= seen && !follower.is_ended() {
            follower.wait_for_events_after(seen).await;
        } else if follower.last_seq() <= seen {
            // It has ended. If it goes on, it does so somewhere else.
            service.engine().wait_for_next_run(&self.session, seen).await?;
            self.follower = None;
        }
        sleep_until(self.told_at + MIN_INTERVAL).await;
        Ok(())
    }

    /// Says what happened.
    async fn tell(&mut self) -> Option<Bytes> {
        let (id, mut cursor) = (self.session.clone(), std::mem::take(&mut self.cursor));
        let service = self.service.clone();
        let since = self.changed.filter(|_| Instant::now() < self.figures);
        let asked = self.service.ask(move |log| {
            let mut changes = service.timeline(&id).changes(&mut cursor, since)?;
            service.timelines().shrink();
            // Text that is added to an item does not need the session as the log has it.
            let stored = match changes.summary {
                Some(_) => Some(log.get_session(&id)?.ok_or_else(|| StoreError::NoSession(id.to_string()))?),
                None => None,
            };
            if stored.as_ref().is_some_and(|stored| stored.state.is_final() && stored.head > cursor.seq) {
                // The end is committed and about to be seen: it is told with its last entries.
                changes.summary = None;
            }
            Ok((cursor, changes, stored))
        });
        match asked.await {
            Ok((cursor, changes, stored)) => {
                (self.cursor, self.told_at) = (cursor, Instant::now());
                Some(self.write(changes, stored))
            }
            Err(problem) => self.close(&problem.detail),
        }
    }

    fn write(&mut self, changes: TimelineChanges, stored: Option<SessionRecord>) -> Bytes {
        let mut messages: Vec<String> = changes.ops.iter().filter_map(|op| serde_json::to_string(op).ok()).collect();
        messages.extend(stored.and_then(|stored| self.write_session(changes, stored)));
        let (mut out, last) = (String::new(), messages.len().saturating_sub(1));
        for (at, message) in messages.iter().enumerate() {
            if at == last {
                // Who has this one has all before it.
                out.push_str(&format!("id: {}\n", self.cursor.seq));
            }
            out.push_str("data: ");
            out.push_str(message);
            out.push_str("\n\n");
        }
        out.into()
    }

    /// The session, if it changed.
    fn write_session(&mut self, changes: TimelineChanges, stored: SessionRecord) -> Option<String> {
        let summary = changes.summary?;
        self.changed = Some(summary.state.changed);
        // The same without what changes with every event.
        let still = SessionRecord { head: 0, updated: stored.created, ..stored.clone() };
        let still = self.service.card(still, Some(&summary));
        let card = self.service.card(stored, Some(&summary));
        let (choices, total) = (choices(&summary), changes.total);
        let key = format!("{still}{choices}{total}");
        let now = Instant::now();
        let is_reset = changes.ops.iter().any(|op| matches!(op, TimelineOp::Reset));
        if key == self.told && now < self.figures && !is_reset {
            return None;
        }
        (self.told, self.figures) = (key, now + FIGURES);
        Some(json!({ "op": "session", "session": card, "total": total, "choices": choices }).to_string())
    }

    /// Says why the stream ends although the session may go on.
    fn close(&mut self, why: &str) -> Option<Bytes> {
        self.over = true;
        let reason = json!({ "reason": why });
        Some(Bytes::from(format!("event: closed\ndata: {reason}\n\n")))
    }
}
