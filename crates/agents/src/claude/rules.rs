//! The session's settings as Claude Code's own rules: its permission mode, the tool lists, and a settings file for
//! everything without a flag. The rest is decided on the approval channel.

use serde_json::{Map, Value, json};
use switchboard_event::ApprovalMode;

use super::{launch, mcp, modes};
use crate::LaunchRequest;

/// A group of tools, as named in `allowedTools` and `blockedTools`. MCP servers are handled separately.
struct ToolGroup {
    name: &'static str,
    allowed: &'static str,
    /// Includes tools that only some versions have: unknown names are not an error.
    blocked: &'static str,
}

const TOOL_GROUPS: &[ToolGroup] = &[
    ToolGroup { name: "command", allowed: "Bash", blocked: "Bash,PowerShell,Monitor,REPL" },
    ToolGroup { name: "edit", allowed: "Edit,Write,NotebookEdit", blocked: "Edit,Write,NotebookEdit" },
    ToolGroup { name: "read", allowed: "Read,Glob,Grep", blocked: "Read,Glob,Grep" },
    ToolGroup { name: "web", allowed: "WebFetch,WebSearch", blocked: "WebFetch,WebSearch" },
];

/// Tools that Claude Code 2.1.197 runs without asking although they have side effects: git worktrees, and jobs that are
/// written to disk.
const UNPROMPTED_TOOLS: &[&str] = &["EnterWorktree", "ExitWorktree", "CronCreate"];

/// The built-in tools, for sessions that may use all of them and cannot ask.
const BUILT_IN_TOOLS: &str = "Bash,Edit,Write,NotebookEdit,Read,Glob,Grep,WebFetch,WebSearch,Skill,Workflow,Agent";

/// Changes of files in the working directory by any tool. Unlike the mode `acceptEdits`, this does not allow `rm`, `mv`
/// and the like.
const EDIT_RULE: &str = "Edit(./**)";

pub fn approval_mode(order: &LaunchRequest<'_>) -> ApprovalMode {
    order.config.approval_mode.unwrap_or_default()
}

/// Returns Claude Code's permission mode. It is always passed, since the user's default may differ. In two-way mode it
/// is the one that asks, even if everything is allowed: the approval channel then approves, which also works as root,
/// where Claude Code refuses to bypass permissions.
pub fn permission_mode(order: &LaunchRequest<'_>) -> &'static str {
    let may_bypass =
        !order.root || order.confined || order.host.env_var("IS_SANDBOX").is_some_and(|value| value == "1");
    match order.one_shot && approval_mode(order) == ApprovalMode::AutoAll && may_bypass {
        true => "bypassPermissions",
        false => modes::INITIAL_MODE,
    }
}

/// Returns the tool lists as flags, always with `=`: otherwise they would swallow the next argument.
pub fn tool_flags(order: &LaunchRequest<'_>) -> Vec<String> {
    let (mut allowed, mut blocked) = (Vec::new(), Vec::new());
    for entry in order.config.allowed_tools.iter().flatten().filter(|entry| order.one_shot || !allows_edits(entry)) {
        allowed.extend(entry_rules(entry, |kind| kind.allowed, || mcp::allow_rules(order.config)));
    }
    for entry in order.config.blocked_tools.iter().flatten() {
        blocked.extend(entry_rules(entry, |kind| kind.blocked, || vec!["mcp__*".to_owned()]));
    }
    allowed.extend(mcp::trusted_tool_rules(order.config));
    blocked.extend(mcp::excluded_tool_rules(order.config));
    allowed.extend(one_shot_allow_rule(order).map(str::to_owned));
    let flag = |name: &str, rules: &[String]| (!rules.is_empty()).then(|| format!("--{name}={}", rules.join(",")));
    [flag("allowedTools", &allowed), flag("disallowedTools", &blocked)].into_iter().flatten().collect()
}

/// Returns whether an entry allows all edits. The approval channel handles it where there is one, since it
/// distinguishes protected files.
fn allows_edits(entry: &str) -> bool {
    let edits = TOOL_GROUPS.iter().filter(|kind| kind.name == "edit").flat_map(|kind| kind.allowed.split(','));
    edits.chain(["edit", "MultiEdit"]).any(|tool| entry.trim().eq_ignore_ascii_case(tool))
}

/// The rule for a one-shot, which has no approval channel.
fn one_shot_allow_rule(order: &LaunchRequest<'_>) -> Option<&'static str> {
    match approval_mode(order) {
        _ if !order.one_shot => None,
        ApprovalMode::AskDangerous | ApprovalMode::AutoEdit => Some(EDIT_RULE),
        ApprovalMode::AutoAll if permission_mode(order) == modes::INITIAL_MODE => Some(BUILT_IN_TOOLS),
        ApprovalMode::AutoAll | ApprovalMode::Ask => None,
    }
}

/// Expands an entry, which is a group or a rule in Claude Code's syntax.
fn entry_rules(entry: &str, tools: impl Fn(&ToolGroup) -> &'static str, mcp: impl Fn() -> Vec<String>) -> Vec<String> {
    let entry = entry.trim();
    if entry.eq_ignore_ascii_case("mcp") {
        return mcp();
    }
    let kind = TOOL_GROUPS.iter().find(|kind| entry.eq_ignore_ascii_case(kind.name));
    let rule = kind.map_or_else(|| entry.to_owned(), |kind| tools(kind).to_owned());
    Some(rule).filter(|rule| !rule.is_empty()).into_iter().collect()
}

/// Returns the settings file of the session, if it needs one.
pub fn session_settings(order: &LaunchRequest<'_>) -> Option<Value> {
    let mut file = Map::new();
    let asked = ask_rules(order);
    if !asked.is_empty() {
        file.insert("permissions".to_owned(), json!({ "ask": asked }));
    }
    file.extend(launch::sandbox_override(order).map(|sandbox| ("sandbox".to_owned(), sandbox)));
    let hooks = mcp::include_list_hooks(order.config);
    if !hooks.is_empty() {
        file.insert("hooks".to_owned(), json!({ "PreToolUse": hooks }));
    }
    (!file.is_empty()).then_some(Value::Object(file))
}

/// An ask rule overrides an allow rule, so allowed tools must not have one.
fn ask_rules(order: &LaunchRequest<'_>) -> Vec<&'static str> {
    let allowed =
        |tool: &&str| order.config.allowed_tools.iter().flatten().any(|entry| entry.eq_ignore_ascii_case(tool));
    let silent = UNPROMPTED_TOOLS.iter().copied().filter(|tool| !allowed(tool));
    silent.filter(|_| approval_mode(order) != ApprovalMode::AutoAll).collect()
}
