//! The board: a card for every session, newest first.

use std::{collections::BTreeSet, path::Path};

use axum::{extract::State, response::Response};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use switchboard_engine::session_view;
use switchboard_event::Usage;
use switchboard_page::timeline::SessionSummary;
use switchboard_store::{SessionFilter, SessionLog, SessionPhase, SessionRecord, StoreError};

use crate::{Problem, Service, api::json_response, extract::QueryParams};

const DEFAULT_PAGE_SESSIONS: usize = 200;

const MAX_PAGE_SESSIONS: usize = 500;

/// The maximum number of sessions read for one page, whether or not they match.
const MAX_SESSIONS_SCANNED: usize = 5_000;

const SESSIONS_PER_READ: usize = 250;

/// The maximum number of events read for a page; the rest of the cards is sent later.
const MAX_EVENTS_READ: u64 = 30_000;

const MAX_PROMPT_CHARS: usize = 2_000;

/// Which sessions to show.
#[derive(Debug, Default, Deserialize)]
pub struct BoardParams {
    agent: Option<String>,
    project: Option<String>,
    text: Option<String>,
    before: Option<String>,
    limit: Option<usize>,
    archived: Option<bool>,
}

#[derive(Serialize)]
struct BoardPage {
    cards: Vec<Value>,
    agents: BTreeSet<String>,
    projects: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// The value of `after` for the stream.
    at: String,
}

struct FoundSessions {
    sessions: Vec<SessionRecord>,
    more: bool,
}

/// Returns a page of the board.
pub async fn get_board(
    State(service): State<Service>,
    QueryParams(query): QueryParams<BoardParams>,
) -> Result<Response, Problem> {
    let bad = || Problem::bad_field("before", "must be the `next` of a previous page");
    let before = query.before.as_deref().map(|before| before.parse::<u64>().map_err(|_| bad())).transpose()?;
    let limit = query.limit.unwrap_or(DEFAULT_PAGE_SESSIONS);
    if !(1..=MAX_PAGE_SESSIONS).contains(&limit) {
        return Err(Problem::bad_field("limit", &format!("must be a number from 1 to {MAX_PAGE_SESSIONS}")));
    }
    let at = service.board_updates().current_cursor();
    let asker = service.clone();
    let json = service.query_log(move |log| {
        let found = find_sessions(log, &query, before, limit)?;
        let (agents, projects) = filter_choices(log, &query)?;
        let next = found.sessions.last().filter(|_| found.more).map(|last| last.number.to_string());
        let open = if before.is_none() { open_sessions(log, &query)? } else { Vec::new() };
        let mut sessions = found.sessions;
        let listed: BTreeSet<u64> = sessions.iter().map(|stored| stored.number).collect();
        sessions.extend(open.into_iter().filter(|stored| !listed.contains(&stored.number)));
        let cards = asker.cards(sessions)?;
        Ok(serde_json::to_vec(&BoardPage { cards, agents, projects, next, at }).unwrap_or_default())
    });
    let json = json.await?;
    service.board_updates().start_checking(&service);
    Ok(json_response(json))
}

impl Service {
    /// Returns the cards of sessions. Those that take too long to read are completed later.
    fn cards(&self, sessions: Vec<SessionRecord>) -> Result<Vec<Value>, StoreError> {
        let mut remaining = MAX_EVENTS_READ;
        let card = |stored: SessionRecord| {
            let behind = self.summaries().behind(&stored)?;
            let is_complete = behind <= remaining;
            let summary = if is_complete {
                remaining -= behind;
                Some(self.summaries().update(&stored)?)
            } else {
                None
            };
            let card = self.card(stored.clone(), summary.as_deref());
            self.board_updates().add_card(&stored, is_complete, &card);
            Ok(card)
        };
        sessions.into_iter().map(card).collect()
    }
}

fn find_sessions(
    log: &dyn SessionLog,
    query: &BoardParams,
    mut before: Option<u64>,
    limit: usize,
) -> Result<FoundSessions, StoreError> {
    let (mut sessions, mut looked) = (Vec::new(), 0);
    loop {
        let chunk =
            log.list_sessions(&SessionFilter { before, limit: Some(SESSIONS_PER_READ), ..session_filter(query) })?;
        let is_last = chunk.len() < SESSIONS_PER_READ;
        looked += chunk.len();
        for stored in chunk {
            before = Some(stored.number);
            if !is_in_project(query, &stored) {
                continue;
            }
            if sessions.len() >= limit {
                return Ok(FoundSessions { sessions, more: true });
            }
            sessions.push(stored);
        }
        if is_last || looked >= MAX_SESSIONS_SCANNED {
            return Ok(FoundSessions { sessions, more: !is_last });
        }
    }
}

