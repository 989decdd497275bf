//! Builds the JSON-RPC messages that this client sends to an ACP agent, including the MCP servers of `session/new`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use switchboard_event::{McpServerConfig, McpTransport, to_raw_json};

use crate::{AgentPrompt, JsonView, RequestAnswer};

/// The name of the client, also of its field in `_meta`.
const CLIENT_NAME: &str = "switchboard";

pub fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// A response to the agent. The id is the request's, verbatim.
#[derive(Serialize)]
struct RpcResponse<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

pub fn result_response(id: &RawValue, result: &Value) -> Box<RawValue> {
    to_raw_json(&RpcResponse { jsonrpc: "2.0", id, result: Some(result), error: None })
}

pub fn error_response(id: &RawValue, code: i32, message: &str) -> Box<RawValue> {
    let error = Some(json!({ "code": code, "message": message }));
    to_raw_json(&RpcResponse { jsonrpc: "2.0", id, result: None, error })
}

/// Returns the parameters of `initialize`. Files and terminals of the host are not offered: the agent has its own,
/// inside its sandbox.
pub fn initialize() -> Value {
    json!({
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": { "readTextFile": false, "writeTextFile": false },
            "terminal": false,
            "session": { "configOptions": { "boolean": {} }, "notices": {}, "compaction": {} },
            "elicitation": { "form": {} },
        },
        "clientInfo": { "name": CLIENT_NAME, "title": "Switchboard", "version": env!("CARGO_PKG_VERSION") },
    })
}

pub fn prompt_blocks(prompt: &AgentPrompt) -> Vec<Value> {
    let text = (!prompt.text.is_empty()).then(|| json!({ "type": "text", "text": prompt.text }));
    let image =
        |image: &crate::PromptImage| json!({ "type": "image", "mimeType": image.media_type, "data": image.data });
    text.into_iter().chain(prompt.images.iter().map(image)).collect()
}

/// Answers a permission request with one of its options. The protocol has no field for the reason, so it goes into
/// `_meta`, which no known agent reads.
pub fn permission_selected(option: &str, answer: &RequestAnswer) -> Value {
    let mut outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
    if let Some(message) = answer.message.as_deref().filter(|message| !message.is_empty()) {
        outcome["_meta"] = json!({ CLIENT_NAME: { "message": message } });
    }
    outcome
}

/// Answers a permission request as cancelled, because the turn ends.
pub fn permission_cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

/// Returns the user's message in a permission response of this client.
pub fn answer_message(result: JsonView<'_>) -> Option<String> {
    result.as_object().get_object("_meta").get_object(CLIENT_NAME).get_non_empty("message")
}

/// Returns the error for the first server whose transport the agent does not support.
pub fn unsupported_transport_error(
    servers: &BTreeMap<String, McpServerConfig>,
    http: bool,
    sse: bool,
) -> Option<String> {
    servers.iter().find_map(|(name, server)| match transport(server) {
        McpTransport::Http if !http => {
            Some(format!("MCP server {name} uses the HTTP transport, which the agent does not support"))
        }
        McpTransport::Sse if !sse => {
            Some(format!("MCP server {name} uses the SSE transport, which the agent does not support"))
        }
        _ => None,
    })
}

/// Returns the servers in the agent's format. For an agent that expands variables, every `$` is escaped.
pub fn mcp_servers_json(servers: &BTreeMap<String, McpServerConfig>, escape_variables: bool) -> Vec<Value> {
    let escape = |text: &String| if escape_variables { text.replace('$', "\\$") } else { text.clone() };
    let name_value_list = |map: &BTreeMap<String, String>| -> Vec<Value> {
        map.iter().map(|(name, text)| json!({ "name": name, "value": escape(text) })).collect()
    };
    let entry = |(name, server): (&String, &McpServerConfig)| match transport(server) {
        McpTransport::Stdio => {
            json!({ "name": name, "command": server.command, "args": server.args, "env": name_value_list(&server.env) })
        }
        McpTransport::Http => {
            json!({ "type": "http", "name": name, "url": server.url, "headers": name_value_list(&server.headers) })
        }
        McpTransport::Sse => {
            json!({ "type": "sse", "name": name, "url": server.url, "headers": name_value_list(&server.headers) })
        }
    };
    servers.iter().map(entry).collect()
}

/// Returns the servers with likely secrets masked.
pub fn masked_mcp_servers_json(servers: &BTreeMap<String, McpServerConfig>) -> Vec<Value> {
    let config = switchboard_event::SessionConfig { mcp_servers: servers.clone(), ..Default::default() };
    mcp_servers_json(&config.with_masked_secrets().mcp_servers, false)
}

/// Returns the transport of a server. A URL without an explicit transport uses HTTP.
fn transport(server: &McpServerConfig) -> McpTransport {
    match server.transport {
        Some(McpTransport::Stdio) | None if server.command.is_none() => McpTransport::Http,
        Some(transport) => transport,
        None => McpTransport::Stdio,
    }
}
