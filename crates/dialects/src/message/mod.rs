//! The unified message protocol: one envelope, nineteen message types, seven content types, and metadata with the same
//! keys for every agent.

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

pub use project::MessageProjection;

use crate::{Dialect, saved::restore_projection};

/// The message dialect.
pub const DIALECT: Dialect = Dialect {
    name: "message",
    title: "unified messages: session_init, stream_event, assistant, tool_progress, result, …",
    projection: || Box::new(MessageProjection::default()),
    restore: restore_projection::<MessageProjection>,
    revision: 3,
    verbatim: false,
    schema: |_| schema::message_schema(),
};
