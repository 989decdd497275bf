//! The session's settings as Claude Code's own rules: its permission mode, the tool lists, the MCP servers, and a
//! settings file for everything without a flag. The rest is decided on the approval channel.

use serde_json::{Map, Value, json};
use switchboard_event::{ApprovalMode, McpServerConfig, McpTransport, Mode, SessionConfig};

use super::{launch, settings};
use crate::{LaunchRequest, UnsupportedOperation};

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

/// The mode in which a session begins.
pub const INITIAL_MODE: &str = "default";

/// The modes that can be set in a session: id, name and description.
const PERMISSION_MODES: &[(&str, &str, &str)] = &[
    ("default", "Ask", "asks before it changes something"),
    ("acceptEdits", "Accept edits", "changes, moves and deletes files in the folder without asking"),
    ("plan", "Plan", "changes nothing, and makes a plan to agree to"),
    ("dontAsk", "Don't ask", "declines what would have to be asked"),
    ("auto", "Auto", "lets a model decide what may be done"),
];

/// A group of tools, as named in `allowedTools` and `blockedTools`. MCP servers are handled separately.
struct ToolGroup {
    name: &'static str,
    allowed: &'static str,
    /// Includes tools that only some versions have: unknown names are not an error.
    blocked: &'static str,
}

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
        false => INITIAL_MODE,
    }
}

/// Returns the tool lists as flags, always with `=`: otherwise they would swallow the next argument.
pub fn tool_flags(order: &LaunchRequest<'_>) -> Vec<String> {
    let (mut allowed, mut blocked) = (Vec::new(), Vec::new());
    for entry in order.config.allowed_tools.iter().flatten().filter(|entry| order.one_shot || !allows_edits(entry)) {
        allowed.extend(entry_rules(entry, |kind| kind.allowed, || allow_rules(order.config)));
    }
    for entry in order.config.blocked_tools.iter().flatten() {
        blocked.extend(entry_rules(entry, |kind| kind.blocked, || vec!["mcp__*".to_owned()]));
    }
    allowed.extend(trusted_tool_rules(order.config));
    blocked.extend(excluded_tool_rules(order.config));
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
        ApprovalMode::AutoAll if permission_mode(order) == INITIAL_MODE => Some(BUILT_IN_TOOLS),
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
    // Variables of settings files replace those of the environment, and these settings replace both.
    if !order.proxy_env.is_empty() && !settings::files_with_proxy(order.host, order.cwd).is_empty() {
        let variables: Map<_, _> = order.proxy_env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        file.insert("env".to_owned(), Value::Object(variables));
    }
    let hooks = include_list_hooks(order.config);
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
fn allow_rules(config: &SessionConfig) -> Vec<String> {
    config.mcp_servers.keys().map(|name| format!("mcp__{}", sanitize_tool_name(name))).collect()
}

/// Rules that allow the tools of trusted servers.
fn trusted_tool_rules(config: &SessionConfig) -> Vec<String> {
    let trusted = config.mcp_servers.iter().filter(|(_, server)| server.trust);
    trusted.flat_map(|(name, server)| tool_rules(name, server.include_tools.as_deref())).collect()
}

/// Rules that forbid excluded tools.
fn excluded_tool_rules(config: &SessionConfig) -> Vec<String> {
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
fn include_list_hooks(config: &SessionConfig) -> Vec<Value> {
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

pub fn permission_modes() -> Vec<Mode> {
    let mode = |(id, name, description): &(&str, &str, &str)| Mode {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        description: Some((*description).to_owned()),
    };
    PERMISSION_MODES.iter().map(mode).collect()
}

/// Checks that a mode can be set in a session.
pub fn check_mode(mode: &str) -> Result<(), UnsupportedOperation> {
    if PERMISSION_MODES.iter().any(|(id, ..)| *id == mode) {
        return Ok(());
    }
    if mode == "bypassPermissions" {
        return Err(UnsupportedOperation::new("Claude Code cannot stop asking in a session that began with asking")
            .with_hint("start the session with the approval mode autoAll"));
    }
    let known: Vec<_> = PERMISSION_MODES.iter().map(|(id, ..)| *id).collect();
    Err(UnsupportedOperation::new(format!("Claude Code has no mode `{mode}`"))
        .with_hint(format!("one of {}", known.join(", "))))
}
