//! Sessions: start, list, look at, delete.

use axum::{
    Json as Body,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::on,
};
use futures_util::future::try_join_all;
use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_client::{SessionPage, SessionView};
use switchboard_store::{SessionFilter, SessionLog, SessionPhase as ActivityTracker, SessionRecord, StoreError};

use super::operation::{Answer, Content, Method, Operation, schema};
use crate::{
    Problem, Service,
    commands::Deleted,
    input::{Json, Path, Query},
    order::{ArchiveRequest, LARGEST_BODY, SessionRequest},
    view::Standing,
};

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        method: Method::Post,
        path: "/api/sessions",
        name: "createSession",
        summary: "Start a session, or continue one",
        description: "With `sessionId`, the session goes on: with this prompt while it runs, with another run of the \
                      agent once it has ended. The settings of then hold, but for what is set now.",
        body: Some(schema::<SessionRequest>),
        largest: LARGEST_BODY,
        answers: &[Answer { status: 201, meaning: "It runs.", content: Content::Json(schema::<SessionView>) }],
        refusals: &[404, 409, 507],
        handler: |method| on(method, create),
        ..Operation::NEW
    },
    Operation {
        path: "/api/sessions",
        name: "listSessions",
        summary: "List sessions, newest first",
        query: Some(schema::<ListQuery>),
        answers: &[Answer { status: 200, meaning: "A page of them.", content: Content::Json(schema::<SessionPage>) }],
        handler: |method| on(method, list),
        ..Operation::NEW
    },
    Operation {
        path: "/api/sessions/{id}",
        name: "getSession",
        summary: "Look at a session",
        answers: &[Answer { status: 200, meaning: "The session.", content: Content::Json(schema::<SessionView>) }],
        refusals: &[404],
        handler: |method| on(method, show),
        ..Operation::NEW
    },
    Operation {
        method: Method::Post,
        path: "/api/sessions/{id}/archive",
        name: "archiveSession",
        summary: "Put a session away, or take it out again",
        description: "Lists can leave out what is put away. Nothing else changes.",
        body: Some(schema::<ArchiveRequest>),
        answers: &[Answer { status: 200, meaning: "The session.", content: Content::Json(schema::<SessionView>) }],
        refusals: &[404, 507],
        handler: |method| on(method, archive),
        ..Operation::NEW
    },
    Operation {
        method: Method::Delete,
        path: "/api/sessions/{id}",
        name: "deleteSession",
        summary: "Delete a session",
        description: "One that runs is ended first. If its agent takes long to end, the answer comes before that.",
        answers: &[
            Answer { status: 204, meaning: "It is gone.", content: Content::Nothing },
            Answer { status: 202, meaning: "It is ending, and then goes.", content: Content::Json(schema::<Standing>) },
        ],
        refusals: &[404, 409, 507],
        handler: |method| on(method, delete),
        ..Operation::NEW
    },
];

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ListQuery {
    /// Of this agent.
    agent: Option<String>,
    /// Of this project.
    project: Option<String>,
    /// In this state; `running` are all that are open.
    state: Option<ListState>,
    /// With this text in the title or the prompt, whatever the case of its letters.
    text: Option<String>,
    /// That work in this folder.
    cwd: Option<String>,
    /// Only those that are put away, or only those that are not.
    archived: Option<bool>,
    /// So many at most. A page may have fewer, and `next` is there as long as there are more.
    #[schemars(range(min = 1, max = 500), extend("default" = 50))]
    limit: Option<u32>,
    /// What `next` was in the page before.
    #[schemars(regex(pattern = "^[1-9][0-9]{0,17}$"))]
    before: Option<String>,
}

/// A state by which sessions are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum ListState {
    Running,
    Waiting,
    Idle,
    Done,
    Failed,
    Cancelled,
}

/// So many sessions are read at once, so that a page of long prompts does not fill the memory.
const CHUNK: usize = 50;

/// A page of sessions has about so many bytes.
const LARGEST_PAGE: usize = 8 << 20;

