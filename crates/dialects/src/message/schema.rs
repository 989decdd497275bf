//! The schema of one message, made from the types that write it.

use serde_json::{Value, json};

use super::wire::Message;
use crate::schema::generator;

/// The schema of one message.
pub fn schema() -> Value {
    let schema = generator().into_root_schema_for::<Message<'_>>();
    let mut schema = schema.to_value();
    schema["title"] = json!("Unified message");
    schema["oneOf"].as_array_mut().into_iter().flatten().for_each(with_role);
    schema["allOf"] = json!([tools()]);
    schema
}

/// Who speaks follows from the type.
fn with_role(kind: &mut Value) {
    let role = match kind["properties"]["type"]["const"].as_str().unwrap_or_default() {
        "user_message" | "permission_response" | "interrupt" => "user",
        "assistant" | "stream_event" => "assistant",
        "tool_progress" | "tool_use_summary" => "tool",
        _ => "system",
    };
    kind["properties"]["role"] = json!({ "const": role });
}

/// A request about a tool names it and says what it would be given.
fn tools() -> Value {
    json!({
        "if": {"properties": {"type": {"const": "permission_request"}, "metadata": {"properties": {"subtype": {"const": "can_use_tool"}}}}},
        "then": {"properties": {"metadata": {"required": ["tool_name", "input"]}}},
    })
}
