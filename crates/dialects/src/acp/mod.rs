//! The Agent Client Protocol (JSON-RPC, version 1) between editors and agents. This module writes the agent's side:
//! session updates and requests to the user.

mod config_options;
mod messages;
mod open_tool_calls;
mod project;
mod requests;
#[cfg(test)]
mod tests;
mod tools;
mod wire;

use serde_json::{Value, json};

use crate::{Dialect, projection::restore_projection, schema::schema_generator};
use wire::{Notification, Request};

pub use config_options::{AgentConfigOptions, MODE_OPTION_ID, MODEL_OPTION_ID};
pub use project::{AcpClientCapabilities, AcpProjection, stop_reason, token_usage};
pub use requests::{AcpRequestKind, chosen_label, form_answers, is_allow_option, request_kind};
pub use wire::{ConfigOption, Modes, StopReason, TokenUsage};

/// The ACP dialect.
pub const DIALECT: Dialect = Dialect {
    name: "acp",
    title: "the Agent Client Protocol: session/update, session/request_permission, …",
    projection: || Box::new(AcpProjection::default()),
    restore: restore_projection::<AcpProjection>,
    revision: 3,
    verbatim: false,
    schema: |_| message_schema(),
};

/// Returns the schema of one message.
pub fn message_schema() -> Value {
    let mut generator = schema_generator();
    let notification = generator.subschema_for::<Notification<'_>>();
    let request = generator.subschema_for::<Request<'_>>();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Message of the Agent Client Protocol",
        "description": "One message of the agent's side: a notification, or a request with an id.",
        "type": "object",
        "if": {"required": ["id"]},
        "then": request,
        "else": notification,
        "$defs": generator.take_definitions(true),
    })
}