async fn create(State(service): State<Service>, Json(request): Json<SessionRequest>) -> Result<Response, Problem> {
    let view = service.start(&request).await?;
    Ok((StatusCode::CREATED, Body(view)).into_response())
}

async fn archive(
    State(service): State<Service>,
    Path(id): Path<String>,
    Json(request): Json<ArchiveRequest>,
) -> Result<Body<SessionView>, Problem> {
    service.archive(&id, request.archived).await?;
    service.view(&id).await.map(Body)
}

async fn show(State(service): State<Service>, Path(id): Path<String>) -> Result<Body<SessionView>, Problem> {
    service.view(&id).await.map(Body)
}

async fn delete(State(service): State<Service>, Path(id): Path<String>) -> Result<Response, Problem> {
    Ok(match service.delete(&id).await? {
        Deleted::Gone => StatusCode::NO_CONTENT.into_response(),
        Deleted::Later(standing) => (StatusCode::ACCEPTED, Body(standing)).into_response(),
    })
}

async fn list(State(service): State<Service>, Query(query): Query<ListQuery>) -> Result<Body<SessionPage>, Problem> {
    let limit = query.limit.unwrap_or(50);
    if !(1..=500).contains(&limit) {
        return Err(Problem::bad_field("limit", "a number from 1 to 500"));
    }
    let before = query.before.as_deref().map(cursor).transpose()?;
    let limit = usize::try_from(limit).unwrap_or(CHUNK);
    let (found, more) = service.ask(move |log| page(log, &query, before, limit)).await?;
    let next = found.last().map(|last| last.number.to_string()).filter(|_| more);
    let sessions = try_join_all(found.into_iter().map(|stored| service.show(stored))).await?;
    Ok(Body(SessionPage { sessions, next }))
}

/// The number of the last session of the page before.
fn cursor(text: &str) -> Result<u64, Problem> {
    let number = text.parse().ok().filter(|number| (1..1_000_000_000_000_000_000).contains(number));
    number.filter(|_| !text.starts_with(['0', '+'])).ok_or_else(|| Problem::bad_field("before", "not what `next` was"))
}

/// The sessions of a page, and whether there are more.
fn page(
    log: &dyn SessionLog,
    query: &ListQuery,
    mut before: Option<u64>,
    limit: usize,
) -> Result<(Vec<SessionRecord>, bool), StoreError> {
    let (mut found, mut size) = (Vec::<SessionRecord>::new(), 0);
    loop {
        let wanted = (limit - found.len()).min(CHUNK);
        let chunk = chunk(log, query, before, wanted + 1)?;
        let more = chunk.len() > wanted;
        for stored in chunk.into_iter().take(wanted) {
            size += stored.prompt.len() + stored.config.get().len() + stored.cwd.len();
            before = Some(stored.number);
            found.push(stored);
            if size > LARGEST_PAGE {
                return Ok((found, true));
            }
        }
        if !more || found.len() >= limit {
            return Ok((found, more));
        }
    }
}

fn chunk(
    log: &dyn SessionLog,
    query: &ListQuery,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<SessionRecord>, StoreError> {
    log.list_sessions(&SessionFilter {
        agent: query.agent.clone(),
        project: query.project.clone(),
        cwd: query.cwd.clone(),
        states: states(query.state),
        text: query.text.clone(),
        archived: query.archived,
        before,
        limit: Some(limit),
        ..SessionFilter::default()
    })
}

/// The states of the log that a state of the list means; none means any.
fn states(state: Option<ListState>) -> Vec<ActivityTracker> {
    match state {
        None => Vec::new(),
        Some(ListState::Running) => ActivityTracker::OPEN.to_vec(),
        Some(ListState::Waiting) => vec![ActivityTracker::Waiting],
        Some(ListState::Idle) => vec![ActivityTracker::Idle],
        Some(ListState::Done) => vec![ActivityTracker::Done],
        Some(ListState::Failed) => vec![ActivityTracker::Failed],
        Some(ListState::Cancelled) => vec![ActivityTracker::Cancelled],
    }
}
