//! The schema of unified events: the specification's own, with all agents' names and our additions.

use serde_json::{Value, json};

/// The schema of one message.
pub fn schema(agents: &[&str]) -> Value {
    let mut schema: Value = serde_json::from_str(include_str!("schema.json")).unwrap_or_default();
    if let Some(agent) = schema.pointer_mut("/allOf/0/then/properties/agentType/enum") {
        *agent = json!(agents);
    }
    schema
}
