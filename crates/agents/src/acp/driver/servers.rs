//! MCP servers, as `session/new` has them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_event::{McpServerConfig, McpTransport};

/// What the servers need of the agent that it does not have.
pub fn unreachable(servers: &BTreeMap<String, McpServerConfig>, http: bool, sse: bool) -> Option<String> {
    servers.iter().find_map(|(name, server)| match transport(server) {
        McpTransport::Http if !http => Some(format!("the agent cannot reach the MCP server {name} over HTTP")),
        McpTransport::Sse if !sse => Some(format!("the agent cannot reach the MCP server {name} over SSE")),
        _ => None,
    })
}

/// The servers as the agent takes them. An agent that expands variables gets every `$` marked as an ordinary one.
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

/// The same without what is likely to be a secret.
pub fn masked(servers: &BTreeMap<String, McpServerConfig>) -> Vec<Value> {
    let config = switchboard_event::SessionConfig { mcp_servers: servers.clone(), ..Default::default() };
    list(&config.masked().mcp_servers, false)
}

/// How a server is spoken with: an address without more words is reached over HTTP.
fn transport(server: &McpServerConfig) -> McpTransport {
    match server.transport {
        Some(McpTransport::Stdio) | None if server.command.is_none() => McpTransport::Http,
        Some(transport) => transport,
        None => McpTransport::Stdio,
    }
}
