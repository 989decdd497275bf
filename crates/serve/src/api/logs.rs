//! The logs of agents: sessions that they left on this machine, whoever began them.

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
    routing::on,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_dialects::DialectSurface;
use switchboard_event::Timestamp;
use switchboard_logs::{LogSession, SessionView};

use super::{
    events::{chosen, dialect_name},
    operation::{Answer, Content, Operation, schema},
};
use crate::{
    Problem, Service,
    input::{Path, Query},
    logs::{self, Which},
};

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/logs",
        name: "listLogs",
        summary: "List the sessions that agents left on this machine, the latest first",
        description: "Also those that Switchboard did not run. The index is brought up to date in the background; while it is \
                      made for the first time, this may answer 503 `indexing` with `Retry-After`.",
        query: Some(schema::<ListQuery>),
        answers: &[Answer { status: 200, meaning: "A page of them.", content: Content::Json(schema::<LogList<'_>>) }],
        handler: |method| on(method, list),
        ..Operation::NEW
    },
    Operation {
        path: "/api/logs/{id}",
        name: "getLog",
        summary: "Look at a session of the logs",
        description: "By the agent's own id, the beginning of it, Switchboard's id of it, or `last`.",
        answers: &[Answer { status: 200, meaning: "The session.", content: Content::Json(schema::<SessionView<'_>>) }],
        refusals: &[404, 409],
        handler: |method| on(method, show),
        ..Operation::NEW
    },
    Operation {
        path: "/api/logs/{id}/events",
        name: "listLogEvents",
        summary: "Read what was said and done in a session of the logs, page by page",
        description: "In any dialect, with its subagents. Of a log that the agent has deleted, what was kept of its text.",
        query: Some(schema::<EventsQuery>),
        answers: &[Answer { status: 200, meaning: "A page of messages.", content: Content::Json(schema::<LogEvents>) }],
        refusals: &[404, 409],
        handler: |method| on(method, events),
        ..Operation::NEW
    },
];

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ListQuery {
    #[serde(flatten)]
    which: Which,
    /// With this text in the title or the first prompt, whatever the case of its letters.
    text: Option<String>,
    /// So many at most.
    #[schemars(range(min = 1, max = 500), extend("default" = 50))]
    limit: Option<u32>,
    /// What `next` was in the page before.
    before: Option<String>,
}

/// A page of sessions.
#[derive(Serialize, JsonSchema)]
struct LogList<'a> {
    /// The sessions, the latest first.
    sessions: Vec<SessionView<'a>>,
    /// What `before` must be for the next page; not there if this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Which messages to read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct EventsQuery {
    /// The dialect of the messages.
    #[schemars(schema_with = "log_dialect")]
    dialect: Option<String>,
    /// From this message on, counted from 0.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64), extend("default" = 0))]
    offset: Option<u64>,
    /// So many at most.
    #[schemars(range(min = 1, max = 10_000), extend("default" = 100))]
    limit: Option<u32>,
}

/// A page of messages. Only for its schema: it is written by hand, around messages that are JSON already.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LogEvents {
    /// The messages, in the dialect that was asked for.
    events: Vec<Map<String, Value>>,
    /// Where the next page begins; `null` if this is the last.
    next_offset: Option<u64>,
    /// The agent has deleted the log, and this is what was kept of it.
    kept: bool,
}

fn log_dialect(_: &mut SchemaGenerator) -> Schema {
    dialect_name(DialectSurface::Log)
}

async fn list(State(service): State<Service>, Query(query): Query<ListQuery>) -> Result<Response, Problem> {
    let limit = logs::count(query.limit, 50, 500)?;
    let filter = query.which.filter(&service)?;
    let before = query.before.as_deref().map(cursor).transpose()?;
    let json = service
        .logs()
        .ask(move |library| {
            let mut sessions = library.list_sessions(&filter)?;
            if let Some(text) = query.text.as_deref().map(str::to_lowercase) {
                sessions.retain(|session| has_text(session, &text));
            }
            sessions.sort_by_key(|session| std::cmp::Reverse(place(session)));
            if let Some(before) = before {
                sessions.retain(|session| place(session) < before);
            }
            let next = sessions.get(limit).and(sessions.get(limit - 1)).map(|last| written(&place(last)));
            sessions.truncate(limit);
            Ok(json(&LogList { sessions: sessions.iter().map(SessionView::from).collect(), next }))
        })
        .await?;
    Ok(answer(json))
}

fn has_text(session: &LogSession, text: &str) -> bool {
    let said = [&session.facts.title, &session.facts.prompt];
    said.into_iter().flatten().any(|said| said.to_lowercase().contains(text))
}

/// The place of a session in the list: when it was written last, and what tells apart those of the same moment.
type Place = (i64, String, String);

fn place(session: &LogSession) -> Place {
    let updated = session.facts.updated.map_or(0, Timestamp::as_micros);
    (updated, session.agent.clone(), session.id.clone())
}

fn written((updated, agent, id): &Place) -> String {
    format!("{updated}.{agent}.{id}")
}

fn cursor(text: &str) -> Result<Place, Problem> {
    let mut parts = text.splitn(3, '.');
    let mut part = || parts.next().map(str::to_owned);
    let place = part().and_then(|updated| updated.parse().ok()).zip(part().zip(part()));
    let (updated, (agent, id)) = place.ok_or_else(|| Problem::bad_field("before", "not what `next` was"))?;
    Ok((updated, agent, id))
}

async fn show(State(service): State<Service>, Path(id): Path<String>) -> Result<Response, Problem> {
    let json = service.logs().ask(move |library| Ok(json(&SessionView::from(&library.find_session(&id)?)))).await?;
    Ok(answer(json))
}

async fn events(
    State(service): State<Service>,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Problem> {
    let dialect = chosen(query.dialect.as_deref(), DialectSurface::Log)?;
    let limit = logs::count(query.limit, 100, 10_000)?;
    let offset = query.offset.unwrap_or(0);
    let page = service
        .logs()
        .ask(move |library| logs::page(library, &library.find_session(&id)?, dialect, offset, limit))
        .await?;
    let mut json = b"{\"events\":[".to_vec();
    json.extend(page.messages.join(&b','));
    let next = page.next.map_or_else(|| "null".to_owned(), |next| next.to_string());
    json.extend_from_slice(format!("],\"nextOffset\":{next},\"kept\":{}}}", page.is_kept).as_bytes());
    Ok(answer(json))
}

/// What is made where it may take its time.
pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// JSON that is written already.
pub fn answer(json: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}
