//! The operation by which consumers come to a session.

use axum::{
    Extension,
    extract::{
        State,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
    routing::on,
};
use switchboard_dialects::{DialectSurface, default_dialect};

use super::{
    operation::{Answer, Content, Operation, schema},
    streams::not_a_websocket,
};
use crate::{
    Problem, Service,
    consumers::{Guest, Invitation, serve},
    guard::Caller,
    input::{Path, Query},
    ws,
};

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[Operation {
    path: "/ws/consumers/{id}",
    name: "consumeSession",
    summary: "Follow and steer a session together with others, over WebSocket",
    description: "What the session is like, who is there, what has happened, then what happens, also in later runs; \
                  each message of the session has a `seq`, and `after` goes on behind it. docs/consumers.md says what \
                  is sent in both directions, and `switchboard schema` has the schemas.",
    query: Some(schema::<Invitation>),
    answers: &[Answer { status: 101, meaning: "The connection is a WebSocket now.", content: Content::Nothing }],
    refusals: &[404, 409, 426],
    handler: |method| on(method, connect),
    ..Operation::NEW
}];

async fn connect(
    State(service): State<Service>,
    Path(session): Path<String>,
    Query(invitation): Query<Invitation>,
    caller: Option<Extension<Caller>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    service.stored(&session).await?;
    let upgrade = upgrade.map_err(|rejection| not_a_websocket(&rejection))?;
    let guest = Guest::welcome(&service, &session, &invitation, caller.map(|Extension(caller)| caller)).await?;
    let open = service.metrics().stream("consumers", default_dialect(DialectSurface::Consumers).name);
    let drain = service.drain().clone();
    Ok(ws::sized(upgrade).on_upgrade(move |socket| async move {
        serve(socket, guest, drain).await;
        drop(open);
    }))
}
