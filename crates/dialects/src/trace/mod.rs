//! `agtrace.event.v1`: a log of flat events, one for each occurrence, with the native record.

mod about;
mod items;
mod languages;
mod models;
mod notices;
mod project;
mod prompts;
mod records;
mod schema;
#[cfg(test)]
mod tests;
mod tokens;
mod wire;

use crate::{Dialect, saved::restore_projection};

/// The trace dialect.
pub const DIALECT: Dialect = Dialect {
    name: "trace",
    title: "agtrace.event.v1: flat log events with their native records",
    projection: || Box::new(project::TraceProjection::default()),
    restore: restore_projection::<project::TraceProjection>,
    revision: 3,
    verbatim: false,
    schema: schema::message_schema,
};
