//! Sessions: starting, listing, deleting and controlling them, and answering their requests.

use axum::{
    Json as Body,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::on,
};
use futures_util::future::try_join_all;
use switchboard_client::{
    Answered, ApprovalAnswer, Approvals, ArchiveRequest, CommandRequest, ModeRequest, ModelRequest, OptionRequest,
    SessionPage, SessionQuery, SessionView,
};
use switchboard_engine::session_phases;
use switchboard_store::{SessionFilter, SessionLog, SessionRecord, StoreError};

use super::operation::{Operation, OperationMethod, ResponseContent, SuccessResponse, schema_of};
use crate::{
    Problem, Service,
    commands::DeleteOutcome,
    extract::{JsonBody, PathParams, QueryParams},
    requests::{MAX_BODY_BYTES, PromptRequest, SessionRequest},
    service::SessionStanding,
};

/// How many sessions are read at a time, to bound the memory of a page with long prompts.
const SESSIONS_PER_READ: usize = 50;

/// The approximate maximum size of a page.
const MAX_LIST_BYTES: usize = 8 << 20;

const ACCEPTED: &[SuccessResponse] = &[SuccessResponse {
    status: 202,
    meaning: "The request was accepted.",
    content: ResponseContent::Json(schema_of::<SessionStanding>),
}];

/// What all control operations have in common.
const CONTROL: Operation =
    Operation { method: OperationMethod::Post, responses: ACCEPTED, refusals: &[404, 409, 507], ..Operation::NEW };

pub const OPERATIONS: &[Operation] = &[
    Operation {
        method: OperationMethod::Post,
        path: "/api/sessions",
        name: "createSession",
        summary: "Start a session, or continue one",
        description: "With `sessionId`, continues the session: with this prompt while it runs, with another run of the \
                      agent after it has ended. Its earlier settings apply unless the request changes them.",
        body: Some(schema_of::<SessionRequest>),
        max_body_bytes: MAX_BODY_BYTES,
        responses: &[SuccessResponse {
            status: 201,
            meaning: "The session was started.",
            content: ResponseContent::Json(schema_of::<SessionView>),
        }],
        refusals: &[404, 409, 507],
        handler: |method| on(method, create_session),
        ..Operation::NEW
    },
    Operation {
        path: "/api/sessions",
        name: "listSessions",
        summary: "List sessions, newest first",
        query: Some(schema_of::<SessionQuery>),
        responses: &[SuccessResponse {
            status: 200,
            meaning: "A page of sessions.",
            content: ResponseContent::Json(schema_of::<SessionPage>),
        }],
        handler: |method| on(method, list_sessions),
        ..Operation::NEW
    },
    Operation {
        path: "/api/sessions/{id}",
        name: "getSession",
        summary: "Get a session",
        responses: &[SuccessResponse {
            status: 200,
            meaning: "The session.",
            content: ResponseContent::Json(schema_of::<SessionView>),
        }],
        refusals: &[404],
        handler: |method| on(method, get_session),
        ..Operation::NEW
    },
    Operation {
        method: OperationMethod::Post,
        path: "/api/sessions/{id}/archive",
        name: "archiveSession",
        summary: "Archive or unarchive a session",
        description: "Lists can leave out archived sessions. Nothing else changes.",
        body: Some(schema_of::<ArchiveRequest>),
        responses: &[SuccessResponse {
            status: 200,
            meaning: "The session.",
            content: ResponseContent::Json(schema_of::<SessionView>),
        }],
        refusals: &[404, 507],
        handler: |method| on(method, archive_session),
        ..Operation::NEW
    },
    Operation {
        method: OperationMethod::Delete,
        path: "/api/sessions/{id}",
        name: "deleteSession",
        summary: "Delete a session",
        description: "A running session is ended first. If its agent takes long to end, the response is 202.",
        responses: &[
            SuccessResponse { status: 204, meaning: "The session was deleted.", content: ResponseContent::Nothing },
            SuccessResponse {
                status: 202,
                meaning: "The session is ending and will be deleted then.",
                content: ResponseContent::Json(schema_of::<SessionStanding>),
            },
        ],
        refusals: &[404, 409, 507],
        handler: |method| on(method, delete_session),
        ..Operation::NEW
    },
];

