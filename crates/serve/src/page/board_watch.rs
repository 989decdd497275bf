//! The board as it changes: one look at the log after commits for all who watch, whichever process runs the sessions.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{extract::State, http::HeaderMap, response::Response};
use bytes::Bytes;
use futures_util::stream as streams;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use switchboard_event::Id;
use switchboard_store::{SessionFilter, SessionLog, SessionPhase as ActivityTracker, SessionRecord, StoreError};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::stream::{QUIET, events};
use crate::{Drain, Problem, Service, input::Query};

/// The minimum time between two looks at the log.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

/// How long the log is not looked at if nobody tells of a commit: a process of an older version does not.
const MAX_INTERVAL: Duration = Duration::from_secs(5);

/// How long commits are watched after the last reader has gone.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// So many sessions are watched, the newest, beside those that are open.
const WATCHED: usize = 200;

/// So many cards are remembered, whether or not they are watched.
const MOST_CARDS: usize = 1_000;

/// So many sessions that are gone are remembered for those who were away.
const GONE: usize = 1_000;

/// So many events are read in one look for what is not known yet: then others are told first.
const MOST_READ: u64 = 50_000;

/// The board as it changes.
pub struct BoardWatch {
    /// Tells this server from the one before it: their places mean nothing to each other.
    name: String,
    seen: Mutex<Seen>,
    version: watch::Sender<u64>,
}

#[derive(Default)]
struct Seen {
    cards: HashMap<Id, Shown>,
    gone: VecDeque<(u64, Id)>,
    version: u64,
    /// Somebody looks.
    looks: bool,
    asked: Option<Instant>,
}

struct Shown {
    mark: Mark,
    card: Arc<str>,
    version: u64,
    open: bool,
}

/// What tells whether a session has changed.
#[derive(Clone, PartialEq, Eq)]
struct Mark {
    head: u64,
    state: ActivityTracker,
    archived: bool,
    title: Option<String>,
    /// All its events are counted.
    whole: bool,
}

impl BoardWatch {
    /// Nobody watches yet.
    pub fn new(name: String) -> Self {
        Self { name, seen: Mutex::default(), version: watch::Sender::new(0) }
    }

    /// The place of somebody who has seen the board as it is now.
    pub fn now(&self) -> String {
        self.place(self.seen.lock().version)
    }

    fn place(&self, version: u64) -> String {
        format!("{}-{version}", self.name)
    }

    /// What somebody has seen who says this.
    fn version(&self, place: &str) -> Option<u64> {
        place.strip_prefix(&self.name)?.strip_prefix('-')?.parse().ok()
    }

    /// Sees to it that somebody looks.
    pub fn begin(&self, service: &Service) {
        let mut seen = self.seen.lock();
        seen.asked = Some(Instant::now());
        if !std::mem::replace(&mut seen.looks, true) {
            tokio::spawn(look_on(service.clone()));
        }
    }

