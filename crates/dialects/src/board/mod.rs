//! Session events of the CLI agent streaming protocol: a session as shown on a board, line by line.

mod lines;
mod project;
mod schema;
#[cfg(test)]
mod tests;
mod wire;

use crate::{Dialect, saved::restore_projection};

/// The board dialect.
pub const DIALECT: Dialect = Dialect {
    name: "board",
    title: "session events of a board: plan, log, diff, action, toolResult, error, cancelled",
    projection: || Box::new(project::BoardProjection::default()),
    restore: restore_projection::<project::BoardProjection>,
    revision: 1,
    verbatim: false,
    schema: schema::message_schema,
};
