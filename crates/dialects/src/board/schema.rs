//! JSON Schema of session events: the specification's schema plus the payloads it only shows by example. Session ids
//! are the agent's own and not necessarily UUIDs.

use serde_json::Value;

/// Returns the schema of one message.
pub fn message_schema(_: &[&str]) -> Value {
    serde_json::from_str(include_str!("schema.json")).unwrap_or_default()
}
