//! Changes of the board: one task reads the log after commits for all readers, whichever process runs the sessions.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{extract::State, http::HeaderMap, response::Response};
use bytes::Bytes;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use switchboard_event::Id;
use switchboard_store::{SessionFilter, SessionLog, SessionPhase, SessionRecord, StoreError};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use crate::{
    Problem, Service,
    extract::QueryParams,
    metrics::OpenStream,
    sse::{self, SseChunk, SseSource},
};

/// The minimum time between two checks of the log.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

/// The maximum time between two checks of the log: processes of older versions do not report commits.
const MAX_INTERVAL: Duration = Duration::from_secs(5);

/// How long the log is checked after the last reader has gone.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How many of the newest sessions are watched, besides open ones.
const MAX_WATCHED_SESSIONS: usize = 200;

const MAX_CARDS: usize = 1_000;

/// How many deleted sessions are remembered for readers that reconnect.
const MAX_DELETED_SESSIONS: usize = 1_000;

/// The maximum number of events read in one check; the rest is read in the next one.
const MAX_EVENTS_READ: u64 = 50_000;

/// The changes of the board.
pub struct BoardUpdates {
    /// The name of this process: cursors of an earlier one are invalid.
    name: String,
    known: Mutex<KnownBoard>,
    version: watch::Sender<u64>,
}

#[derive(Default)]
struct KnownBoard {
    cards: HashMap<Id, KnownCard>,
    deleted: VecDeque<(u64, Id)>,
    version: u64,
    /// Whether the task that checks the log is running.
    is_checking: bool,
    last_request: Option<Instant>,
}

struct KnownCard {
    content: CardVersion,
    card: Arc<str>,
    version: u64,
    is_open: bool,
}

/// What changes when a session changes.
#[derive(Clone, PartialEq, Eq)]
struct CardVersion {
    head: u64,
    state: SessionPhase,
    archived: bool,
    title: Option<String>,
    /// Whether all its events were read.
    is_complete: bool,
}

impl BoardUpdates {
    pub fn new(name: String) -> Self {
        Self { name, known: Mutex::default(), version: watch::Sender::new(0) }
    }

    /// Returns the cursor of the current board.
    pub fn current_cursor(&self) -> String {
        self.cursor(self.known.lock().version)
    }

    fn cursor(&self, version: u64) -> String {
        format!("{}-{version}", self.name)
    }

    fn parse_cursor(&self, cursor: &str) -> Option<u64> {
        cursor.strip_prefix(&self.name)?.strip_prefix('-')?.parse().ok()
    }

    /// Starts to check the log unless that is running.
    pub fn start_checking(&self, service: &Service) {
        let mut known = self.known.lock();
        known.last_request = Some(Instant::now());
        if !std::mem::replace(&mut known.is_checking, true) {
            tokio::spawn(watch_log(service.clone()));
        }
    }

