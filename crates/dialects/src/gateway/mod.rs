//! The gateway's output events: a flat stream of `kind`s for one run, from the first token to `session_end`.

mod hooks;
mod project;
mod schema;
mod stderr;
#[cfg(test)]
mod tests;
mod wire;

use crate::{Dialect, saved::restored};

/// The gateway's output events.
pub const DIALECT: Dialect = Dialect {
    name: "gateway",
    title: "gateway output events: agent_token, tool_call, usage, session_end, …",
    projection: || Box::new(project::Gateway::default()),
    restore: restored::<project::Gateway>,
    revision: 2,
    verbatim: false,
    schema: schema::schema,
};
