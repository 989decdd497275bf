//! Unified events of the CLI agent streaming protocol: `sessionStarted` … `sessionEnded`, in camelCase.

mod project;
#[cfg(test)]
mod tests;
mod wire;

use serde_json::{Value, json};

use crate::{Dialect, projection::restore_projection};

/// The unified dialect.
pub const DIALECT: Dialect = Dialect {
    name: "unified",
    title: "unified agent events: sessionStarted, textChunk, toolStarted, …",
    projection: || Box::new(project::UnifiedProjection::default()),
    restore: restore_projection::<project::UnifiedProjection>,
    revision: 3,
    verbatim: false,
    schema: message_schema,
};

/// Returns the schema of one message.
pub fn message_schema(agents: &[&str]) -> Value {
    let mut schema: Value = serde_json::from_str(include_str!("schema.json")).unwrap_or_default();
    if let Some(agent) = schema.pointer_mut("/allOf/0/then/properties/agentType/enum") {
        *agent = json!(agents);
    }
    schema
}
