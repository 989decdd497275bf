//! MCP servers in the format of `session/new`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_event::{McpServerConfig, McpTransport};

/// Returns an error for a server whose transport the agent does not support.
pub fn unreachable(servers: &BTreeMap<String, McpServerConfig>, http: bool, sse: bool) -> Option<String> {
    servers.iter().find_map(|(name, server)| match transport(server) {
        McpTransport::Http if !http => Some(format!("the agent cannot reach the MCP server {name} over HTTP")),
        McpTransport::Sse if !sse => Some(format!("the agent cannot reach the MCP server {name} over SSE")),
        _ => None,
    })
}

/// Returns the servers in the agent's format. For an agent that expands variables, every `$` is escaped.
pub fn list(servers: &BTreeMap<String, McpServerConfig>, expands: bool) -> Vec<Value> {
    let value = |text: &String| if expands { text.replace('$', "\\$") } else { text.clone() };
    let pairs = |map: &BTreeMap<String, String>| -> Vec<Value> {
        map.iter().map(|(name, text)| json!({ "name": name, "value": value(text) })).collect()
    };
    let entry = |(name, server): (&String, &McpServerConfig)| match transport(server) {
        McpTransport::Stdio => {
            json!({ "name": name, "command": server.command, "args": server.args, "env": pairs(&server.env) })
        }
        McpTransport::Http => {
            json!({ "type": "http", "name": name, "url": server.url, "headers": pairs(&server.headers) })
        }
        McpTransport::Sse => {
            json!({ "type": "sse", "name": name, "url": server.url, "headers": pairs(&server.headers) })
        }
    };
    servers.iter().map(entry).collect()
}

/// Returns the servers with likely secrets masked.
pub fn masked(servers: &BTreeMap<String, McpServerConfig>) -> Vec<Value> {
    let config = switchboard_event::SessionConfig { mcp_servers: servers.clone(), ..Default::default() };
    list(&config.with_masked_secrets().mcp_servers, false)
}

/// Returns the transport of a server. A URL without an explicit transport uses HTTP.
fn transport(server: &McpServerConfig) -> McpTransport {
    match server.transport {
        Some(McpTransport::Stdio) | None if server.command.is_none() => McpTransport::Http,
        Some(transport) => transport,
        None => McpTransport::Stdio,
    }
}
