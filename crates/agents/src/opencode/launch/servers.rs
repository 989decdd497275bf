//! MCP servers of a session in OpenCode's configuration format.

use std::path::Path;

use serde_json::{Map, Value, json};
use switchboard_event::{McpServerConfig, SessionConfig};

use super::rules::{Action, Rule, all};
use crate::UnsupportedOperation;

/// Returns the configuration of the servers and adds the files with their secrets. OpenCode replaces a file reference
/// with the file's content, so no secret is in the environment, which every command of the agent can read.
pub fn written(
    config: &SessionConfig,
    private: &Path,
    files: &mut Vec<(std::path::PathBuf, String)>,
) -> Result<Map<String, Value>, UnsupportedOperation> {
    let mut servers = Map::new();
    for (name, server) in &config.mcp_servers {
        let mut hide = |value: &String| {
            let path = private.join(format!("opencode-secret-{}", files.len()));
            let place = format!("{{file:{}}}", path.display());
            files.push((path, value.clone()));
            Value::String(place)
        };
        servers.insert(name.clone(), server_of(name, server, &mut hide)?);
    }
    Ok(servers)
}

fn server_of(
    name: &str,
    server: &McpServerConfig,
    hide: &mut impl FnMut(&String) -> Value,
) -> Result<Value, UnsupportedOperation> {
    match (&server.command, &server.url) {
        (Some(command), None) => {
            let command: Vec<_> = std::iter::once(command).chain(&server.args).collect();
            let mut environment: Map<_, _> = server.env.iter().map(|(key, value)| (key.clone(), hide(value))).collect();
            // The server would inherit the password and could answer requests itself.
            environment.insert(super::PASSWORD.to_owned(), json!(""));
            Ok(json!({ "type": "local", "command": command, "environment": environment, "enabled": true }))
        }
        (None, Some(url)) => {
            let headers: Map<_, _> = server.headers.iter().map(|(key, value)| (key.clone(), hide(value))).collect();
            Ok(json!({ "type": "remote", "url": url, "headers": headers, "enabled": true }))
        }
        _ => Err(UnsupportedOperation::new(format!(
            "the MCP server `{name}` has neither or both of a command and an address"
        ))
        .with_hint("give it one of `command` and `url`")),
    }
}

/// Returns the rules for the servers' excluded tools.
pub fn rules(config: &SessionConfig) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (name, server) in &config.mcp_servers {
        if let Some(included) = &server.include_tools {
            let action = if server.trust { Action::Allow } else { Action::Ask };
            rules.extend(all([format!("{}_*", plain(name))], Action::Deny));
            rules.extend(all(included.iter().map(|tool| tool_name(name, tool)), action));
        }
        rules.extend(all(server.exclude_tools.iter().map(|tool| tool_name(name, tool)), Action::Deny));
    }
    rules
}

/// Returns the rules for servers that need no approval.
pub fn trusted(config: &SessionConfig) -> Vec<Rule> {
    let trusted = config.mcp_servers.iter().filter(|(_, server)| server.trust);
    all(trusted.map(|(name, _)| format!("{}_*", plain(name))), Action::Allow)
}

fn tool_name(server: &str, tool: &str) -> String {
    format!("{}_{}", plain(server), plain(tool))
}

/// Returns a name as OpenCode writes it in tool names.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}
