//! The session's settings as Claude Code's own rules: its permission mode, the lists of tools, and a settings file of
//! the session for what has no flag. Whatever is left is decided on the approval channel.

use serde_json::{Map, Value, json};
use switchboard_event::ApprovalMode;

use super::{launch, mcp, modes};
use crate::Order;

/// A kind of tools, as `allowedTools` and `blockedTools` name it. MCP servers are another matter.
struct Kind {
    name: &'static str,
    allowed: &'static str,
    /// Also what only some versions have: a name that a version does not know is no error to it.
    blocked: &'static str,
}

const KINDS: &[Kind] = &[
    Kind { name: "command", allowed: "Bash", blocked: "Bash,PowerShell,Monitor,REPL" },
    Kind { name: "edit", allowed: "Edit,Write,NotebookEdit", blocked: "Edit,Write,NotebookEdit" },
    Kind { name: "read", allowed: "Read,Glob,Grep", blocked: "Read,Glob,Grep" },
    Kind { name: "web", allowed: "WebFetch,WebSearch", blocked: "WebFetch,WebSearch" },
];

/// Tools that Claude Code 2.1.197 runs without asking although they change something: work trees of git, and jobs
/// that are written to disk.
const SILENT: &[&str] = &["EnterWorktree", "ExitWorktree", "CronCreate"];

/// Its built-in tools, for who may use them all and cannot be asked.
const ALL: &str = "Bash,Edit,Write,NotebookEdit,Read,Glob,Grep,WebFetch,WebSearch,Skill,Workflow,Agent";

/// Changes of files in the folder, whichever tool makes them. Unlike the mode `acceptEdits`, this does not let `rm`,
/// `mv` and the like run without a question.
const EDITS: &str = "Edit(./**)";

/// The approval mode of the session.
pub fn approval(order: &Order<'_>) -> ApprovalMode {
    order.config.approval_mode.unwrap_or_default()
}

/// Claude Code's permission mode. Always said, since the user's own default may be another. Two-way it is the one
/// that asks, also where everything is allowed: then the channel says yes, which works as root too, where Claude Code
/// refuses to bypass permissions.
pub fn mode(order: &Order<'_>) -> &'static str {
    let may_bypass = !order.root || order.confined || order.host.env("IS_SANDBOX").is_some_and(|value| value == "1");
    match order.one_shot && approval(order) == ApprovalMode::AutoAll && may_bypass {
        true => "bypassPermissions",
        false => modes::FIRST,
    }
}

/// The lists of tools as flags. Always with `=`: without, they would swallow what follows.
pub fn flags(order: &Order<'_>) -> Vec<String> {
    let (mut allowed, mut blocked) = (Vec::new(), Vec::new());
    for entry in order.config.allowed_tools.iter().flatten().filter(|entry| order.one_shot || !allows_edits(entry)) {
        allowed.extend(rules(entry, |kind| kind.allowed, || mcp::allowed(order.config)));
    }
    for entry in order.config.blocked_tools.iter().flatten() {
        blocked.extend(rules(entry, |kind| kind.blocked, || vec!["mcp__*".to_owned()]));
    }
    allowed.extend(mcp::trusted(order.config));
    blocked.extend(mcp::excluded(order.config));
    allowed.extend(unasked(order).map(str::to_owned));
    let flag = |name: &str, rules: &[String]| (!rules.is_empty()).then(|| format!("--{name}={}", rules.join(",")));
    [flag("allowedTools", &allowed), flag("disallowedTools", &blocked)].into_iter().flatten().collect()
}

/// An entry that allows all edits. Where there is a channel, it is left to the channel, which tells protected files
/// from others.
fn allows_edits(entry: &str) -> bool {
    let edits = KINDS.iter().filter(|kind| kind.name == "edit").flat_map(|kind| kind.allowed.split(','));
    edits.chain(["edit", "MultiEdit"]).any(|tool| entry.trim().eq_ignore_ascii_case(tool))
}

/// What must run without a question in a one-shot, where there is no channel to say yes.
fn unasked(order: &Order<'_>) -> Option<&'static str> {
    match approval(order) {
        _ if !order.one_shot => None,
        ApprovalMode::AskDangerous | ApprovalMode::AutoEdit => Some(EDITS),
        ApprovalMode::AutoAll if mode(order) == modes::FIRST => Some(ALL),
        ApprovalMode::AutoAll | ApprovalMode::Ask => None,
    }
}

/// An entry is a kind, or a rule in Claude Code's own words.
fn rules(entry: &str, tools: impl Fn(&Kind) -> &'static str, mcp: impl Fn() -> Vec<String>) -> Vec<String> {
    let entry = entry.trim();
    if entry.eq_ignore_ascii_case("mcp") {
        return mcp();
    }
    let kind = KINDS.iter().find(|kind| entry.eq_ignore_ascii_case(kind.name));
    let rule = kind.map_or_else(|| entry.to_owned(), |kind| tools(kind).to_owned());
    Some(rule).filter(|rule| !rule.is_empty()).into_iter().collect()
}

/// The settings file of the session, if it needs one.
pub fn file(order: &Order<'_>) -> Option<Value> {
    let mut file = Map::new();
    let asked = asked(order);
    if !asked.is_empty() {
        file.insert("permissions".to_owned(), json!({ "ask": asked }));
    }
    file.extend(launch::without_own_sandbox(order).map(|sandbox| ("sandbox".to_owned(), sandbox)));
    let hooks = mcp::hooks(order.config);
    if !hooks.is_empty() {
        file.insert("hooks".to_owned(), json!({ "PreToolUse": hooks }));
    }
    (!file.is_empty()).then_some(Value::Object(file))
}

/// A rule to ask is stronger than one to allow, so what is allowed must not have one.
fn asked(order: &Order<'_>) -> Vec<&'static str> {
    let allowed =
        |tool: &&str| order.config.allowed_tools.iter().flatten().any(|entry| entry.eq_ignore_ascii_case(tool));
    let silent = SILENT.iter().copied().filter(|tool| !allowed(tool));
    silent.filter(|_| approval(order) != ApprovalMode::AutoAll).collect()
}
