//! The agents of this machine.

use axum::{Json as Body, extract::State, routing::on};
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{Answer, Content, Operation, schema};
use crate::{Service, agents::AgentView};

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[Operation {
    path: "/api/agents",
    name: "listAgents",
    summary: "List the agents, and what this machine has of each",
    answers: &[Answer { status: 200, meaning: "All agents.", content: Content::Json(schema::<AgentList>) }],
    handler: |method| on(method, list),
    ..Operation::NEW
}];

/// All agents.
#[derive(Serialize, JsonSchema)]
struct AgentList {
    /// In the order in which they are shown.
    agents: Vec<AgentView>,
}

async fn list(State(service): State<Service>) -> Body<AgentList> {
    Body(AgentList { agents: service.agents().all().await })
}
