//! The schema of one message, made from the types that write it.

use serde_json::{Value, json};

use super::wire::Message;
use crate::schema::generator;

/// The schema of one message.
pub fn schema() -> Value {
    let schema = generator().into_root_schema_for::<Message<'_>>();
    let mut schema = schema.to_value();
    schema["title"] = json!("Unified message");
    schema["allOf"] = json!([role("user", &USER), role("assistant", &ASSISTANT), role("tool", &TOOL), tools()]);
    schema
}

const USER: [&str; 3] = ["user_message", "permission_response", "interrupt"];
const ASSISTANT: [&str; 2] = ["assistant", "stream_event"];
const TOOL: [&str; 2] = ["tool_progress", "tool_use_summary"];

/// Messages of these types, and only these, have this role.
fn role(role: &str, types: &[&str]) -> Value {
    json!({
        "if": {"properties": {"type": {"enum": types}}},
        "then": {"properties": {"role": {"const": role}}},
        "else": {"properties": {"role": {"not": {"const": role}}}},
    })
}

/// A request about a tool names it and says what it would be given.
fn tools() -> Value {
    json!({
        "if": {"properties": {"type": {"const": "permission_request"}, "metadata": {"properties": {"subtype": {"const": "can_use_tool"}}}}},
        "then": {"properties": {"metadata": {"required": ["tool_name", "input"]}}},
    })
}
