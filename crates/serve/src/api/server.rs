//! The server itself: its health, its metrics, its API description, and the agents of its machine.

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

use super::operation::{Operation, ResponseContent, SuccessResponse, schema_of};
use crate::{Problem, Service, agent_inventory::AgentView, metrics, openapi};

/// The document is constant while the server runs.
static OPENAPI_JSON: LazyLock<Bytes> =
    LazyLock::new(|| serde_json::to_vec(&openapi::document()).unwrap_or_default().into());

pub const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/health",
        name: "getHealth",
        summary: "Check the health of the server",
        description: "A `degraded` server can still be read, and reports the reason. If its data directory was removed, \
                      the response is 503 (`data_missing`): all writes are lost.",
        responses: &[SuccessResponse {
            status: 200,
            meaning: "The health.",
            content: ResponseContent::Json(schema_of::<Health>),
        }],
        is_public: true,
        handler: |method| on(method, health),
        ..Operation::NEW
    },
    Operation {
        path: "/metrics",
        name: "getMetrics",
        summary: "Get metrics in the Prometheus format",
        responses: &[SuccessResponse {
            status: 200,
            meaning: "The metrics.",
            content: ResponseContent::Text(metrics::MEDIA_TYPE),
        }],
        handler: |method| on(method, metrics_text),
        ..Operation::NEW
    },
    Operation {
        path: "/openapi.json",
        name: "getOpenApi",
        summary: "Get this API description",
        responses: &[SuccessResponse {
            status: 200,
            meaning: "The description.",
            content: ResponseContent::Json(schema_of::<Map<String, Value>>),
        }],
        handler: |method| on(method, openapi_document),
        ..Operation::NEW
    },
];

/// The health of the server.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Health {
    /// `ok` or `degraded`.
    #[schemars(regex(pattern = "^(ok|degraded)$"))]
    status: &'static str,
    /// Why it is degraded: `disk_full`, `read_only` (a later version created the log), or `log_unreachable` (the servers of
    /// a cluster are away).
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The version of Switchboard.
    version: &'static str,
    /// The time since the start.
    uptime_seconds: u64,
    /// How many sessions this process runs.
    sessions: usize,
    /// Whether it accepts new sessions; otherwise it ends with those it runs.
    serves: bool,
}

async fn health(State(service): State<Service>) -> Result<Body<Health>, Problem> {
    let reason = match service.query_log(|log| Ok(log.check_health())).await? {
        LogHealth::Sound => None,
        LogHealth::DiskFull => Some("disk_full"),
        LogHealth::ReadOnly => Some("read_only"),
        LogHealth::Unreachable => Some("log_unreachable"),
        LogHealth::Missing(_) => {
            // The operation is public, so the path is not disclosed.
            let detail = "the data directory was removed or replaced while it was in use";
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "data_missing", detail);
            return Err(problem.with_hint("restart the server"));
        }
    };
    Ok(Body(Health {
        status: if reason.is_some() { "degraded" } else { "ok" },
        reason,
        version: env!("CARGO_PKG_VERSION"),
        serves: service.accepts_sessions(),
        uptime_seconds: service.uptime().as_secs(),
        sessions: service.engine().sessions().len(),
    }))
}

async fn metrics_text(State(service): State<Service>) -> Result<Response, Problem> {
    let text = service.metrics_text().await?;
    Ok(([(header::CONTENT_TYPE, metrics::MEDIA_TYPE)], text).into_response())
}

async fn openapi_document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI_JSON.clone()).into_response()
}

pub const AGENT_OPERATIONS: &[Operation] = &[Operation {
    path: "/api/agents",
    name: "listAgents",
    summary: "List all agents and their installations on this machine",
    responses: &[SuccessResponse {
        status: 200,
        meaning: "All agents.",
        content: ResponseContent::Json(schema_of::<AgentList>),
    }],
    handler: |method| on(method, list_agents),
    ..Operation::NEW
}];

/// All agents.
#[derive(Serialize, JsonSchema)]
struct AgentList {
    /// The agents, in display order.
    agents: Vec<AgentView>,
}

async fn list_agents(State(service): State<Service>) -> Body<AgentList> {
    Body(AgentList { agents: service.agents().all().await })
}
