//! Claude Code's own configuration files, read as settings of ours. What has no word here is named in a remark,
//! never with its value.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use switchboard_event::{ApprovalMode, McpServerConfig, SessionConfig};

use crate::{Found, Host, Json, Object, Unsupported};

/// Set by whoever administers the machine.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// A hook that Claude Code is said to have, and has not.
const UNKNOWN_HOOK: &str = "beforeToolCall";

/// Where Claude Code keeps its state.
pub fn folder(host: &dyn Host) -> PathBuf {
    let own = host.env("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty());
    own.map_or_else(|| host.home().join(".claude"), PathBuf::from)
}

/// The file with the rest of its state, which lies beside the folder unless that was moved.
pub fn state(host: &dyn Host) -> PathBuf {
    match host.env("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder).join(".claude.json"),
        None => host.home().join(".claude.json"),
    }
}

/// The settings files, the strongest last.
fn files(host: &dyn Host, cwd: &Path) -> [PathBuf; 4] {
    let (user, project) = (folder(host), cwd.join(".claude"));
    [user.join("settings.json"), project.join("settings.json"), project.join("settings.local.json"), MANAGED.into()]
}

/// Files with rules that let tools run without asking.
pub fn allowing(host: &dyn Host, cwd: &Path) -> Vec<String> {
    let allows = |path: &PathBuf| {
        let text = host.read(path).unwrap_or_default();
        let fields = Json::parse(&text).map(Json::object).unwrap_or_default();
        !fields.object("permissions").array("allow").is_empty()
    };
    files(host, cwd).into_iter().filter(allows).map(|path| path.display().to_string()).collect()
}

/// Refuses files with `hooks.beforeToolCall`. Claude Code has no such hook and runs tools without it (2.1.326), although
/// the file says that a script decides about them. `PreToolUse` is not the same: only exit code 2 stops a tool there.
pub fn check_hooks(host: &dyn Host, cwd: &Path) -> Result<(), Unsupported> {
    let has_it = |path: &PathBuf| {
        let text = host.read(path).unwrap_or_default();
        Json::parse(&text).is_some_and(|json| json.object().object("hooks").has(UNKNOWN_HOOK))
    };
    match files(host, cwd).into_iter().find(has_it) {
        None => Ok(()),
        Some(path) => Err(Unsupported::new(format!("{}: Claude Code ignores hooks.{UNKNOWN_HOOK}", path.display()))
            .with_hint("use hooks.PreToolUse, whose script stops a tool by exit code 2")),
    }
}

/// All that Claude Code's files say, file by file, the strongest last.
pub fn config(host: &dyn Host, cwd: &Path) -> Vec<Found> {
    let state = state(host);
    let servers = found(host, &state, |fields| servers_of_state(fields, cwd));
    let shared = found(host, &cwd.join(".mcp.json"), |fields| (with_servers(fields), Vec::new()));
    let settings = files(host, cwd).map(|path| found(host, &path, settings));
    servers.into_iter().chain(shared).chain(settings.into_iter().flatten()).collect()
}

fn found(
    host: &dyn Host,
    file: &Path,
    read: impl FnOnce(&Object<'_>) -> (SessionConfig, Vec<String>),
) -> Option<Found> {
    let text = host.read(file)?;
    let fields = Json::parse(&text).filter(|json| json.is_object()).map(Json::object);
    let (config, remarks) = match fields {
        Some(fields) => read(&fields),
        None => (SessionConfig::default(), vec!["this is no JSON object, and Claude Code ignores it".to_owned()]),
    };
    Some(Found { file: file.to_owned(), config, remarks })
}

/// A settings file.
fn settings(fields: &Object<'_>) -> (SessionConfig, Vec<String>) {
    let permissions = fields.object("permissions");
    let mut remarks = Vec::new();
    let config = SessionConfig {
        model: fields.filled("model"),
        approval_mode: permissions.str("defaultMode").and_then(|mode| approval(&mode, &mut remarks)),
        allowed_tools: list(&permissions, "allow"),
        blocked_tools: list(&permissions, "deny"),
        ..SessionConfig::default()
    };
    if fields.object("sandbox").is_true("enabled") {
        remarks.push("Claude Code's own sandbox is on; it is off in a sandbox of ours".to_owned());
    }
    if fields.object("hooks").has(UNKNOWN_HOOK) {
        remarks
            .push(format!("Claude Code ignores hooks.{UNKNOWN_HOOK}, so sessions are refused: use hooks.PreToolUse"));
    }
    remarks.extend(others(fields, &["model", "permissions", "sandbox", "$schema"], ""));
    remarks.extend(others(&permissions, &["defaultMode", "allow", "deny"], "permissions."));
    (config, remarks)
}

fn approval(mode: &str, remarks: &mut Vec<String>) -> Option<ApprovalMode> {
    match mode {
        "default" => Some(ApprovalMode::Ask),
        "acceptEdits" => {
            remarks.push("acceptEdits also moves and deletes files in the folder without asking".to_owned());
            Some(ApprovalMode::AutoEdit)
        }
        "bypassPermissions" => Some(ApprovalMode::AutoAll),
        other => {
            remarks.push(format!("the mode `{other}` has no word here; set it in the session"));
            None
        }
    }
}

fn list(permissions: &Object<'_>, key: &str) -> Option<Vec<String>> {
    Some(permissions.strings(key)).filter(|list| !list.is_empty())
}

/// What else there is, by name.
fn others(fields: &Object<'_>, known: &[&str], prefix: &str) -> Option<String> {
    let names: Vec<_> =
        fields.iter().filter(|(key, _)| !known.contains(key)).map(|(key, _)| format!("{prefix}{key}")).collect();
    (!names.is_empty()).then(|| format!("has no word here: {}", names.join(", ")))
}

/// The servers of the user, and those of the folder.
fn servers_of_state(fields: &Object<'_>, cwd: &Path) -> (SessionConfig, Vec<String>) {
    let mut config = with_servers(fields);
    let project = fields.object("projects").object(&cwd.to_string_lossy());
    config.mcp_servers.extend(servers(&project));
    (config, Vec::new())
}

fn with_servers(fields: &Object<'_>) -> SessionConfig {
    SessionConfig { mcp_servers: servers(fields), ..SessionConfig::default() }
}

fn servers(fields: &Object<'_>) -> BTreeMap<String, McpServerConfig> {
    let read = |(name, server): (&str, Json<'_>)| Some((name.to_owned(), serde_json::from_str(server.text()).ok()?));
    fields.object("mcpServers").iter().filter_map(read).collect()
}