async fn create_session(
    State(service): State<Service>,
    JsonBody(request): JsonBody<SessionRequest>,
) -> Result<Response, Problem> {
    let view = service.start(&request).await?;
    Ok((StatusCode::CREATED, Body(view)).into_response())
}

async fn archive_session(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    JsonBody(request): JsonBody<ArchiveRequest>,
) -> Result<Body<SessionView>, Problem> {
    service.archive(&id, request.archived).await?;
    service.session_view(&id).await.map(Body)
}

async fn get_session(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
) -> Result<Body<SessionView>, Problem> {
    service.session_view(&id).await.map(Body)
}

async fn delete_session(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
) -> Result<Response, Problem> {
    Ok(match service.delete(&id).await? {
        DeleteOutcome::Deleted => StatusCode::NO_CONTENT.into_response(),
        DeleteOutcome::Pending(standing) => (StatusCode::ACCEPTED, Body(standing)).into_response(),
    })
}

async fn list_sessions(
    State(service): State<Service>,
    QueryParams(query): QueryParams<SessionQuery>,
) -> Result<Body<SessionPage>, Problem> {
    let limit = query.limit.unwrap_or(50);
    if !(1..=500).contains(&limit) {
        return Err(Problem::bad_field("limit", "must be a number from 1 to 500"));
    }
    let before = query.before.as_deref().map(parse_cursor).transpose()?;
    let limit = usize::try_from(limit).unwrap_or(SESSIONS_PER_READ);
    let (records, has_more) = service.query_log(move |log| read_list_page(log, &query, before, limit)).await?;
    let next = records.last().map(|last| last.number.to_string()).filter(|_| has_more);
    let sessions = try_join_all(records.into_iter().map(|stored| service.view_of_record(stored))).await?;
    Ok(Body(SessionPage { sessions, next }))
}

fn parse_cursor(text: &str) -> Result<u64, Problem> {
    let number = text.parse().ok().filter(|number| (1..1_000_000_000_000_000_000).contains(number));
    number
        .filter(|_| !text.starts_with(['0', '+']))
        .ok_or_else(|| Problem::bad_field("before", "must be the `next` of a previous page"))
}

/// Returns the sessions of a page, and whether there are more.
fn read_list_page(
    log: &dyn SessionLog,
    query: &SessionQuery,
    mut before: Option<u64>,
    limit: usize,
) -> Result<(Vec<SessionRecord>, bool), StoreError> {
    let (mut found, mut size) = (Vec::<SessionRecord>::new(), 0);
    loop {
        let wanted = (limit - found.len()).min(SESSIONS_PER_READ);
        let chunk = read_sessions(log, query, before, wanted + 1)?;
        let more = chunk.len() > wanted;
        for stored in chunk.into_iter().take(wanted) {
            size += stored.prompt.len() + stored.config.get().len() + stored.cwd.len();
            before = Some(stored.number);
            found.push(stored);
            if size > MAX_LIST_BYTES {
                return Ok((found, true));
            }
        }
        if !more || found.len() >= limit {
            return Ok((found, more));
        }
    }
}

