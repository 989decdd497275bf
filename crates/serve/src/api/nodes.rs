//! The nodes of the cluster: listing them, and letting them accept no new sessions.

use axum::{Json as Body, extract::State, routing::on};
use switchboard_client::{NodeList, NodeView};

use super::operation::{Operation, OperationMethod, ResponseContent, SuccessResponse, schema_of};
use crate::{Problem, Service, extract::PathParams};

const CHANGED: &[SuccessResponse] =
    &[SuccessResponse { status: 200, meaning: "The node.", content: ResponseContent::Json(schema_of::<NodeView>) }];

pub const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/nodes",
        name: "listNodes",
        summary: "List the nodes of the cluster",
        description: "Includes nodes that are gone. A server without a cluster has none.",
        responses: &[SuccessResponse {
            status: 200,
            meaning: "All nodes.",
            content: ResponseContent::Json(schema_of::<NodeList>),
        }],
        handler: |method| on(method, list_nodes),
        ..Operation::NEW
    },
    Operation {
        method: OperationMethod::Post,
        path: "/api/nodes/{name}/drain",
        name: "drainNode",
        summary: "Let a node accept no new sessions",
        description: "Its running sessions finish. It lasts until the node is resumed or restarted.",
        responses: CHANGED,
        refusals: &[404],
        handler: |method| on(method, drain_node),
        ..Operation::NEW
    },
    Operation {
        method: OperationMethod::Post,
        path: "/api/nodes/{name}/resume",
        name: "resumeNode",
        summary: "Let a drained node accept sessions again",
        responses: CHANGED,
        refusals: &[404],
        handler: |method| on(method, resume_node),
        ..Operation::NEW
    },
];

async fn list_nodes(State(service): State<Service>) -> Body<NodeList> {
    Body(NodeList { nodes: service.list_nodes() })
}

async fn drain_node(
    State(service): State<Service>,
    PathParams(name): PathParams<String>,
) -> Result<Body<NodeView>, Problem> {
    service.set_draining(&name, true).await.map(Body)
}

async fn resume_node(
    State(service): State<Service>,
    PathParams(name): PathParams<String>,
) -> Result<Body<NodeView>, Problem> {
    service.set_draining(&name, false).await.map(Body)
}
