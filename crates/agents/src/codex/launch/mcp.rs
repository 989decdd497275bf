//! MCP servers in Codex's configuration. Values that may be secrets go through the environment: the configuration only
//! names the variables.

use serde_json::{Map, Value, json};
use switchboard_event::{McpServerConfig, McpTransport};

use super::{rules::CodexSessionRules, tools::CodexToolSet};
use crate::{LaunchRequest, UnsupportedOperation};

/// Returns the session's servers, by name.
pub fn build_session_servers(
    order: &LaunchRequest<'_>,
    rules: &mut CodexSessionRules,
) -> Result<Map<String, Value>, UnsupportedOperation> {
    let mut servers = Map::new();
    if rules.blocked.mcp {
        return Ok(servers);
    }
    for (name, config) in &order.config.mcp_servers {
        let mut server = match (&config.command, &config.url) {
            (Some(command), _) => stdio_server(command, config, order, &mut rules.env),
            (None, Some(url)) => http_server(name, url, config, &mut rules.env)?,
            (None, None) => {
                return Err(UnsupportedOperation::new(format!("MCP server `{name}` has no command and no url")));
            }
        };
        let approval =
            if config.trust || rules.allowed.mcp || rules.allows_everything() { "approve" } else { "prompt" };
        server.insert("default_tools_approval_mode".to_owned(), json!(approval));
        if let Some(tools) = &config.include_tools {
            server.insert("enabled_tools".to_owned(), json!(tools));
        }
        let off = disabled_tools(name, &config.exclude_tools, &rules.blocked);
        if !off.is_empty() {
            server.insert("disabled_tools".to_owned(), json!(off));
        }
        servers.insert(name.clone(), Value::Object(server));
    }
    Ok(servers)
}

/// Returns the overrides for a server of the user that prevent blocked tools from running.
pub fn build_user_overrides(name: &str, excluded: &[String], blocked: &CodexToolSet) -> Map<String, Value> {
    let mut over = Map::new();
    if blocked.mcp {
        over.insert("enabled".to_owned(), json!(false));
        return over;
    }
    let off = disabled_tools(name, excluded, blocked);
    if off.len() > excluded.len() {
        over.insert("disabled_tools".to_owned(), json!(off));
    }
    over
}

fn disabled_tools(server: &str, excluded: &[String], blocked: &CodexToolSet) -> Vec<String> {
    let of_server = blocked.of_server.iter().filter(|(of, _)| of == server).map(|(_, tool)| tool);
    excluded.iter().chain(of_server).chain(&blocked.named).cloned().collect()
}

fn stdio_server(
    command: &str,
    config: &McpServerConfig,
    order: &LaunchRequest<'_>,
    env: &mut Vec<(String, String)>,
) -> Map<String, Value> {
    let mut names = Vec::new();
    let mut exports = String::new();
    for (name, value) in &config.env {
        if is_variable_free(name, value, order, env) {
            names.push(name.clone());
            env.push((name.clone(), value.clone()));
        } else {
            let other = fresh_variable(env);
            exports.push_str(&format!("export {name}=\"${other}\"; "));
            names.push(other.clone());
            env.push((other, value.clone()));
        }
    }
    let mut server = Map::new();
    if exports.is_empty() {
        server.insert("command".to_owned(), json!(command));
        server.insert("args".to_owned(), json!(config.args));
    } else {
        let head = ["-c".to_owned(), format!("{exports}exec \"$@\""), "sh".to_owned(), command.to_owned()];
        let args: Vec<_> = head.iter().chain(&config.args).collect();
        server.insert("command".to_owned(), json!("sh"));
        server.insert("args".to_owned(), json!(args));
    }
    if !names.is_empty() {
        server.insert("env_vars".to_owned(), json!(names));
    }
    server
}

/// Returns whether the variable can be set for Codex itself without affecting it or another server.
fn is_variable_free(name: &str, value: &str, order: &LaunchRequest<'_>, env: &[(String, String)]) -> bool {
    let own = ["CODEX_", "OPENAI_", "RUST_"].iter().any(|prefix| name.starts_with(prefix));
    let taken = env.iter().any(|(known, other)| known == name && other != value);
    let set = order.host.env_var(name).is_some_and(|other| other != value);
    !own && !taken && !set
}

/// Returns a variable name that is not in use.
fn fresh_variable(env: &[(String, String)]) -> String {
    format!("SB_MCP_{}", env.len())
}

fn http_server(
    name: &str,
    url: &str,
    config: &McpServerConfig,
    env: &mut Vec<(String, String)>,
) -> Result<Map<String, Value>, UnsupportedOperation> {
    if config.transport == Some(McpTransport::Sse) {
        let what = format!("MCP server `{name}` speaks server-sent events, which Codex does not");
        return Err(
            UnsupportedOperation::new(what).with_hint("use the server's streamable HTTP address, with type `http`")
        );
    }
    let mut headers = Map::new();
    for (header, value) in &config.headers {
        let variable = fresh_variable(env);
        headers.insert(header.clone(), json!(variable));
        env.push((variable, value.clone()));
    }
    let mut server = Map::new();
    server.insert("url".to_owned(), json!(url));
    if !headers.is_empty() {
        server.insert("env_http_headers".to_owned(), Value::Object(headers));
    }
    Ok(server)
}
