//! Reads OpenCode's own configuration files, JSON with comments, as session settings.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use switchboard_event::{ApprovalMode, McpServerConfig, SessionConfig};

use super::config;
use crate::{AgentConfigFile, HostAccess};

/// Returns the settings of each existing file in the order in which OpenCode reads them. Later files override earlier
/// ones.
pub fn found(host: &dyn HostAccess, cwd: &Path) -> Vec<AgentConfigFile> {
    let mut files = global(host);
    files.extend(host.env_var("OPENCODE_CONFIG").filter(|file| !file.is_empty()).map(PathBuf::from));
    files.extend(of_project(host, cwd));
    files.into_iter().filter_map(|file| host.read_file(&file).map(|text| read(file, &text))).collect()
}

fn global(host: &dyn HostAccess) -> Vec<PathBuf> {
    let folder = config(host);
    ["config.json", "opencode.json", "opencode.jsonc"].map(|name| folder.join(name)).to_vec()
}

/// Returns the files from the project's root directory down to the working directory, then the same in `.opencode`.
fn of_project(host: &dyn HostAccess, cwd: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for folder in cwd.ancestors() {
        folders.push(folder);
        if host.list_dir(folder).iter().any(|entry| entry.ends_with(".git")) {
            break;
        }
    }
    let names = ["opencode.json", "opencode.jsonc"];
    let plain = folders.iter().rev().flat_map(|folder| names.map(|name| folder.join(name)));
    let hidden = folders.iter().rev().flat_map(|folder| names.map(|name| folder.join(".opencode").join(name)));
    plain.chain(hidden).collect()
}

/// Returns the configuration that no workspace can change: the user's files, and the files or content in variables.
pub fn of_user(host: &dyn HostAccess) -> Vec<Value> {
    let named = host.env_var("OPENCODE_CONFIG").map(PathBuf::from);
    let files = global(host).into_iter().chain(named).filter_map(|file| host.read_file(&file));
    files.chain(host.env_var("OPENCODE_CONFIG_CONTENT")).filter_map(|text| parse(&text)).collect()
}

/// Returns a provider whose key is in the user's configuration.
pub fn provider_with_key(host: &dyn HostAccess) -> Option<String> {
    global(host).into_iter().filter_map(|file| parse(&host.read_file(&file)?)).find_map(|config| {
        let providers = config.get("provider")?.as_object()?;
        let (name, _) = providers.iter().find(|(_, provider)| provider.pointer("/options/apiKey").is_some())?;
        Some(name.clone())
    })
}

fn read(file: PathBuf, text: &str) -> AgentConfigFile {
    let mut found = AgentConfigFile { file, config: SessionConfig::default(), remarks: Vec::new() };
    let Some(Value::Object(settings)) = parse(text) else {
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

/// The rules that ask determine the approval mode; tools allowed or denied as a whole go into the lists.
fn permission(value: &Value, found: &mut AgentConfigFile) {
    let all = Map::from_iter([("*".to_owned(), value.clone())]);
    let rules = value.as_object().unwrap_or(&all);
    let action = |name: &str| rules.get(name).or_else(|| rules.get("*")).and_then(Value::as_str);
    // OpenCode allows everything without a rule.
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

/// Reads `"tools": {"bash": false}`, the format of older configurations.
fn switched_off(tools: &Map<String, Value>, config: &mut SessionConfig) {
    let off = tools.iter().filter(|(_, on)| **on == Value::Bool(false)).map(|(name, _)| name.clone());
    let off: Vec<_> = off.collect();
    if !off.is_empty() {
        config.blocked_tools.get_or_insert_default().extend(off);
    }
}

fn mcp(servers: &Map<String, Value>, found: &mut AgentConfigFile) {
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

/// Parses the text after removing comments and trailing commas.
pub fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(&bare(text)).ok()
}

/// Removes comments and trailing commas.
pub fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => {
                out.push(c);
                string(&mut rest, &mut out);
            }
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                rest.next();
                comment(&mut rest);
            }
            (']' | '}', _) => {
                out.truncate(without_comma(&out));
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

fn string(rest: &mut impl Iterator<Item = char>, out: &mut String) {
    while let Some(c) = rest.next() {
        out.push(c);
        match c {
            '"' => return,
            '\\' => out.extend(rest.next()),
            _ => {}
        }
    }
}

fn comment(rest: &mut impl Iterator<Item = char>) {
    let mut last = ' ';
    for c in rest {
        if (last, c) == ('*', '/') {
            return;
        }
        last = c;
    }
}

/// Returns the length of the text without a trailing comma.
fn without_comma(text: &str) -> usize {
    let trimmed = text.trim_end();
    trimmed.strip_suffix(',').map_or(text.len(), str::len)
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::parse;

    #[test]
    fn comments_and_trailing_commas_are_left_out() {
        let text = r#"{ // why
            "a": "// no comment, /* nor this */ \" ,}", /* one
            and another */ "b": [1, 2, ], "c": {"d": null,},
        }"#;
        let expected = json!({ "a": "// no comment, /* nor this */ \" ,}", "b": [1, 2], "c": { "d": null } });
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("\u{feff}{}"), Some(json!({})));
    }

    #[test]
    fn what_is_not_json_is_nothing() {
        for text in ["", "{", "{\"a\": \"", "{\"a\" /* ", "{,,}", "a"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