fn read_sessions(
    log: &dyn SessionLog,
    query: &SessionQuery,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<SessionRecord>, StoreError> {
    log.list_sessions(&SessionFilter {
        agent: query.agent.clone(),
        project: query.project.clone(),
        cwd: query.cwd.clone(),
        node: query.node.clone(),
        states: session_phases(query.state),
        text: query.text.clone(),
        archived: query.archived,
        before,
        limit: Some(limit),
        ..SessionFilter::default()
    })
}

pub const CONTROL_OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/sessions/{id}/prompt",
        name: "promptSession",
        summary: "Send a prompt to a session",
        description: "While the session runs, the prompt joins the turn or waits for its end, depending on the agent. A \
                      session that has ended is continued with another run of the agent.",
        body: Some(schema_of::<PromptRequest>),
        max_body_bytes: MAX_BODY_BYTES,
        handler: |method| on(method, prompt),
        ..CONTROL
    },
    Operation {
        path: "/api/sessions/{id}/interrupt",
        name: "interruptSession",
        summary: "Stop the current turn of a session",
        handler: |method| on(method, interrupt),
        ..CONTROL
    },
    Operation {
        path: "/api/sessions/{id}/cancel",
        name: "cancelSession",
        summary: "End a session",
        description: "Returns at once; the agent ends soon after, by force if necessary. A session that has ended \
                      is unchanged.",
        handler: |method| on(method, cancel),
        ..CONTROL
    },
    Operation {
        path: "/api/sessions/{id}/command",
        name: "commandSession",
        summary: "Send a slash command of the agent to a session",
        description: "It waits for its turn as a prompt does. The agent reports its commands itself.",
        body: Some(schema_of::<CommandRequest>),
        handler: |method| on(method, command),
        ..CONTROL
    },
    Operation {
        path: "/api/sessions/{id}/model",
        name: "setModel",
        summary: "Change the model of a session",
        body: Some(schema_of::<ModelRequest>),
        handler: |method| on(method, model),
        ..CONTROL
    },
    Operation {
        path: "/api/sessions/{id}/mode",
        name: "setMode",
        summary: "Change the mode of a session",
        body: Some(schema_of::<ModeRequest>),
        handler: |method| on(method, mode),
        ..CONTROL
    },
    Operation {
        path: "/api/sessions/{id}/option",
        name: "setOption",
        summary: "Set an option of the agent",
        body: Some(schema_of::<OptionRequest>),
        handler: |method| on(method, option),
        ..CONTROL
    },
];

fn accepted(standing: SessionStanding) -> Response {
    (StatusCode::ACCEPTED, Body(standing)).into_response()
}

async fn prompt(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    JsonBody(request): JsonBody<PromptRequest>,
) -> Result<Response, Problem> {
    let view = service.prompt(&id, &request).await?;
    Ok(accepted(SessionStanding { id: view.id, state: view.state }))
}

async fn interrupt(State(service): State<Service>, PathParams(id): PathParams<String>) -> Result<Response, Problem> {
    service.interrupt(&id).await.map(accepted)
}

async fn cancel(State(service): State<Service>, PathParams(id): PathParams<String>) -> Result<Response, Problem> {
    service.cancel(&id).await.map(accepted)
}

async fn command(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    JsonBody(request): JsonBody<CommandRequest>,
) -> Result<Response, Problem> {
    service.send_slash_command(&id, &request).await.map(accepted)
}

async fn model(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    JsonBody(request): JsonBody<ModelRequest>,
) -> Result<Response, Problem> {
    service.set_model(&id, &request).await.map(accepted)
}

async fn mode(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    JsonBody(request): JsonBody<ModeRequest>,
) -> Result<Response, Problem> {
    service.set_mode(&id, &request).await.map(accepted)
}

async fn option(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    JsonBody(request): JsonBody<OptionRequest>,
) -> Result<Response, Problem> {
    service.set_option(&id, &request).await.map(accepted)
}

pub const APPROVAL_OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/sessions/{id}/approvals",
        name: "listApprovals",
        summary: "List the open requests of the agent",
        responses: &[SuccessResponse {
            status: 200,
            meaning: "The open requests.",
            content: ResponseContent::Json(schema_of::<Approvals>),
        }],
        refusals: &[404],
        handler: |method| on(method, list_approvals),
        ..Operation::NEW
    },
    Operation {
        method: OperationMethod::Post,
        path: "/api/sessions/{id}/approvals/{rid}",
        name: "answerApproval",
        summary: "Answer a request of the agent",
        description: "The first valid answer counts. An invalid one is refused with 400, and the \
                      request stays open.",
        body: Some(schema_of::<ApprovalAnswer>),
        responses: &[SuccessResponse {
            status: 200,
            meaning: "The answer was accepted.",
            content: ResponseContent::Json(schema_of::<Answered>),
        }],
        refusals: &[404, 409, 507],
        handler: |method| on(method, answer_approval),
        ..Operation::NEW
    },
];

async fn list_approvals(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
) -> Result<Body<Approvals>, Problem> {
    Ok(Body(Approvals { approvals: service.approvals(&id).await? }))
}

async fn answer_approval(
    State(service): State<Service>,
    PathParams((id, request)): PathParams<(String, String)>,
    JsonBody(answer): JsonBody<ApprovalAnswer>,
) -> Result<Body<Answered>, Problem> {
    service.answer(&id, &request, &answer).await.map(Body)
}
