//! OpenCode's permission rules for the settings of a session. The last matching rule decides.
//!
//! A session keeps its rules, even when its user opens it without Switchboard. A session therefore gets only rules that
//! ask or deny; allowed calls are answered when OpenCode asks.

use serde::{Serialize, ser::SerializeMap as _};
use switchboard_event::{ApprovalMode, SessionConfig};

use super::config_content;
use crate::{JsonObject, JsonView};

/// Effect of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleAction {
    /// The call is allowed.
    Allow,
    /// The call needs approval.
    Ask,
    /// The call is refused.
    Deny,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PermissionRule {
    /// The subject, usually a tool name. `*` and `?` are wildcards.
    pub permission: String,
    /// The matching calls: a command, a path and so on.
    pub pattern: String,
    pub action: RuleAction,
}

impl PermissionRule {
    fn new(permission: &str, pattern: &str, action: RuleAction) -> Self {
        Self { permission: permission.to_owned(), pattern: pattern.to_owned(), action }
    }
}

/// Returns rules for all calls of some tools.
pub fn all(tools: impl IntoIterator<Item = impl AsRef<str>>, action: RuleAction) -> Vec<PermissionRule> {
    tools.into_iter().map(|tool| PermissionRule::new(tool.as_ref(), "*", action)).collect()
}

/// Tools that only read, plan or ask.
const HARMLESS: [&str; 11] =
    ["read", "glob", "grep", "list", "lsp", "skill", "todowrite", "todoread", "question", "plan_enter", "plan_exit"];

/// Allows the directory where OpenCode stores output that is too long for the model, and where the model reads it.
fn long_output(data: &str) -> PermissionRule {
    PermissionRule::new("external_directory", &format!("{data}/tool-output/*"), RuleAction::Allow)
}

/// Returns rules that ask about everything except reading, as OpenCode defines it: secrets and other directories need
/// approval too.
pub fn asking(data: &str) -> Vec<PermissionRule> {
    let secrets = [("*.env", RuleAction::Ask), ("*.env.*", RuleAction::Ask), ("*.env.example", RuleAction::Allow)];
    let mut rules = all(["*"], RuleAction::Ask);
    rules.extend(all(HARMLESS, RuleAction::Allow));
    rules.extend(secrets.map(|(pattern, action)| PermissionRule::new("read", pattern, action)));
    rules.push(long_output(data));
    rules
}

/// Returns rules for the `explore` subagent, which keeps its own rules except for calls that reach outside of OpenCode.
pub fn looking(data: &str) -> Vec<PermissionRule> {
    let mut rules = all(["*"], RuleAction::Deny);
    rules.extend(all(["grep", "glob", "list", "read"], RuleAction::Allow));
    rules.extend(all(["bash", "webfetch", "websearch", "external_directory"], RuleAction::Ask));
    rules.push(long_output(data));
    rules
}

/// Returns the prohibitions of the settings.
pub fn forbidden(config: &SessionConfig, data: &str) -> Vec<PermissionRule> {
    let mut rules = config_content::rules(config);
    for entry in config.blocked_tools.iter().flatten() {
        let tools = tools_of(entry);
        if tools.contains(&ANY_SERVER.to_owned()) {
            // Some permissions that are not tools match the pattern of MCP tools.
            rules.extend(all([ANY_SERVER], RuleAction::Deny));
            rules.extend(all(["external_directory", "doom_loop"], RuleAction::Ask));
            rules.extend(all(["plan_enter", "plan_exit"], RuleAction::Allow));
            rules.push(long_output(data));
        } else {
            rules.extend(all(tools, RuleAction::Deny));
        }
    }
    rules
}

/// Returns the permissions of the settings.
pub fn permitted(config: &SessionConfig) -> Vec<PermissionRule> {
    all(config.allowed_tools.iter().flatten().flat_map(|entry| tools_of(entry)), RuleAction::Allow)
}

/// Returns the rules of a session. `restrictions` are those of its mode.
pub fn of_session(config: &SessionConfig, data: &str, restrictions: &[PermissionRule]) -> Vec<PermissionRule> {
    let mut rules = asking(data);
    rules.extend(config_content::trusted(config));
    rules.extend_from_slice(restrictions);
    rules.extend(forbidden(config, data));
    rules
}

