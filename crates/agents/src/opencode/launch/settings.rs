//! OpenCode's own configuration files, read as settings of ours.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use switchboard_event::{ApprovalMode, McpServerConfig, SessionConfig};

use super::{folders, jsonc};
use crate::{Found, Host};

/// The settings in each file that is there, in the order in which OpenCode reads them: later ones go first.
pub fn found(host: &dyn Host, cwd: &Path) -> Vec<Found> {
    let mut files = global(host);
    files.extend(host.env("OPENCODE_CONFIG").filter(|file| !file.is_empty()).map(PathBuf::from));
    files.extend(of_project(host, cwd));
    files.into_iter().filter_map(|file| host.read(&file).map(|text| read(file, &text))).collect()
}

fn global(host: &dyn Host) -> Vec<PathBuf> {
    let folder = folders::config(host);
    ["config.json", "opencode.json", "opencode.jsonc"].map(|name| folder.join(name)).to_vec()
}

/// From the folder of the project down to the one that is worked in; then the same in `.opencode`.
fn of_project(host: &dyn Host, cwd: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for folder in cwd.ancestors() {
        folders.push(folder);
        if host.list(folder).iter().any(|entry| entry.ends_with(".git")) {
            break;
        }
    }
    let names = ["opencode.json", "opencode.jsonc"];
    let plain = folders.iter().rev().flat_map(|folder| names.map(|name| folder.join(name)));
    let hidden = folders.iter().rev().flat_map(|folder| names.map(|name| folder.join(".opencode").join(name)));
    plain.chain(hidden).collect()
}

/// A provider of which the user's configuration has the key.
pub fn provider_with_key(host: &dyn Host) -> Option<String> {
    global(host).into_iter().filter_map(|file| jsonc::parse(&host.read(&file)?)).find_map(|config| {
        let providers = config.get("provider")?.as_object()?;
        let (name, _) = providers.iter().find(|(_, provider)| provider.pointer("/options/apiKey").is_some())?;
        Some(name.clone())
    })
}

fn read(file: PathBuf, text: &str) -> Found {
    let mut found = Found { file, config: SessionConfig::default(), remarks: Vec::new() };
    let Some(Value::Object(settings)) = jsonc::parse(text) else {
        found.remarks.push("not JSON, so nothing was read".to_owned());
        return found;
    };
    for (key, value) in &settings {
        match (key.as_str(), value) {
            ("model", Value::String(model)) => found.config.model = Some(model.clone()),
            ("permission", value) => permission(value, &mut found),
            ("tools", Value::Object(tools)) => switched_off(tools, &mut found.config),
            ("mcp", Value::Object(servers)) => mcp(servers, &mut found),
            ("$schema", _) => {}
            _ => found.remarks.push(format!("`{key}` has no setting here")),
        }
    }
    found
}

/// What is asked makes the mode; what is allowed or forbidden as a whole makes the lists.
fn permission(value: &Value, found: &mut Found) {
    let all = Map::from_iter([("*".to_owned(), value.clone())]);
    let rules = value.as_object().unwrap_or(&all);
    let action = |name: &str| rules.get(name).or_else(|| rules.get("*")).and_then(Value::as_str);
    // OpenCode allows what nothing is said about.
    let asked = |name| action(name) == Some("ask");
    found.config.approval_mode = Some(match (asked("bash"), asked("edit")) {
        (_, true) => ApprovalMode::Ask,
        (true, false) => ApprovalMode::AutoEdit,
        (false, false) => ApprovalMode::AutoAll,
    });
    for (name, value) in rules {
        match value.as_str() {
            Some("deny") => found.config.blocked_tools.get_or_insert_default().push(name.clone()),
            Some("allow") if name != "*" => found.config.allowed_tools.get_or_insert_default().push(name.clone()),
            Some(_) => {}
            None => found.remarks.push(format!("`permission.{name}` has patterns, which have no setting here")),
        }
    }
}

/// `"tools": {"bash": false}`, as older configurations have it.
fn switched_off(tools: &Map<String, Value>, config: &mut SessionConfig) {
    let off = tools.iter().filter(|(_, on)| **on == Value::Bool(false)).map(|(name, _)| name.clone());
    let off: Vec<_> = off.collect();
    if !off.is_empty() {
        config.blocked_tools.get_or_insert_default().extend(off);
    }
}

fn mcp(servers: &Map<String, Value>, found: &mut Found) {
    for (name, server) in servers {
        if server.get("enabled") == Some(&Value::Bool(false)) {
            found.remarks.push(format!("the MCP server `{name}` is switched off"));
        } else if let Some(server) = server_of(server) {
            found.config.mcp_servers.insert(name.clone(), server);
        } else {
            found.remarks.push(format!("the MCP server `{name}` has neither a command nor an address"));
        }
    }
}

fn server_of(server: &Value) -> Option<McpServerConfig> {
    let texts = |key: &str| {
        let map = server.get(key).and_then(Value::as_object);
        let texts =
            map.into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        texts.collect()
    };
    let url = server.get("url").and_then(Value::as_str).map(str::to_owned);
    let words = server.get("command").and_then(Value::as_array);
    let mut words = words.into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned));
    let command = words.next();
    (url.is_some() || command.is_some()).then(|| McpServerConfig {
        command,
        args: words.collect(),
        env: texts("environment"),
        url,
        headers: texts("headers"),
        ..McpServerConfig::default()
    })
}
