//! The consumer protocol: unified messages are reduced to a session state, routed and mapped. Each step is a pure
//! function.
//!
//! * [`unified`] parses unified messages from any source.
//! * [`reduce`] is the state reducer, which produces a [`State`]; consumers receive the differences.
//! * [`route`] is the routing table, [`map`] the consumer mapper.
//! * [`wire`] defines the messages of both directions.

pub mod map;
mod project;
pub mod reduce;
pub mod route;
mod schema;
mod state;
#[cfg(test)]
mod tests;
pub mod unified;
pub mod wire;

pub use schema::client_message_schema;
pub use state::State;

use crate::{Dialect, saved::restore_projection};

/// Version of the consumer protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// The consumer dialect: the part of the protocol that is derived from events.
pub(crate) const DIALECT: Dialect = Dialect {
    name: "consumer",
    title: "what consumers get: session_init, session_update, assistant, permission_request, …",
    projection: || Box::new(project::ConsumerProjection::default()),
    restore: restore_projection::<project::ConsumerProjection>,
    revision: 2,
    verbatim: false,
    schema: |_| schema::server_message_schema(),
};

/// Returns the session state contained in a saved projection of this dialect.
#[must_use]
pub fn restore_state(saved: &[u8]) -> Option<State> {
    project::ConsumerProjection::saved_state(saved)
}
