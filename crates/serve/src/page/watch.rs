//! The board as it changes: one look at the log in a while for all who watch, whoever runs the sessions.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{extract::State, http::HeaderMap, response::Response};
use bytes::Bytes;
use futures_util::stream as streams;
use serde::Deserialize;
use serde_json::json;
use switchboard_event::Id;
use switchboard_store::{Filter, Log, Session as Stored, State as Doing, StoreError};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::stream::{QUIET, events};
use crate::{Drain, Problem, Service, input::Query};

/// How often the log is looked at while somebody watches, and how long after the last one.
const BETWEEN: Duration = Duration::from_millis(400);
const IDLE: Duration = Duration::from_secs(30);

/// So many sessions are watched, the newest, beside those that are open.
const WATCHED: usize = 500;

/// So many sessions that are gone are remembered for those who were away.
const GONE: usize = 1_000;

/// So many events are read in one look for what is not known yet: then others are told first.
const MOST_READ: u64 = 50_000;

/// The board as it changes.
pub struct Watch {
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
    state: Doing,
    archived: bool,
    title: Option<String>,
    /// All its events are counted.
    whole: bool,
}

impl Watch {
    /// Nobody watches yet.
    pub fn new(name: String) -> Self {
        Self { name, seen: Mutex::default(), version: watch::Sender::new(0) }
    }

    /// The place of somebody who has seen the board as it is now.
    pub fn now(&self) -> String {
        self.place(self.seen().version)
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
        let mut seen = self.seen();
        seen.asked = Some(Instant::now());
        if !std::mem::replace(&mut seen.looks, true) {
            tokio::spawn(look_on(service.clone()));
        }
    }

    /// What changed behind a place: messages, and the new place.
    fn changes(&self, after: Option<u64>) -> (Vec<String>, u64) {
        let seen = self.seen();
        let is_news = |version: u64, open: bool| after.map_or(open, |after| version > after);
        let cards = seen.cards.values().filter(|shown| is_news(shown.version, shown.open));
        let mut messages: Vec<_> =
            cards.map(|shown| (shown.version, format!(r#"{{"op":"card","card":{}}}"#, shown.card))).collect();
        let gone = seen.gone.iter().filter(|(version, _)| is_news(*version, false));
        messages.extend(gone.map(|(version, id)| (*version, json!({ "op": "gone", "id": id }).to_string())));
        messages.sort_by_key(|(version, _)| *version);
        (messages.into_iter().map(|(_, message)| message).collect(), seen.version)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at the log while somebody watches.
async fn look_on(service: Service) {
    loop {
        let looker = service.clone();
        // What cannot be read now may be read the next time.
        drop(service.ask(move |log| look(&looker, log)).await);
        sleep(BETWEEN).await;
        let watch = service.watch();
        let mut seen = watch.seen();
        let idle = seen.asked.is_none_or(|asked| asked.elapsed() > IDLE);
        if (watch.version.receiver_count() == 0 && idle) || service.drain().is_begun() {
            seen.looks = false;
            return;
        }
    }
}

/// One look at all sessions.
fn look(service: &Service, log: &dyn Log) -> Result<(), StoreError> {
    let newest = log.sessions(&Filter { limit: Some(WATCHED), ..Filter::default() })?;
    let open = log.sessions(&Filter { states: Doing::OPEN.to_vec(), limit: Some(WATCHED), ..Filter::default() })?;
    let (mut there, mut room) = (HashSet::new(), MOST_READ);
    for stored in newest.into_iter().chain(open) {
        if there.insert(stored.id.clone()) {
            update(service, log, stored, &mut room)?;
        }
    }
    let watch = service.watch();
    let missing: Vec<Id> = watch.seen().cards.keys().filter(|id| !there.contains(*id)).cloned().collect();
    for id in missing {
        // What is only too old to be watched stays.
        if log.session(&id)?.is_none() {
            let mut seen = watch.seen();
            seen.version += 1;
            let version = seen.version;
            seen.cards.remove(&id);
            seen.gone.push_back((version, id.clone()));
            if seen.gone.len() > GONE {
                seen.gone.pop_front();
            }
            service.desks().forget(&id);
        }
    }
    let version = watch.seen().version;
    watch.version.send_if_modified(|told| std::mem::replace(told, version) != version);
    Ok(())
}

fn update(service: &Service, log: &dyn Log, stored: Stored, room: &mut u64) -> Result<(), StoreError> {
    let watch = service.watch();
    let mark = |whole: bool| Mark {
        head: stored.head,
        state: stored.state,
        archived: stored.archived,
        title: stored.title.clone(),
        whole,
    };
    if watch.seen().cards.get(&stored.id).is_some_and(|shown| shown.mark == mark(true)) {
        return Ok(());
    }
    let behind = service.ledger().behind(log, &stored)?;
    let whole = behind <= *room;
    let mark = mark(whole);
    let facts = if whole {
        *room -= behind;
        service.ledger().facts(log, &stored)?
    } else {
        *room = 0;
        service.ledger().begin(log, &stored)?
    };
    let (id, open) = (stored.id.clone(), !stored.state.is_final());
    let card: Arc<str> = service.card(stored, Some(&*facts).filter(|_| whole)).to_string().into();
    let mut seen = watch.seen();
    let is_first = seen.cards.is_empty() || seen.version == 0;
    let is_same = seen.cards.get(&id).is_some_and(|shown| shown.card == card);
    if !is_same {
        seen.version += 1;
    }
    let _ = is_first;
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
    let after = said.and_then(|said| service.watch().version(&said));
    service.watch().begin(&service);
    let hears = service.watch().version.subscribe();
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
        let (messages, version) = self.service.watch().changes(self.after);
        self.after = Some(version);
        Some(self.write(&messages))
    }

    fn write(&self, messages: &[String]) -> Bytes {
        // The first answer has something in it, so that the reader knows that it is heard.
        let mut out = if messages.is_empty() { ": nothing new\n\n".to_owned() } else { String::new() };
        let last = messages.len().saturating_sub(1);
        for (at, message) in messages.iter().enumerate() {
            if at == last {
                out.push_str(&format!("id: {}\n", self.service.watch().place(self.after.unwrap_or_default())));
            }
            out.push_str(&format!("data: {message}\n\n"));
        }
        out.into()
    }
}
