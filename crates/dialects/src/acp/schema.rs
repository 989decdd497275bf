//! JSON Schema of a message (notification or request), generated from the wire types. A test validates the written
//! messages against the official ACP schema.

use serde_json::{Value, json};

use super::wire::{Notification, Request};
use crate::schema::schema_generator;

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