/// Returns the open sessions, which are on the first page however old they are.
fn open_sessions(log: &dyn SessionLog, query: &BoardParams) -> Result<Vec<SessionRecord>, StoreError> {
    let states = SessionPhase::OPEN.to_vec();
    let mut open =
        log.list_sessions(&SessionFilter { states, limit: Some(MAX_PAGE_SESSIONS), ..session_filter(query) })?;
    open.retain(|stored| is_in_project(query, stored));
    Ok(open)
}

fn session_filter(query: &BoardParams) -> SessionFilter {
    let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    SessionFilter {
        agent: text(&query.agent),
        text: text(&query.text),
        archived: Some(query.archived.unwrap_or(false)),
        ..SessionFilter::default()
    }
}

fn is_in_project(query: &BoardParams, stored: &SessionRecord) -> bool {
    query.project.as_deref().filter(|wanted| !wanted.is_empty()).is_none_or(|wanted| project_name(stored) == wanted)
}

/// Returns the agents and projects to filter by.
fn filter_choices(
    log: &dyn SessionLog,
    query: &BoardParams,
) -> Result<(BTreeSet<String>, BTreeSet<String>), StoreError> {
    let sessions = log.list_sessions(&SessionFilter {
        limit: Some(1_000),
        archived: session_filter(query).archived,
        ..SessionFilter::default()
    })?;
    let agents = sessions.iter().map(|stored| stored.agent.to_string()).collect();
    let projects = sessions.iter().map(project_name).filter(|project| !project.is_empty()).collect();
    Ok((agents, projects))
}

/// Returns the project of a session, or else the name of its directory.
fn project_name(stored: &SessionRecord) -> String {
    let folder = || Path::new(&stored.cwd).file_name().map(|name| name.to_string_lossy().into_owned());
    stored.project.clone().or_else(folder).unwrap_or_default()
}

fn board_column(state: SessionPhase) -> &'static str {
    match state {
        SessionPhase::Waiting => "waiting",
        SessionPhase::Running | SessionPhase::Idle | SessionPhase::Other => "running",
        SessionPhase::Done => "done",
        SessionPhase::Failed | SessionPhase::Cancelled => "failed",
    }
}

impl Service {
    /// Returns the card of a session. Without a summary, it has no usage.
    pub(super) fn card(&self, mut stored: SessionRecord, summary: Option<&SessionSummary>) -> Value {
        let here = self.engine().session(&stored.id).is_some_and(|session| !session.is_over());
        let (state, project) = (stored.state, project_name(&stored));
        shorten_prompt(&mut stored.prompt);
        let open_requests = summary.map_or(0, |summary| summary.state.requests.len());
        let approvals = if state == SessionPhase::Waiting { open_requests.max(1) } else { 0 };
        let mut card = match serde_json::to_value(session_view(stored, here, approvals)) {
            Ok(Value::Object(card)) => card,
            _ => Map::new(),
        };
        card.insert("column".to_owned(), board_column(state).into());
        card.insert("project".to_owned(), project.into());
        if let Some(summary) = summary {
            add_summary(&mut card, summary, state);
        }
        Value::Object(card)
    }
}

fn add_summary(card: &mut Map<String, Value>, summary: &SessionSummary, state: SessionPhase) {
    add_usage(card, &summary.usage());
    let session = &summary.state;
    let mut put = |name: &str, value: Value| drop(card.insert(name.to_owned(), value));
    session.model().into_iter().for_each(|model| put("model", model.into()));
    session.info.context.into_iter().for_each(|context| put("context", json!(context)));
    if !state.is_final() {
        session.activity().into_iter().for_each(|activity| put("activityText", activity.into()));
        session.waiting_for().into_iter().for_each(|title| put("waitingFor", title.into()));
    }
}

pub fn add_usage(card: &mut Map<String, Value>, usage: &Usage) {
    let tokens = json!({
        "input": usage.input, "output": usage.output, "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write(), "total": usage.all_input().saturating_add(usage.output),
    });
    card.insert("tokens".to_owned(), tokens);
    usage.cost_usd.into_iter().for_each(|cost| drop(card.insert("costUsd".to_owned(), json!(cost))));
}

/// Returns what can be selected in a session, and the current values.
pub fn session_choices(summary: &SessionSummary) -> Value {
    let info = &summary.state.info;
    json!({
        "models": info.models, "modes": info.modes, "commands": info.commands, "options": info.options,
        "model": summary.state.model(), "mode": info.mode,
    })
}

fn shorten_prompt(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MAX_PROMPT_CHARS) {
        text.truncate(end);
        text.push('…');
    }
}
