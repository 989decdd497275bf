//! What consumers of a session are told, and what they say: the unified messages, reduced to a state, routed and
//! mapped. Each piece is a pure function of its own.
//!
//! * [`unified`] reads unified messages back, whoever wrote them.
//! * [`reduce`] is the state reducer, [`State`] what it makes, [`State::difference`] what is sent of it.
//! * [`route`] is the router's table, [`map`] the consumer mapper.
//! * [`wire`] has the messages of both directions.

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

pub use schema::said;
pub use state::State;

use crate::{Dialect, saved::restored};

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// The consumer protocol, as far as it is made of events.
pub(crate) const DIALECT: Dialect = Dialect {
    name: "consumer",
    title: "what consumers get: session_init, session_update, assistant, permission_request, …",
    projection: || Box::new(project::Router::default()),
    restore: restored::<project::Router>,
    revision: 2,
    verbatim: false,
    schema: |_| schema::told(),
};

/// What a session is like, in what a projection of this dialect has saved.
#[must_use]
pub fn state_of(saved: &[u8]) -> Option<State> {
    project::Router::saved_state(saved)
}