    /// Returns the messages after a version, and the new version.
    fn changes(&self, after: Option<u64>) -> (Vec<String>, u64) {
        let known = self.known.lock();
        let is_new = |version: u64, is_open: bool| after.map_or(is_open, |after| version > after);
        let cards = known.cards.values().filter(|shown| is_new(shown.version, shown.is_open));
        let mut messages: Vec<_> =
            cards.map(|shown| (shown.version, format!(r#"{{"op":"card","card":{}}}"#, shown.card))).collect();
        let deleted = known.deleted.iter().filter(|(version, _)| is_new(*version, false));
        messages.extend(deleted.map(|(version, id)| (*version, json!({ "op": "gone", "id": id }).to_string())));
        messages.sort_by_key(|(version, _)| *version);
        (messages.into_iter().map(|(_, message)| message).collect(), known.version)
    }

    /// Adds a card that a client already has.
    pub fn add_card(&self, stored: &SessionRecord, is_complete: bool, card: &serde_json::Value) {
        let mut known = self.known.lock();
        let (content, is_open, version) =
            (CardVersion::new(stored, is_complete), !stored.state.is_final(), known.version);
        if known.cards.len() < MAX_CARDS {
            let shown = || KnownCard { content, card: card.to_string().into(), version, is_open };
            known.cards.entry(stored.id.clone()).or_insert_with(shown);
        }
    }
}

/// Checks the log after commits while there are readers.
async fn watch_log(service: Service) {
    let mut commits = service.engine().watch_commits();
    loop {
        commits.mark_unchanged();
        let checker = service.clone();
        // Errors may be temporary: the next check tries again.
        let is_complete = service.query_log(move |log| refresh_board(&checker, log)).await.unwrap_or(false);
        sleep(MIN_INTERVAL).await;
        let interval = if is_complete { MAX_INTERVAL } else { Duration::ZERO };
        tokio::select! {
            _ = timeout(interval, commits.changed()) => {}
            () = service.drain().wait_until_begun() => {}
        }
        let updates = service.board_updates();
        let mut known = updates.known.lock();
        let idle = known.last_request.is_none_or(|at| at.elapsed() > IDLE_TIMEOUT);
        if (updates.version.receiver_count() == 0 && idle) || service.drain().is_begun() {
            known.is_checking = false;
            return;
        }
    }
}

/// Checks all sessions once. Returns whether all their events were read.
fn refresh_board(service: &Service, log: &dyn SessionLog) -> Result<bool, StoreError> {
    let newest = log.list_sessions(&SessionFilter { limit: Some(MAX_WATCHED_SESSIONS), ..SessionFilter::default() })?;
    let open = log.list_sessions(&SessionFilter {
        states: SessionPhase::OPEN.to_vec(),
        limit: Some(MAX_WATCHED_SESSIONS),
        ..SessionFilter::default()
    })?;
    let (mut watched, mut remaining) = (HashSet::new(), MAX_EVENTS_READ);
    for stored in newest.into_iter().chain(open) {
        if watched.insert(stored.id.clone()) {
            refresh_card(service, stored, &mut remaining)?;
        }
    }
    let updates = service.board_updates();
    let missing: Vec<Id> = updates.known.lock().cards.keys().filter(|id| !watched.contains(*id)).cloned().collect();
    for id in missing {
        // A session that is only too old to be watched stays.
        if log.get_session(&id)?.is_none() {
            let mut known = updates.known.lock();
            known.version += 1;
            let version = known.version;
            known.cards.remove(&id);
            known.deleted.push_back((version, id.clone()));
            if known.deleted.len() > MAX_DELETED_SESSIONS {
                known.deleted.pop_front();
            }
            service.forget_timeline(&id);
        }
    }
    let version = {
        let mut known = updates.known.lock();
        if known.cards.len() > MAX_CARDS {
            known.cards.retain(|id, _| watched.contains(id));
        }
        known.version
    };
    updates.version.send_if_modified(|published| std::mem::replace(published, version) != version);
    Ok(remaining > 0)
}

impl CardVersion {
    fn new(stored: &SessionRecord, is_complete: bool) -> Self {
        let SessionRecord { head, state, archived, .. } = *stored;
        Self { head, state, archived, title: stored.title.clone(), is_complete }
    }
}

fn refresh_card(service: &Service, stored: SessionRecord, remaining: &mut u64) -> Result<(), StoreError> {
    let updates = service.board_updates();
    let current = CardVersion::new(&stored, true);
    if updates.known.lock().cards.get(&stored.id).is_some_and(|card| card.content == current) {
        return Ok(());
    }
    let behind = service.summaries().behind(&stored)?;
    let is_complete = behind <= *remaining;
    let content = CardVersion::new(&stored, is_complete);
    let summary = if is_complete {
        *remaining -= behind;
        service.summaries().update(&stored)?
    } else {
        *remaining = 0;
        service.summaries().latest(&stored)?
    };
    let (id, is_open) = (stored.id.clone(), !stored.state.is_final());
    let card: Arc<str> = service.card(stored, Some(&*summary).filter(|_| is_complete)).to_string().into();
    let mut known = updates.known.lock();
    let is_same = known.cards.get(&id).is_some_and(|shown| shown.card == card);
    if !is_same {
        known.version += 1;
    }
    let version = known.version;
    known.cards.insert(id, KnownCard { content, card, version, is_open });
    Ok(())
}

#[derive(Debug, Default, Deserialize)]
pub struct BoardStreamParams {
    /// The `at` of the board.
    after: Option<String>,
}

/// Streams the changes of the board.
pub async fn stream_board(
    State(service): State<Service>,
    QueryParams(query): QueryParams<BoardStreamParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let cursor = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned).or(query.after);
    let after = cursor.and_then(|cursor| service.board_updates().parse_cursor(&cursor));
    service.board_updates().start_checking(&service);
    let version = service.board_updates().version.subscribe();
    let open = service.metrics().count_stream("sse", "board page");
    Ok(sse::respond(BoardStream { service, version, after, has_started: false, _open: open }))
}

/// The stream of one reader.
struct BoardStream {
    service: Service,
    version: watch::Receiver<u64>,
    after: Option<u64>,
    has_started: bool,
    _open: OpenStream,
}

impl SseSource for BoardStream {
    async fn next_chunk(&mut self) -> Option<SseChunk> {
        let drain = self.service.drain().clone();
        if std::mem::replace(&mut self.has_started, true) {
            match sse::wait_for(&drain, self.version.changed()).await {
                Err(chunk) => return Some(chunk),
                Ok(Err(_)) => return None,
                Ok(Ok(())) => {}
            }
        }
        self.version.mark_unchanged();
        let updates = self.service.board_updates();
        let (messages, version) = updates.changes(self.after);
        self.after = Some(version);
        // The first response is not empty, so that the client knows that it is connected.
        Some(SseChunk::Events(match messages.is_empty() {
            true => Bytes::from_static(b": nothing new\n\n"),
            false => sse::write_events(&messages, updates.cursor(version)),
        }))
    }
}
