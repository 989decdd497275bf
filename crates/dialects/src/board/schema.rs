//! The schema of session events: the specification's own, with the payloads that it shows by example. Sessions keep
//! the agent's own id, which not every agent makes a UUID.

use serde_json::Value;

/// The schema of one message.
pub fn schema(_: &[&str]) -> Value {
    serde_json::from_str(include_str!("schema.json")).unwrap_or_default()
}
