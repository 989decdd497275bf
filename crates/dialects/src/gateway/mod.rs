//! Output events of the gateway protocol: a flat stream of `kind`s for one run, from the first token to `session_end`.

mod hooks;
mod project;
mod schema;
mod stderr;
#[cfg(test)]
mod tests;
mod wire;

use crate::{Dialect, saved::restore_projection};

/// The gateway dialect.
pub const DIALECT: Dialect = Dialect {
    name: "gateway",
    title: "gateway output events: agent_token, tool_call, usage, session_end, …",
    projection: || Box::new(project::GatewayProjection::default()),
    restore: restore_projection::<project::GatewayProjection>,
    revision: 2,
    verbatim: false,
    schema: schema::message_schema,
};
