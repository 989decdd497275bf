//! The server itself: whether it is well, what it has counted, what it can do.

use std::sync::LazyLock;

use axum::{
    Json as Body,
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
    routing::on,
};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::operation::{Answer, Content, Operation, schema};
use crate::{Problem, Service, metrics, openapi};

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/health",
        name: "getHealth",
        summary: "Ask whether the server is well",
        answers: &[Answer { status: 200, meaning: "It is.", content: Content::Json(schema::<Health>) }],
        open: true,
        handler: |method| on(method, health),
        ..Operation::NEW
    },
    Operation {
        path: "/metrics",
        name: "getMetrics",
        summary: "Read what was counted, as Prometheus does",
        answers: &[Answer { status: 200, meaning: "The figures.", content: Content::Text(metrics::MEDIA_TYPE) }],
        handler: |method| on(method, figures),
        ..Operation::NEW
    },
    Operation {
        path: "/openapi.json",
        name: "getOpenApi",
        summary: "Read this description",
        answers: &[Answer { status: 200, meaning: "It.", content: Content::Json(schema::<Map<String, Value>>) }],
        handler: |method| on(method, description),
        ..Operation::NEW
    },
];

/// How the server is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Health {
    /// Always `ok`: a server that is not well does not answer.
    status: &'static str,
    /// Its version.
    version: &'static str,
    /// How long it has been running.
    uptime_seconds: u64,
    /// How many sessions it runs.
    sessions: usize,
    /// It begins sessions for whoever asks, and does not end with those it has.
    serves: bool,
}

async fn health(State(service): State<Service>) -> Body<Health> {
    Body(Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
        serves: service.serves(),
        uptime_seconds: service.uptime().as_secs(),
        sessions: service.engine().sessions().len(),
    })
}

async fn figures(State(service): State<Service>) -> Result<Response, Problem> {
    let text = service.metrics_text().await?;
    Ok(([(header::CONTENT_TYPE, metrics::MEDIA_TYPE)], text).into_response())
}

/// It never changes while the server runs.
static DESCRIPTION: LazyLock<Bytes> =
    LazyLock::new(|| serde_json::to_vec(&openapi::document()).unwrap_or_default().into());

async fn description() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION.clone()).into_response()
}
