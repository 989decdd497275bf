//! The server itself: whether it is well, what it has counted, what it can do.

use std::sync::LazyLock;

use axum::{
    Json as Body,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::on,
};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use switchboard_store::LogHealth;

use super::operation::{Answer, Content, Operation, schema};
use crate::{Problem, Service, metrics, openapi};

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/health",
        name: "getHealth",
        summary: "Ask whether the server is well",
        description: "A `degraded` server can be read, and says why it is. One whose data directory was removed \
                      answers 503 (`data_missing`): what it writes is lost.",
        answers: &[Answer { status: 200, meaning: "It is there.", content: Content::Json(schema::<Health>) }],
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
    /// `ok`, or `degraded`.
    #[schemars(regex(pattern = "^(ok|degraded)$"))]
    status: &'static str,
    /// Why it is degraded: `disk_full`, or `read_only` (a later version made the log).
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Its version.
    version: &'static str,
    /// How long it has been running.
    uptime_seconds: u64,
    /// How many sessions it runs.
    sessions: usize,
    /// It begins sessions for whoever asks, and does not end with those it has.
    serves: bool,
}

async fn health(State(service): State<Service>) -> Result<Body<Health>, Problem> {
    let reason = match service.ask(|log| Ok(log.check_health())).await? {
        LogHealth::Sound => None,
        LogHealth::DiskFull => Some("disk_full"),
        LogHealth::ReadOnly => Some("read_only"),
        LogHealth::Missing(_) => {
            // Anybody may ask, so the path is not named.
            let detail = "the data directory was removed or replaced while it was in use";
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "data_missing", detail);
            return Err(problem.with_hint("restart the server"));
        }
    };
    Ok(Body(Health {
        status: if reason.is_some() { "degraded" } else { "ok" },
        reason,
        version: env!("CARGO_PKG_VERSION"),
        serves: service.serves(),
        uptime_seconds: service.uptime().as_secs(),
        sessions: service.engine().sessions().len(),
    }))
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