pub fn is_free(config: &SessionConfig) -> bool {
    config.approval_mode == Some(ApprovalMode::AutoAll)
}

/// Returns the prohibitions of one of OpenCode's agents. The session's rules come after the agent's own and must not
/// allow what those deny. Exceptions from a prohibition are kept too.
pub fn restrictions(agents: JsonView<'_>, name: Option<&str>) -> Vec<PermissionRule> {
    let list: Vec<_> = agents.as_array().into_iter().map(JsonView::as_object).collect();
    let found = match name {
        Some(name) => list.iter().find(|agent| agent.str_equals("name", name)),
        // The first agent is OpenCode's default.
        None => list.iter().find(|agent| !agent.str_equals("mode", "subagent") && !agent.is_true("hidden")),
    };
    let mut kept: Vec<PermissionRule> = Vec::new();
    for rule in found.map(|agent| agent.get_array("permission")).unwrap_or_default() {
        let Some(rule) = rule_of(&rule.as_object()) else { continue };
        if rule.action == RuleAction::Deny || kept.iter().any(|earlier| earlier.permission == rule.permission) {
            kept.push(rule);
        }
    }
    kept
}

fn rule_of(fields: &JsonObject<'_>) -> Option<PermissionRule> {
    let action = match fields.get_str("action")?.as_ref() {
        "allow" => RuleAction::Allow,
        "deny" => RuleAction::Deny,
        _ => RuleAction::Ask,
    };
    Some(PermissionRule {
        permission: fields.get_non_empty("permission")?,
        pattern: fields.get_non_empty("pattern")?,
        action,
    })
}

/// Pattern of MCP tools, whose names begin with the server's name and `_`.
const ANY_SERVER: &str = "*_*";

/// Returns the tools that an entry of `allowedTools` or `blockedTools` means. OpenCode has one permission for all tools
/// that change files.
fn tools_of(entry: &str) -> Vec<String> {
    let tools: &[&str] = match entry.to_ascii_lowercase().as_str() {
        "command" | "bash" | "shell" => &["bash"],
        "edit" | "write" | "multiedit" | "patch" | "apply_patch" => &["edit"],
        "read" => &["read", "glob", "grep", "list", "lsp"],
        "web" => &["webfetch", "websearch", "codesearch"],
        "mcp" => &[ANY_SERVER],
        _ => return vec![entry.to_owned()],
    };
    tools.iter().map(|tool| (*tool).to_owned()).collect()
}

/// Rules in the format of the configuration: `{"tool": {"pattern": "action"}}`. A key that both the user and
/// Switchboard define keeps the user's position, so the user's rules might come later and win. Each name is therefore
/// written in a form that users do not write.
pub struct RulesByPermission<'a>(pub &'a [PermissionRule]);

impl Serialize for RulesByPermission<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut names: Vec<&str> = Vec::new();
        for rule in self.0 {
            names.retain(|name| *name != rule.permission);
            names.push(&rule.permission);
        }
        let mut map = serializer.serialize_map(None)?;
        for name in names {
            let rules: Vec<_> = self.0.iter().filter(|rule| rule.permission == name).collect();
            map.serialize_entry(&disguised(name), &ActionsByPattern(&rules))?;
        }
        map.end()
    }
}

/// The patterns of one name, in their order.
struct ActionsByPattern<'a>(&'a [&'a PermissionRule]);

impl Serialize for ActionsByPattern<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut patterns: Vec<(&str, RuleAction)> = Vec::new();
        for rule in self.0 {
            patterns.retain(|(pattern, _)| *pattern != rule.pattern);
            patterns.push((&rule.pattern, rule.action));
        }
        serializer.collect_map(patterns)
    }
}

/// Returns another spelling of a name: equivalent for OpenCode, but a different JSON key.
fn disguised(name: &str) -> String {
    if name.ends_with('*') {
        return format!("{name}*");
    }
    let mut letters = name.chars();
    letters.next_back();
    format!("{}?", letters.as_str())
}
