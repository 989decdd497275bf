//! The session's MCP servers for Claude Code: a file that only the agent reads, since it may have secrets, and rules
//! for who may use which tools.

use serde_json::{Map, Value, json};
use switchboard_event::{McpServerConfig, McpTransport, SessionConfig};

use crate::{Order, Unsupported};

/// A server must be something to start or to reach.
pub fn check(config: &SessionConfig) -> Result<(), Unsupported> {
    let nothing = config.mcp_servers.iter().find(|(_, server)| server.command.is_none() && server.url.is_none());
    match nothing {
        Some((name, _)) => {
            Err(Unsupported::new(format!("the MCP server `{name}` has neither a command nor an address"))
                .with_hint("give it `command` or `url`"))
        }
        None => Ok(()),
    }
}

/// The file for `--mcp-config`: these servers beside the user's own.
pub fn file(order: &Order<'_>) -> Option<Value> {
    let servers: Map<_, _> = order.config.mcp_servers.iter().map(|(name, of)| (name.clone(), server(of))).collect();
    (!servers.is_empty()).then(|| json!({ "mcpServers": servers }))
}

fn server(server: &McpServerConfig) -> Value {
    match (&server.command, &server.url) {
        (Some(command), _) => {
            json!({ "type": "stdio", "command": command, "args": server.args, "env": server.env })
        }
        (None, url) => {
            let transport = if server.transport == Some(McpTransport::Sse) { "sse" } else { "http" };
            json!({ "type": transport, "url": url, "headers": server.headers })
        }
    }
}

/// Rules that allow all tools of all servers of the session. Claude Code 2.1.197 takes no `mcp__*` here: the user's
/// own servers are left to the approval channel.
pub fn allowed(config: &SessionConfig) -> Vec<String> {
    config.mcp_servers.keys().map(|name| format!("mcp__{}", plain(name))).collect()
}

/// Rules that allow the tools of servers that are trusted.
pub fn trusted(config: &SessionConfig) -> Vec<String> {
    let trusted = config.mcp_servers.iter().filter(|(_, server)| server.trust);
    trusted.flat_map(|(name, server)| tools(name, server.include_tools.as_deref())).collect()
}

/// Rules that forbid tools.
pub fn excluded(config: &SessionConfig) -> Vec<String> {
    let servers = config.mcp_servers.iter().filter(|(_, server)| !server.exclude_tools.is_empty());
    servers.flat_map(|(name, server)| tools(name, Some(&server.exclude_tools))).collect()
}

fn tools(server: &str, tools: Option<&[String]>) -> Vec<String> {
    let server = plain(server);
    match tools {
        Some(tools) => tools.iter().map(|tool| format!("mcp__{server}__{}", plain(tool))).collect(),
        None => vec![format!("mcp__{server}")],
    }
}

/// Hooks that stop all tools but the included ones: there is no rule for "all but these", and only the server knows
/// what else it has.
pub fn hooks(config: &SessionConfig) -> Vec<Value> {
    let limited = config.mcp_servers.iter().filter_map(|(name, server)| Some((name, server.include_tools.as_ref()?)));
    limited.map(|(name, tools)| hook(&plain(name), tools)).collect()
}

fn hook(server: &str, tools: &[String]) -> Value {
    let tools: Vec<_> = tools.iter().map(|tool| plain(tool)).collect();
    let others = if tools.is_empty() { String::new() } else { format!("(?!(?:{})$)", tools.join("|")) };
    let command = "echo 'this tool is not among those that the session may use' >&2; exit 2";
    json!({ "matcher": format!("^mcp__{server}__{others}"), "hooks": [{ "type": "command", "command": command }] })
}

/// A name as it is in the names of tools.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}
