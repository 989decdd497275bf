//! The unified message protocol: one envelope, nineteen types, seven types of content, and metadata whose keys are
//! the same whatever the agent.

mod activity;
mod blocks;
mod items;
mod notices;
mod parents;
mod project;
mod requests;
mod schema;
mod session;
mod sink;
#[cfg(test)]
mod tests;
mod tools;
mod wire;

pub use project::Messenger;

use crate::{Dialect, saved::restored};

/// The unified message protocol.
pub const DIALECT: Dialect = Dialect {
    name: "message",
    title: "unified messages: session_init, stream_event, assistant, tool_progress, result, …",
    projection: || Box::new(Messenger::default()),
    restore: restored::<Messenger>,
    revision: 3,
    verbatim: false,
    schema: |_| schema::schema(),
};
