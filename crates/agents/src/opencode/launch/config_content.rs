//! Configuration of OpenCode through its environment: settings that override all files, permission rules and MCP
//! servers. The key order is preserved, because the last rule decides.

use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json, value::RawValue};
use switchboard_event::{ApprovalMode, McpServerConfig, SessionConfig, to_raw_json};

use super::{
    data,
    rules::{self, PermissionRule, RuleAction, RulesByPermission, all},
    settings,
};
use crate::{AgentLaunch, JsonView, LaunchRequest, UnsupportedOperation};

const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";

const PERMISSION: &str = "OPENCODE_PERMISSION";

/// Maximum depth of merged objects. Switchboard's additions are never nested deeper.
const DEEPEST: usize = 32;

/// Adds the configuration to a launch.
pub fn add(order: &LaunchRequest<'_>, launch: &mut AgentLaunch) -> Result<(), UnsupportedOperation> {
    let mut content = own(order, CONTENT, launch);
    // A refused call is reported to the model, which continues. Otherwise the turn would end.
    content.merge(&json!({ "experimental": { "continue_loop_on_deny": true } }));
    let servers = written(order.config, order.private, &mut launch.files)?;
    if !servers.is_empty() {
        content.merge(&json!({ "mcp": servers }));
    }
    let data = data(order.host).display().to_string();
    if !rules::is_free(order.config) {
        let looking = [rules::looking(&data), rules::forbidden(order.config, &data)].concat();
        content.merge(&AgentOverrides {
            agent: ExploreAgent { explore: PermissionOverride { permission: RulesByPermission(&looking) } },
        });
    }
    launch.env.push((CONTENT.to_owned(), to_raw_json(&content).get().to_owned()));
    permissions(order, &data, launch);
    Ok(())
}

/// Adds rules for all agents. A subagent inherits only the prohibitions of its session, so these rules make it ask.
fn permissions(order: &LaunchRequest<'_>, data: &str, launch: &mut AgentLaunch) {
    let rules = everywhere(order, data);
    if rules.is_empty() {
        return;
    }
    let mut permission = own(order, PERMISSION, launch);
    permission.merge(&RulesByPermission(&rules));
    launch.env.push((PERMISSION.to_owned(), to_raw_json(&permission).get().to_owned()));
}

fn everywhere(order: &LaunchRequest<'_>, data: &str) -> Vec<PermissionRule> {
    let mut rules = Vec::new();
    if !rules::is_free(order.config) {
        rules.extend(rules::asking(data));
        // A one-shot run cannot ask, so calls that need no approval must be allowed in advance.
        if order.one_shot && order.config.approval_mode == Some(ApprovalMode::AutoEdit) {
            rules.extend(all(["edit"], RuleAction::Allow));
        }
        if order.one_shot {
            rules.extend(rules::permitted(order.config));
        }
        rules.extend(trusted(order.config));
    }
    rules.extend(rules::forbidden(order.config, data));
    rules
}

/// Returns the content of a variable that the user has set.
fn own(order: &LaunchRequest<'_>, variable: &str, launch: &mut AgentLaunch) -> OrderedJson {
    let Some(text) = order.host.env_var(variable).filter(|text| !text.trim().is_empty()) else {
        return OrderedJson::new();
    };
    OrderedJson::read(&text).unwrap_or_else(|| {
        launch.weaker.push(format!("{variable} is not JSON, so it is left out"));
        OrderedJson::new()
    })
}

/// `json!` would sort the rules.
#[derive(Serialize)]
struct AgentOverrides<'a> {
    agent: ExploreAgent<'a>,
}

#[derive(Serialize)]
struct ExploreAgent<'a> {
    explore: PermissionOverride<'a>,
}

#[derive(Serialize)]
struct PermissionOverride<'a> {
    permission: RulesByPermission<'a>,
}

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
pub fn rules(config: &SessionConfig) -> Vec<PermissionRule> {
    let mut rules = Vec::new();
    for (name, server) in &config.mcp_servers {
        if let Some(included) = &server.include_tools {
            let action = if server.trust { RuleAction::Allow } else { RuleAction::Ask };
            rules.extend(all([format!("{}_*", plain(name))], RuleAction::Deny));
            rules.extend(all(included.iter().map(|tool| tool_name(name, tool)), action));
        }
        rules.extend(all(server.exclude_tools.iter().map(|tool| tool_name(name, tool)), RuleAction::Deny));
    }
    rules
}

/// Returns the rules for servers that need no approval.
pub fn trusted(config: &SessionConfig) -> Vec<PermissionRule> {
    let trusted = config.mcp_servers.iter().filter(|(_, server)| server.trust);
    all(trusted.map(|(name, _)| format!("{}_*", plain(name))), RuleAction::Allow)
}

fn tool_name(server: &str, tool: &str) -> String {
    format!("{}_{}", plain(server), plain(tool))
}

/// Returns a name as OpenCode writes it in tool names.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// An object with its key order, or any other value as written.
enum OrderedJson {
    Object(Vec<(String, OrderedJson)>),
    Leaf(Box<RawValue>),
}

impl OrderedJson {
    pub fn new() -> Self {
        Self::Object(Vec::new())
    }

    /// Parses an object with comments, as users write it.
    pub fn read(text: &str) -> Option<Self> {
        let bare = settings::bare(text);
        JsonView::parse(&bare).filter(|json| json.is_object()).map(|json| Self::grow(json, DEEPEST))
    }

    fn grow(json: JsonView<'_>, depth: usize) -> Self {
        if depth == 0 || !json.is_object() {
            return Self::Leaf(json.to_raw());
        }
        let fields = json.as_object();
        Self::Object(fields.iter().map(|(key, value)| (key.to_owned(), Self::grow(value, depth - 1))).collect())
    }

    /// Merges another object. Keys in both take the other's value and keep their position.
    pub fn merge(&mut self, other: &impl Serialize) {
        let other = to_raw_json(other);
        self.graft(Self::grow(JsonView::from_raw(&other), DEEPEST));
    }

    fn graft(&mut self, other: Self) {
        match (self, other) {
            (Self::Object(fields), Self::Object(others)) => {
                for (key, value) in others {
                    match fields.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, known)) => known.graft(value),
                        None => fields.push((key, value)),
                    }
                }
            }
            (tree, other) => *tree = other,
        }
    }
}

impl Serialize for OrderedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(fields) => serializer.collect_map(fields.iter().map(|(key, value)| (key, value))),
            Self::Leaf(raw) => raw.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {

    use serde_json::json;
    use switchboard_event::to_raw_json;

    use super::OrderedJson;

    #[test]
    fn what_is_very_deep_is_kept() {
        let deep = format!("{}7{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        let mut tree = OrderedJson::read(&deep).unwrap();
        tree.merge(&json!({ "b": 1 }));
        assert_eq!(to_raw_json(&tree).get(), format!("{},\"b\":1}}", deep.strip_suffix('}').unwrap()));
    }

    #[test]
    fn the_order_is_kept() {
        let mut tree = OrderedJson::read(r#"{"z":1,"a":{"c":[1],"b":2},/* why */}"#).unwrap();
        tree.merge(&json!({ "a": { "b": { "x": 1 }, "a": 3 }, "0": true }));
        assert_eq!(to_raw_json(&tree).get(), r#"{"z":1,"a":{"c":[1],"b":{"x":1},"a":3},"0":true}"#);
        assert!(OrderedJson::read("[]").is_none() && OrderedJson::read("no").is_none());
    }
}
