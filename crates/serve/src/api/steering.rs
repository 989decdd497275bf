//! Steering a session: the next prompt, stopping the turn, ending it, other models and modes.

use axum::{
    Json as Body,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::on,
};

use super::operation::{Answer, Content, Method, Operation, schema};
use crate::{
    Problem, Service,
    input::{Json, Path},
    order::{CommandRequest, LARGEST_BODY, ModeRequest, ModelRequest, OptionRequest, PromptRequest},
    view::Standing,
};

/// What all of them answer.
const ACCEPTED: &[Answer] =
    &[Answer { status: 202, meaning: "It will be done.", content: Content::Json(schema::<Standing>) }];

/// What all of them are.
const STEERING: Operation =
    Operation { method: Method::Post, answers: ACCEPTED, refusals: &[404, 409, 507], ..Operation::NEW };

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/sessions/{id}/prompt",
        name: "promptSession",
        summary: "Give a session another prompt",
        description: "While the session runs, the prompt joins the turn or waits for its end, as the agent can. A \
                      session that has ended is continued by another run of the agent.",
        body: Some(schema::<PromptRequest>),
        largest: LARGEST_BODY,
        handler: |method| on(method, prompt),
        ..STEERING
    },
    Operation {
        path: "/api/sessions/{id}/interrupt",
        name: "interruptSession",
        summary: "Stop the turn of a session; the session goes on",
        handler: |method| on(method, interrupt),
        ..STEERING
    },
    Operation {
        path: "/api/sessions/{id}/cancel",
        name: "cancelSession",
        summary: "End a session",
        description: "Answers at once; the agent ends soon after, by itself or by force. A session that has ended \
                      stays as it is.",
        handler: |method| on(method, cancel),
        ..STEERING
    },
    Operation {
        path: "/api/sessions/{id}/command",
        name: "commandSession",
        summary: "Give a session one of its agent's slash commands",
        description: "It waits for its turn as a prompt does. What commands there are, the agent says itself.",
        body: Some(schema::<CommandRequest>),
        handler: |method| on(method, command),
        ..STEERING
    },
    Operation {
        path: "/api/sessions/{id}/model",
        name: "setModel",
        summary: "Use another model from now on",
        body: Some(schema::<ModelRequest>),
        handler: |method| on(method, model),
        ..STEERING
    },
    Operation {
        path: "/api/sessions/{id}/mode",
        name: "setMode",
        summary: "Use another of the agent's modes from now on",
        body: Some(schema::<ModeRequest>),
        handler: |method| on(method, mode),
        ..STEERING
    },
    Operation {
        path: "/api/sessions/{id}/option",
        name: "setOption",
        summary: "Set one of the agent's own selectors",
        body: Some(schema::<OptionRequest>),
        handler: |method| on(method, option),
        ..STEERING
    },
];

fn accepted(standing: Standing) -> Response {
    (StatusCode::ACCEPTED, Body(standing)).into_response()
}

async fn prompt(
    State(service): State<Service>,
    Path(id): Path<String>,
    Json(request): Json<PromptRequest>,
) -> Result<Response, Problem> {
    let view = service.prompt(&id, &request).await?;
    Ok(accepted(Standing { id: view.id, state: view.state }))
}

async fn interrupt(State(service): State<Service>, Path(id): Path<String>) -> Result<Response, Problem> {
    service.interrupt(&id).await.map(accepted)
}

async fn cancel(State(service): State<Service>, Path(id): Path<String>) -> Result<Response, Problem> {
    service.cancel(&id).await.map(accepted)
}

async fn command(
    State(service): State<Service>,
    Path(id): Path<String>,
    Json(request): Json<CommandRequest>,
) -> Result<Response, Problem> {
    service.slash(&id, &request).await.map(accepted)
}

async fn model(
    State(service): State<Service>,
    Path(id): Path<String>,
    Json(request): Json<ModelRequest>,
) -> Result<Response, Problem> {
    service.set_model(&id, &request).await.map(accepted)
}

async fn mode(
    State(service): State<Service>,
    Path(id): Path<String>,
    Json(request): Json<ModeRequest>,
) -> Result<Response, Problem> {
    service.set_mode(&id, &request).await.map(accepted)
}

async fn option(
    State(service): State<Service>,
    Path(id): Path<String>,
    Json(request): Json<OptionRequest>,
) -> Result<Response, Problem> {
    service.set_option(&id, &request).await.map(accepted)
}
