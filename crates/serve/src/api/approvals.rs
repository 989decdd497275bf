//! What agents ask, and the answers.

use axum::{Json as Body, extract::State, routing::on};
use switchboard_client::{Answered, Approvals};

use super::operation::{Answer, Content, Method, Operation, schema};
use crate::{
    Problem, Service,
    input::{Json, Path},
    order::ApprovalAnswer,
};

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/sessions/{id}/approvals",
        name: "listApprovals",
        summary: "List what the agent asks and nobody has answered",
        answers: &[Answer { status: 200, meaning: "What is open.", content: Content::Json(schema::<Approvals>) }],
        refusals: &[404],
        handler: |method| on(method, list),
        ..Operation::NEW
    },
    Operation {
        method: Method::Post,
        path: "/api/sessions/{id}/approvals/{rid}",
        name: "answerApproval",
        summary: "Answer what the agent asks",
        description: "The first answer that makes sense counts. One that makes none is refused with 400, and the \
                      request stays open.",
        body: Some(schema::<ApprovalAnswer>),
        answers: &[Answer { status: 200, meaning: "It counts.", content: Content::Json(schema::<Answered>) }],
        refusals: &[404, 409, 507],
        handler: |method| on(method, answer),
        ..Operation::NEW
    },
];

async fn list(State(service): State<Service>, Path(id): Path<String>) -> Result<Body<Approvals>, Problem> {
    Ok(Body(Approvals { approvals: service.approvals(&id).await? }))
}

async fn answer(
    State(service): State<Service>,
    Path((id, request)): Path<(String, String)>,
    Json(answer): Json<ApprovalAnswer>,
) -> Result<Body<Answered>, Problem> {
    service.answer(&id, &request, &answer).await.map(Body)
}