    /// What changed behind a place: messages, and the new place.
    fn changes(&self, after: Option<u64>) -> (Vec<String>, u64) {
        let seen = self.seen.lock();
        let is_news = |version: u64, open: bool| after.map_or(open, |after| version > after);
        let cards = seen.cards.values().filter(|shown| is_news(shown.version, shown.open));
        let mut messages: Vec<_> =
            cards.map(|shown| (shown.version, format!(r#"{{"op":"card","card":{}}}"#, shown.card))).collect();
        let gone = seen.gone.iter().filter(|(version, _)| is_news(*version, false));
        messages.extend(gone.map(|(version, id)| (*version, json!({ "op": "gone", "id": id }).to_string())));
        messages.sort_by_key(|(version, _)| *version);
        (messages.into_iter().map(|(_, message)| message).collect(), seen.version)
    }

    /// A card was given to somebody: it is no news to who saw that.
    pub fn given(&self, stored: &SessionRecord, whole: bool, card: &serde_json::Value) {
        let mut seen = self.seen.lock();
        let (mark, open, version) = (Mark::new(stored, whole), !stored.state.is_final(), seen.version);
        if seen.cards.len() < MOST_CARDS {
            let shown = || Shown { mark, card: card.to_string().into(), version, open };
            seen.cards.entry(stored.id.clone()).or_insert_with(shown);
        }
    }
}

/// Looks at the log after commits while somebody watches.
async fn look_on(service: Service) {
    let mut commits = service.engine().watch_commits();
    loop {
        commits.mark_unchanged();
        let looker = service.clone();
        // What cannot be read now may be read the next time.
        let is_complete = service.ask(move |log| look(&looker, log)).await.unwrap_or(false);
        sleep(MIN_INTERVAL).await;
        let interval = if is_complete { MAX_INTERVAL } else { Duration::ZERO };
        tokio::select! {
            _ = timeout(interval, commits.changed()) => {}
            () = service.drain().begun() => {}
        }
        let watch = service.board_watch();
        let mut seen = watch.seen.lock();
        let idle = seen.asked.is_none_or(|asked| asked.elapsed() > IDLE_TIMEOUT);
        if (watch.version.receiver_count() == 0 && idle) || service.drain().is_begun() {
            seen.looks = false;
            return;
        }
    }
}

/// Looks at all sessions once. Returns whether all that has happened in them is known now.
fn look(service: &Service, log: &dyn SessionLog) -> Result<bool, StoreError> {
    let newest = log.list_sessions(&SessionFilter { limit: Some(WATCHED), ..SessionFilter::default() })?;
    let open = log.list_sessions(&SessionFilter {
        states: ActivityTracker::OPEN.to_vec(),
        limit: Some(WATCHED),
        ..SessionFilter::default()
    })?;
    let (mut there, mut room) = (HashSet::new(), MOST_READ);
    for stored in newest.into_iter().chain(open) {
        if there.insert(stored.id.clone()) {
            update(service, stored, &mut room)?;
        }
    }
    let watch = service.board_watch();
    let missing: Vec<Id> = watch.seen.lock().cards.keys().filter(|id| !there.contains(*id)).cloned().collect();
    for id in missing {
        // What is only too old to be watched stays.
        if log.get_session(&id)?.is_none() {
            let mut seen = watch.seen.lock();
            seen.version += 1;
            let version = seen.version;
            seen.cards.remove(&id);
            seen.gone.push_back((version, id.clone()));
            if seen.gone.len() > GONE {
                seen.gone.pop_front();
            }
            service.timelines().remove(&id);
        }
    }
    let version = {
        let mut seen = watch.seen.lock();
        if seen.cards.len() > MOST_CARDS {
            seen.cards.retain(|id, _| there.contains(id));
        }
        seen.version
    };
    watch.version.send_if_modified(|told| std::mem::replace(told, version) != version);
    Ok(room > 0)
}

impl Mark {
    fn new(stored: &SessionRecord, whole: bool) -> Self {
        let SessionRecord { head, state, archived, .. } = *stored;
        Self { head, state, archived, title: stored.title.clone(), whole }
    }
}

fn update(service: &Service, stored: SessionRecord, room: &mut u64) -> Result<(), StoreError> {
    let watch = service.board_watch();
    let is_known = Mark::new(&stored, true);
    if watch.seen.lock().cards.get(&stored.id).is_some_and(|shown| shown.mark == is_known) {
        return Ok(());
    }
    let behind = service.summaries().behind(&stored)?;
    let whole = behind <= *room;
    let mark = Mark::new(&stored, whole);
    let summary = if whole {
        *room -= behind;
        service.summaries().update(&stored)?
    } else {
        *room = 0;
        service.summaries().latest(&stored)?
    };
    let (id, open) = (stored.id.clone(), !stored.state.is_final());
    let card: Arc<str> = service.card(stored, Some(&*summary).filter(|_| whole)).to_string().into();
    let mut seen = watch.seen.lock();
    let is_same = seen.cards.get(&id).is_some_and(|shown| shown.card == card);
    if !is_same {
        seen.version += 1;
    }
    let version = seen.version;
    seen.cards.insert(id, Shown { mark, card, version, open });
    Ok(())
}

/// From where on.
#[derive(Debug, Default, Deserialize)]
pub struct StreamQuery {
    /// What `at` was in the answer of the board.
    after: Option<String>,
}

/// The board as it changes.
pub async fn stream(
    State(service): State<Service>,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let said = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned).or(query.after);
    let after = said.and_then(|said| service.board_watch().version(&said));
    service.board_watch().begin(&service);
    let hears = service.board_watch().version.subscribe();
    let open = service.metrics().stream("sse", "board page");
    let teller = Teller { service, hears, after, begun: false, over: false, _open: open };
    Ok(events(streams::unfold(teller, |mut teller| async move {
        let bytes = teller.next().await?;
        Some((Ok::<_, Infallible>(bytes), teller))
    })))
}

/// Tells one reader what changes.
struct Teller {
    service: Service,
    hears: watch::Receiver<u64>,
    after: Option<u64>,
    begun: bool,
    over: bool,
    _open: crate::metrics::OpenStream,
}

impl Teller {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        let drain = self.service.drain().clone();
        if std::mem::replace(&mut self.begun, true) {
            let heard = tokio::select! {
                heard = timeout(QUIET, self.hears.changed()) => heard,
                () = drain.begun() => {
                    self.over = true;
                    let reason = json!({ "reason": Drain::REASON });
                    return Some(Bytes::from(format!("event: closed\ndata: {reason}\n\n")));
                }
            };
            match heard {
                Err(_) => return Some(Bytes::from_static(b": still here\n\n")),
                Ok(Err(_)) => return None,
                Ok(Ok(())) => {}
            }
        }
        self.hears.mark_unchanged();
        let (messages, version) = self.service.board_watch().changes(self.after);
        self.after = Some(version);
        Some(self.write(&messages))
    }

    fn write(&self, messages: &[String]) -> Bytes {
        // The first answer has something in it, so that the reader knows that it is heard.
        let mut out = if messages.is_empty() { ": nothing new\n\n".to_owned() } else { String::new() };
        let last = messages.len().saturating_sub(1);
        for (at, message) in messages.iter().enumerate() {
            if at == last {
                out.push_str(&format!("id: {}\n", self.service.board_watch().place(self.after.unwrap_or_default())));
            }
            out.push_str(&format!("data: {message}\n\n"));
        }
        out.into()
    }
}
