//! Session events of the CLI agent streaming protocol: a session as shown on a board, line by line.

mod project;
#[cfg(test)]
mod tests;
mod wire;

use serde_json::Value;

use crate::{Dialect, projection::restore_projection};

/// The board dialect.
pub const DIALECT: Dialect = Dialect {
    name: "board",
    title: "session events of a board: plan, log, diff, action, toolResult, error, cancelled",
    projection: || Box::new(project::BoardProjection::default()),
    restore: restore_projection::<project::BoardProjection>,
    revision: 2,
    verbatim: false,
    schema: message_schema,
};

/// Returns the schema of one message.
pub fn message_schema(_: &[&str]) -> Value {
    serde_json::from_str(include_str!("schema.json")).unwrap_or_default()
}
