//! JSON Schema of unified events: the specification's schema with the names of all agents and Switchboard's additions.

use serde_json::{Value, json};

/// Returns the schema of one message.
pub fn message_schema(agents: &[&str]) -> Value {
    let mut schema: Value = serde_json::from_str(include_str!("schema.json")).unwrap_or_default();
    if let Some(agent) = schema.pointer_mut("/allOf/0/then/properties/agentType/enum") {
        *agent = json!(agents);
    }
    schema
}
