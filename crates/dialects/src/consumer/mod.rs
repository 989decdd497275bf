//! The consumer protocol: unified messages are reduced to a session state, routed and mapped. Each step is a pure
//! function.
//!
//! * [`unified`] parses unified messages from any source.
//! * [`reduce`] is the state reducer, which produces a [`ConsumerState`]; consumers receive the differences.
//! * [`route`] is the routing table, [`map`] the consumer mapper.
//! * [`wire`] defines the messages of both directions.

pub mod map;
mod project;
pub mod reduce;
pub mod route;
mod state;
#[cfg(test)]
mod tests;
pub mod unified;
pub mod wire;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::{Dialect, projection::restore_projection, schema::schema_generator};
use wire::{ClientMessage, Sequenced};

pub use state::ConsumerState;

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
    schema: |_| server_message_schema(),
};

/// Returns the session state contained in a saved projection of this dialect.
#[must_use]
pub fn restore_state(saved: &[u8]) -> Option<ConsumerState> {
    project::ConsumerProjection::saved_state(saved)
}

/// Returns the schema of server messages.
pub fn server_message_schema() -> Value {
    let mut schema = schema_generator().into_root_schema_for::<Sequenced>().to_value();
    schema["title"] = json!("Consumer server message");
    schema
}

/// Returns the schema of client messages.
pub fn client_message_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<ClientMessage>().to_value();
    schema["title"] = json!("Consumer client message");
    schema
}
