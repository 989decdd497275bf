//! The unified message protocol: one envelope, nineteen message types, seven content types, and metadata with the same
//! keys for every agent.

mod items;
mod project;
mod requests;
mod session;
#[cfg(test)]
mod tests;
mod tools;
mod wire;

use serde_json::{Value, json};

use crate::{Dialect, projection::restore_projection, schema::schema_generator};
use wire::Message;

pub use project::MessageProjection;

/// The message dialect.
pub const DIALECT: Dialect = Dialect {
    name: "message",
    title: "unified messages: session_init, stream_event, assistant, tool_progress, result, …",
    projection: || Box::new(MessageProjection::default()),
    restore: restore_projection::<MessageProjection>,
    revision: 3,
    verbatim: false,
    schema: |_| message_schema(),
};

/// Returns the schema of one message.
pub fn message_schema() -> Value {
    let schema = schema_generator().into_root_schema_for::<Message<'_>>();
    let mut schema = schema.to_value();
    schema["title"] = json!("Unified message");
    schema["oneOf"].as_array_mut().into_iter().flatten().for_each(set_role);
    schema["allOf"] = json!([tool_request_rule()]);
    schema
}

/// Restricts the role to the one that the message type implies.
fn set_role(kind: &mut Value) {
    let role = match kind["properties"]["type"]["const"].as_str().unwrap_or_default() {
        "user_message" | "permission_response" | "interrupt" => "user",
        "assistant" | "stream_event" => "assistant",
        "tool_progress" | "tool_use_summary" => "tool",
        _ => "system",
    };
    kind["properties"]["role"] = json!({ "const": role });
}

/// A tool request must have a tool name and an input.
fn tool_request_rule() -> Value {
    json!({
        "if": {"properties": {"type": {"const": "permission_request"}, "metadata": {"properties": {"subtype": {"const": "can_use_tool"}}}}},
        "then": {"properties": {"metadata": {"required": ["tool_name", "input"]}}},
    })
}
