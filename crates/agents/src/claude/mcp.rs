//! The session's MCP servers for Claude Code: a file that only the agent reads, since it may contain secrets, and rules
//! for their tools.

use serde_json::{Map, Value, json};
use switchboard_event::{McpServerConfig, McpTransport, SessionConfig};

use crate::{LaunchRequest, UnsupportedOperation};

/// Checks that every server has a command or a URL.
pub fn check_servers(config: &SessionConfig) -> Result<(), UnsupportedOperation> {
    let nothing = config.mcp_servers.iter().find(|(_, server)| server.command.is_none() && server.url.is_none());
    match nothing {
        Some((name, _)) => {
            Err(UnsupportedOperation::new(format!("the MCP server `{name}` has neither a command nor an address"))
                .with_hint("give it `command` or `url`"))
        }
        None => Ok(()),
    }
}

/// The file for `--mcp-config`: these servers in addition to the user's own.
pub fn mcp_config_file(order: &LaunchRequest<'_>) -> Option<Value> {
    let servers: Map<_, _> =
        order.config.mcp_servers.iter().map(|(name, of)| (name.clone(), server_json(of))).collect();
    (!servers.is_empty()).then(|| json!({ "mcpServers": servers }))
}

fn server_json(server: &McpServerConfig) -> Value {
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

/// Rules that allow all tools of the session's servers. Claude Code 2.1.197 does not accept `mcp__*` here: the user's
/// own servers are left to the approval channel.
pub fn allow_rules(config: &SessionConfig) -> Vec<String> {
    config.mcp_servers.keys().map(|name| format!("mcp__{}", sanitize_tool_name(name))).collect()
}

/// Rules that allow the tools of trusted servers.
pub fn trusted_tool_rules(config: &SessionConfig) -> Vec<String> {
    let trusted = config.mcp_servers.iter().filter(|(_, server)| server.trust);
    trusted.flat_map(|(name, server)| tool_rules(name, server.include_tools.as_deref())).collect()
}

/// Rules that forbid excluded tools.
pub fn excluded_tool_rules(config: &SessionConfig) -> Vec<String> {
    let servers = config.mcp_servers.iter().filter(|(_, server)| !server.exclude_tools.is_empty());
    servers.flat_map(|(name, server)| tool_rules(name, Some(&server.exclude_tools))).collect()
}

fn tool_rules(server: &str, tools: Option<&[String]>) -> Vec<String> {
    let server = sanitize_tool_name(server);
    match tools {
        Some(tools) => tools.iter().map(|tool| format!("mcp__{server}__{}", sanitize_tool_name(tool))).collect(),
        None => vec![format!("mcp__{server}")],
    }
}

/// Hooks that block all tools except the included ones: there is no rule for "all but these", and only the server knows
/// its other tools.
pub fn include_list_hooks(config: &SessionConfig) -> Vec<Value> {
    let limited = config.mcp_servers.iter().filter_map(|(name, server)| Some((name, server.include_tools.as_ref()?)));
    limited.map(|(name, tools)| include_list_hook(&sanitize_tool_name(name), tools)).collect()
}

fn include_list_hook(server: &str, tools: &[String]) -> Value {
    let tools: Vec<_> = tools.iter().map(|tool| sanitize_tool_name(tool)).collect();
    let others = if tools.is_empty() { String::new() } else { format!("(?!(?:{})$)", tools.join("|")) };
    let command = "echo 'this tool is not among those that the session may use' >&2; exit 2";
    json!({ "matcher": format!("^mcp__{server}__{others}"), "hooks": [{ "type": "command", "command": command }] })
}

/// Converts a name to its form in tool names.
fn sanitize_tool_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}
