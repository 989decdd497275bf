//! Output events of the gateway protocol: a flat stream of `kind`s for one run, from the first token to `session_end`.

mod project;
#[cfg(test)]
mod tests;
mod wire;

use serde_json::Value;

use crate::{Dialect, projection::restore_projection};

/// The gateway dialect.
pub const DIALECT: Dialect = Dialect {
    name: "gateway",
    title: "gateway output events: agent_token, tool_call, usage, session_end, …",
    projection: || Box::new(project::GatewayProjection::default()),
    restore: restore_projection::<project::GatewayProjection>,
    revision: 3,
    verbatim: false,
    schema: message_schema,
};

/// Returns the schema of one message.
pub fn message_schema(_: &[&str]) -> Value {
    serde_json::from_str(include_str!("schema.json")).unwrap_or_default()
}
