//! The session events of the CLI agent streaming protocol: what a board shows of a session, line by line.

mod lines;
mod project;
mod schema;
#[cfg(test)]
mod tests;
mod wire;

use crate::{Dialect, saved::restored};

/// The session events of a board.
pub const DIALECT: Dialect = Dialect {
    name: "board",
    title: "session events of a board: plan, log, diff, action, toolResult, error, cancelled",
    projection: || Box::new(project::Board::default()),
    restore: restored::<project::Board>,
    revision: 1,
    verbatim: false,
    schema: schema::schema,
};
