//! The harness protocol: JSON-RPC without the `jsonrpc` field; threads, turns and typed items. Here is what the
//! agent's side sends: notifications and requests.

mod approvals;
mod items;
mod kept;
mod notices;
mod project;
mod schema;
#[cfg(test)]
mod tests;
mod wire;

use crate::{Dialect, saved::restored};

/// The harness protocol.
pub const DIALECT: Dialect = Dialect {
    name: "harness",
    title: "the harness protocol: thread/started, turn/started, item/started, item/agentMessage/delta, …",
    projection: || Box::new(project::Harness::default()),
    restore: restored::<project::Harness>,
    revision: 1,
    verbatim: false,
    schema: |_| schema::schema(),
};
