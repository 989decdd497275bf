//! OpenCode's permission rules: the settings of a session in its words. Of all rules that fit, the last decides.
//!
//! A rule that is given to a session stays with it, also when its user opens it without Switchboard. So a session
//! gets only rules that ask or forbid; what is allowed is answered when it is asked for.

use serde::{Serialize, ser::SerializeMap as _};
use switchboard_event::{ApprovalMode, SessionConfig};

use super::servers;
use crate::{Json, Object};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It may be made.
    Allow,
    /// Somebody must be asked.
    Ask,
    /// It may not be made.
    Deny,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// What it is about: mostly a tool's name. `*` and `?` stand for other letters.
    pub permission: String,
    /// Which calls: a command, a path and so on.
    pub pattern: String,
    /// What becomes of them.
    pub action: Action,
}

impl Rule {
    fn new(permission: &str, pattern: &str, action: Action) -> Self {
        Self { permission: permission.to_owned(), pattern: pattern.to_owned(), action }
    }
}

/// All calls of some tools.
pub fn all(tools: impl IntoIterator<Item = impl AsRef<str>>, action: Action) -> Vec<Rule> {
    tools.into_iter().map(|tool| Rule::new(tool.as_ref(), "*", action)).collect()
}

/// Tools that only look, plan or ask.
const HARMLESS: [&str; 11] =
    ["read", "glob", "grep", "list", "lsp", "skill", "todowrite", "todoread", "question", "plan_enter", "plan_exit"];

/// Where OpenCode puts output that is too long for the model, and where the model reads it.
fn long_output(data: &str) -> Rule {
    Rule::new("external_directory", &format!("{data}/tool-output/*"), Action::Allow)
}

/// Everything is asked but looking, as OpenCode has it: secrets and other folders are asked, too.
pub fn asking(data: &str) -> Vec<Rule> {
    let secrets = [("*.env", Action::Ask), ("*.env.*", Action::Ask), ("*.env.example", Action::Allow)];
    let mut rules = all(["*"], Action::Ask);
    rules.extend(all(HARMLESS, Action::Allow));
    rules.extend(secrets.map(|(pattern, action)| Rule::new("read", pattern, action)));
    rules.push(long_output(data));
    rules
}

/// The subagent that only looks keeps its own rules, but for what it does outside of OpenCode.
pub fn looking(data: &str) -> Vec<Rule> {
    let mut rules = all(["*"], Action::Deny);
    rules.extend(all(["grep", "glob", "list", "read"], Action::Allow));
    rules.extend(all(["bash", "webfetch", "websearch", "external_directory"], Action::Ask));
    rules.push(long_output(data));
    rules
}

/// What never runs, by the settings.
pub fn forbidden(config: &SessionConfig, data: &str) -> Vec<Rule> {
    let mut rules = servers::rules(config);
    for entry in config.blocked_tools.iter().flatten() {
        let tools = tools_of(entry);
        if tools.contains(&ANY_SERVER.to_owned()) {
            // Some permissions that are no tools look like tools of a server.
            rules.extend(all([ANY_SERVER], Action::Deny));
            rules.extend(all(["external_directory", "doom_loop"], Action::Ask));
            rules.extend(all(["plan_enter", "plan_exit"], Action::Allow));
            rules.push(long_output(data));
        } else {
            rules.extend(all(tools, Action::Deny));
        }
    }
    rules
}

/// What needs no question, by the settings.
pub fn permitted(config: &SessionConfig) -> Vec<Rule> {
    all(config.allowed_tools.iter().flatten().flat_map(|entry| tools_of(entry)), Action::Allow)
}

/// The rules of a session. `restrictions` are those of the mode it works in.
pub fn of_session(config: &SessionConfig, data: &str, restrictions: &[Rule]) -> Vec<Rule> {
    let mut rules = asking(data);
    rules.extend(servers::trusted(config));
    rules.extend_from_slice(restrictions);
    rules.extend(forbidden(config, data));
    rules
}

/// Nothing is asked.
pub fn is_free(config: &SessionConfig) -> bool {
    config.approval_mode == Some(ApprovalMode::AutoAll)
}

/// What an agent of OpenCode may not do, from the list of all of them: our rules come after its own, and must not
/// allow what those forbid. Exceptions to what it forbids are kept, too.
pub fn restrictions(agents: Json<'_>, name: Option<&str>) -> Vec<Rule> {
    let list: Vec<_> = agents.array().into_iter().map(Json::object).collect();
    let found = match name {
        Some(name) => list.iter().find(|agent| agent.is("name", name)),
        // The first is what works where nothing else is said.
        None => list.iter().find(|agent| !agent.is("mode", "subagent") && !agent.is_true("hidden")),
    };
    let mut kept: Vec<Rule> = Vec::new();
    for rule in found.map(|agent| agent.array("permission")).unwrap_or_default() {
        let Some(rule) = rule_of(&rule.object()) else { continue };
        if rule.action == Action::Deny || kept.iter().any(|earlier| earlier.permission == rule.permission) {
            kept.push(rule);
        }
    }
    kept
}

fn rule_of(fields: &Object<'_>) -> Option<Rule> {
    let action = match fields.str("action")?.as_ref() {
        "allow" => Action::Allow,
        "deny" => Action::Deny,
        _ => Action::Ask,
    };
    Some(Rule { permission: fields.filled("permission")?, pattern: fields.filled("pattern")?, action })
}

/// Tools of MCP servers have the server's name before a `_`.
const ANY_SERVER: &str = "*_*";

/// The tools that an entry of `allowedTools` or `blockedTools` means. All that change files are one to OpenCode.
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

/// Rules as the configuration has them: `{"tool": {"pattern": "action"}}`. There, the user's own rules may come after
/// ours, because a name that both have stays where the user put it; so each name is written as nobody would.
pub struct Written<'a>(pub &'a [Rule]);

impl Serialize for Written<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut names: Vec<&str> = Vec::new();
        for rule in self.0 {
            names.retain(|name| *name != rule.permission);
            names.push(&rule.permission);
        }
        let mut map = serializer.serialize_map(None)?;
        for name in names {
            let rules: Vec<_> = self.0.iter().filter(|rule| rule.permission == name).collect();
            map.serialize_entry(&disguised(name), &Patterns(&rules))?;
        }
        map.end()
    }
}

/// The patterns of one name, in their order.
struct Patterns<'a>(&'a [&'a Rule]);

impl Serialize for Patterns<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut patterns: Vec<(&str, Action)> = Vec::new();
        for rule in self.0 {
            patterns.retain(|(pattern, _)| *pattern != rule.pattern);
            patterns.push((&rule.pattern, rule.action));
        }
        serializer.collect_map(patterns)
    }
}

/// The same name for OpenCode, and another for JSON.
fn disguised(name: &str) -> String {
    if name.ends_with('*') {
        return format!("{name}*");
    }
    let mut letters = name.chars();
    letters.next_back();
    format!("{}?", letters.as_str())
}
