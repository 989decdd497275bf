//! The board: all sessions in short, the newest first.

use std::collections::BTreeSet;

use axum::{extract::State, response::Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_store::{SessionFilter, SessionLog, SessionPhase as ActivityTracker, SessionRecord, StoreError};

use super::card::project;
use crate::{Problem, Service, api::answer, input::Query};

/// So many sessions are on a page of the board, unless said, and at most.
const USUAL: usize = 200;
const MOST: usize = 500;

/// So many are looked at for one page, whether or not they are on it.
const MOST_LOOKED_AT: usize = 5_000;
const CHUNK: usize = 250;

/// So many events are read for a page; what that does not tell comes later.
const MOST_READ: u64 = 30_000;

/// Which sessions.
#[derive(Debug, Default, Deserialize)]
pub struct BoardQuery {
    agent: Option<String>,
    project: Option<String>,
    text: Option<String>,
    before: Option<String>,
    limit: Option<usize>,
    archived: Option<bool>,
}

/// A page of the board.
#[derive(Serialize)]
struct Board {
    cards: Vec<Value>,
    agents: BTreeSet<String>,
    projects: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What `after` of the stream may be.
    at: String,
}

/// Sessions that were found.
struct Found {
    sessions: Vec<SessionRecord>,
    more: bool,
}

/// A page of the board.
pub async fn board(State(service): State<Service>, Query(query): Query<BoardQuery>) -> Result<Response, Problem> {
    let bad = || Problem::bad_field("before", "not what `next` was");
    let before = query.before.as_deref().map(|before| before.parse::<u64>().map_err(|_| bad())).transpose()?;
    let limit = query.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(Problem::bad_field("limit", &format!("a number from 1 to {MOST}")));
    }
    let at = service.board_watch().now();
    let asker = service.clone();
    let json = service.ask(move |log| {
        let found = find(log, &query, before, limit)?;
        let (agents, projects) = names(log, &query)?;
        let next = found.sessions.last().filter(|_| found.more).map(|last| last.number.to_string());
        let open = if before.is_none() { open(log, &query)? } else { Vec::new() };
        let mut sessions = found.sessions;
        let there: BTreeSet<u64> = sessions.iter().map(|stored| stored.number).collect();
        sessions.extend(open.into_iter().filter(|stored| !there.contains(&stored.number)));
        let cards = asker.cards(sessions)?;
        Ok(serde_json::to_vec(&Board { cards, agents, projects, next, at }).unwrap_or_default())
    });
    let json = json.await?;
    service.board_watch().begin(&service);
    Ok(answer(json))
}

impl Service {
    /// Sessions in short. Of those that would take long to read, the rest is told later.
    fn cards(&self, sessions: Vec<SessionRecord>) -> Result<Vec<Value>, StoreError> {
        let mut room = MOST_READ;
        let card = |stored: SessionRecord| {
            let behind = self.summaries().behind(&stored)?;
            let whole = behind <= room;
            let summary = if whole {
                room -= behind;
                Some(self.summaries().update(&stored)?)
            } else {
                None
            };
            let card = self.card(stored.clone(), summary.as_deref());
            self.board_watch().given(&stored, whole, &card);
            Ok(card)
        };
        sessions.into_iter().map(card).collect()
    }
}

/// The sessions of a page.
fn find(log: &dyn SessionLog, query: &BoardQuery, mut before: Option<u64>, limit: usize) -> Result<Found, StoreError> {
    let (mut sessions, mut looked) = (Vec::new(), 0);
    loop {
        let chunk = log.list_sessions(&SessionFilter { before, limit: Some(CHUNK), ..filter(query) })?;
        let is_last = chunk.len() < CHUNK;
        looked += chunk.len();
        for stored in chunk {
            before = Some(stored.number);
            if !is_meant(query, &stored) {
                continue;
            }
            if sessions.len() >= limit {
                return Ok(Found { sessions, more: true });
            }
            sessions.push(stored);
        }
        if is_last || looked >= MOST_LOOKED_AT {
            return Ok(Found { sessions, more: !is_last });
        }
    }
}

/// What is open is on the first page, however old it is.
fn open(log: &dyn SessionLog, query: &BoardQuery) -> Result<Vec<SessionRecord>, StoreError> {
    let states = ActivityTracker::OPEN.to_vec();
    let mut open = log.list_sessions(&SessionFilter { states, limit: Some(MOST), ..filter(query) })?;
    open.retain(|stored| is_meant(query, stored));
    Ok(open)
}

fn filter(query: &BoardQuery) -> SessionFilter {
    let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    SessionFilter {
        agent: text(&query.agent),
        text: text(&query.text),
        archived: Some(query.archived.unwrap_or(false)),
        ..SessionFilter::default()
    }
}

fn is_meant(query: &BoardQuery, stored: &SessionRecord) -> bool {
    query.project.as_deref().filter(|wanted| !wanted.is_empty()).is_none_or(|wanted| project(stored) == wanted)
}

/// The agents and projects of the sessions that can be asked for.
fn names(log: &dyn SessionLog, query: &BoardQuery) -> Result<(BTreeSet<String>, BTreeSet<String>), StoreError> {
    let sessions = log.list_sessions(&SessionFilter {
        limit: Some(1_000),
        archived: filter(query).archived,
        ..SessionFilter::default()
    })?;
    let agents = sessions.iter().map(|stored| stored.agent.to_string()).collect();
    let projects = sessions.iter().map(project).filter(|project| !project.is_empty()).collect();
    Ok((agents, projects))
}
