//! The schema of one message: a notification or a request, made from the types that write them. A test holds what they
//! write against the schema of the protocol itself.

use serde_json::{Value, json};

use super::wire::{Notification, Request};
use crate::schema::generator;

/// The schema of one message.
pub fn schema() -> Value {
    let mut generator = generator();
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
