//! Sessions of the logs, as entries: the same page as for sessions that run here, without a stream. A log is translated
//! once, for as long as there is room for what came of it.

use std::{
    cmp::Ordering,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{extract::State, response::Response};
use serde_json::{Value, json};
use switchboard_event::{Event, Timestamp};
use switchboard_logs::{Library, Session, SessionView, Transcript, export};
use switchboard_page::sheet::Facts;
use switchboard_store::{Page, Row, StoreError};

use super::{
    desk::Desk,
    parts::{self, RawQuery, file, no_entry},
    session::{Outline, Shown, WindowQuery},
    source::Events,
};
use crate::{
    Problem, Service,
    api::answer,
    input::{Path, Query},
};

/// So much may transcripts take together. One that is larger is there alone.
const MOST: usize = 128 << 20;

/// The events of a transcript, as a log would have them.
struct Shelf {
    json: Vec<u8>,
    /// Where each ends, and its number.
    places: Vec<(u64, usize)>,
    media: String,
}

impl Shelf {
    fn new(events: Vec<Event>, media: String) -> Self {
        let mut shelf = Self { json: Vec::new(), places: Vec::with_capacity(events.len()), media };
        for event in events {
            let start = shelf.json.len();
            match event.write_json(&mut shelf.json) {
                Ok(()) => shelf.places.push((event.seq, shelf.json.len())),
                Err(_) => shelf.json.truncate(start),
            }
        }
        shelf.json.shrink_to_fit();
        shelf
    }

    fn row(&self, at: usize) -> Option<Row> {
        let start = at.checked_sub(1).and_then(|before| self.places.get(before)).map_or(0, |(_, end)| *end);
        let (seq, end) = *self.places.get(at)?;
        let json = std::str::from_utf8(self.json.get(start..end)?).ok()?.to_owned();
        Some(Row { seq, json })
    }
}

impl Events for Shelf {
    fn rows(&self, page: Page) -> Result<Vec<Row>, StoreError> {
        let first = self.places.partition_point(|(seq, _)| *seq <= page.after);
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for row in (first..).map_while(|at| self.row(at)).take(page.limit) {
            bytes += row.json.len();
            if bytes > page.max_bytes && !rows.is_empty() {
                break;
            }
            rows.push(row);
        }
        Ok(rows)
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
    desk: Arc<Desk>,
}

/// The agent, the session, and what tells its versions apart.
type Key = (String, String, Option<Timestamp>, Option<u64>);

impl Transcripts {
    fn find(&self, key: &Key) -> Option<Arc<Desk>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|kept| kept.key == *key)?;
        let found = kept.remove(at);
        let desk = found.desk.clone();
        kept.push(found);
        Some(desk)
    }

    fn keep(&self, new: Kept) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        ask: impl FnOnce(&Desk, &Session) -> Result<Option<T>, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let service = self.clone();
        self.logs()
            .ask(move |library| {
                let session = library.session(&id)?;
                let desk = service.transcript(library, &session)?;
                ask(&desk, &session)?.ok_or_else(no_entry)
            })
            .await
    }

    fn transcript(&self, library: &Library, session: &Session) -> Result<Arc<Desk>, Problem> {
        let key = (session.agent.clone(), session.id.clone(), session.facts.updated, session.bytes);
        if let Some(desk) = self.transcripts().find(&key) {
            return Ok(desk);
        }
        let events = match library.transcript(session)? {
            Transcript::Events(events) => events,
            Transcript::Kept(kept) => export::kept::events(session, &kept),
        };
        let shelf = Shelf::new(events, format!("/api/page/logs/{}/media", session.id));
        let bytes = shelf.json.len() + shelf.places.len() * 64;
        let desk = Arc::new(Desk::new(Box::new(shelf), self.ledger().prices.clone()));
        self.transcripts().keep(Kept { key, bytes, desk: desk.clone() });
        Ok(desk)
    }
}

/// A session of the logs in short.
fn card(session: &Session, facts: &Facts) -> Value {
    let mut card = serde_json::to_value(SessionView::from(session)).unwrap_or_default();
    let sums = facts.sums();
    if let Some(card) = card.as_object_mut() {
        card.insert("column".to_owned(), "done".into());
        let tokens = json!({
            "input": sums.input, "output": sums.output, "cacheRead": sums.cache_read, "cacheWrite": sums.cache_write,
            "total": sums.total(),
        });
        card.insert("tokens".to_owned(), tokens);
        sums.cost.into_iter().for_each(|cost| drop(card.insert("costUsd".to_owned(), json!(cost))));
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
    let json = service.at_transcript(id, move |desk, session| {
        let window = desk.window(from, count)?;
        let card = card(session, &window.facts);
        Ok(Some(Shown::new(window, card).json()))
    });
    Ok(answer(json.await?))
}

/// How long each entry is.
pub async fn outline(State(service): State<Service>, Path(id): Path<String>) -> Result<Response, Problem> {
    let json = service.at_transcript(id, |desk, _| Ok(Some(Outline::json(desk.sizes()?))));
    Ok(answer(json.await?))
}

/// The events of an entry.
pub async fn raw(
    State(service): State<Service>,
    Path((id, n)): Path<(String, u32)>,
    Query(query): Query<RawQuery>,
) -> Result<Response, Problem> {
    let raw = service.at_transcript(id, move |desk, _| parts::raw(desk, n, query.after));
    Ok(answer(raw.await?.json()))
}

/// All the text of an entry.
pub async fn text(State(service): State<Service>, Path((id, n)): Path<(String, u32)>) -> Result<Response, Problem> {
    let text = service.at_transcript(id, move |desk, _| parts::text(desk, n));
    Ok(file(text.await?, &format!("entry-{n}.txt"), "text/plain; charset=utf-8"))
}

/// An image.
pub async fn image(
    State(service): State<Service>,
    Path((id, seq, k)): Path<(String, u64, usize)>,
) -> Result<Response, Problem> {
    let image = service.at_transcript(id, move |desk, _| parts::image(desk, seq, k));
    parts::shown(Some(image.await?))
}
