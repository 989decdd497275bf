//! `agtrace.event.v1`: a log of flat events, one for each occurrence, with the native record.

mod items;
mod project;
mod prompts;
mod session;
#[cfg(test)]
mod tests;
mod wire;

use serde_json::Value;

use crate::{Dialect, projection::restore_projection};

/// The trace dialect.
pub const DIALECT: Dialect = Dialect {
    name: "trace",
    title: "agtrace.event.v1: flat log events with their native records",
    projection: || Box::new(project::TraceProjection::default()),
    restore: restore_projection::<project::TraceProjection>,
    revision: 4,
    verbatim: false,
    schema: message_schema,
};

/// Returns the schema of one event.
pub fn message_schema(_: &[&str]) -> Value {
    serde_json::from_str(include_str!("schema.json")).unwrap_or_default()
}
