//! Claude Code's own configuration files, read as Switchboard settings. Settings without an equivalent are named in a
//! remark, never with their value.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use switchboard_event::{ApprovalMode, McpServerConfig, SessionConfig};

use crate::{AgentConfigFile, HostAccess, JsonObject, JsonView, UnsupportedOperation, launch::is_proxy_variable};

/// Settings of the machine's administrator.
const MANAGED_SETTINGS_PATH: &str = "/etc/claude-code/managed-settings.json";

/// A hook that Claude Code is said to have but does not.
const UNKNOWN_HOOK: &str = "beforeToolCall";

/// The directory with Claude Code's state.
pub fn config_directory(host: &dyn HostAccess) -> PathBuf {
    let own = host.env_var("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty());
    own.map_or_else(|| host.home_dir().join(".claude"), PathBuf::from)
}

/// The file with the rest of its state, which is next to the directory unless that was moved.
pub fn state_file_path(host: &dyn HostAccess) -> PathBuf {
    match host.env_var("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder).join(".claude.json"),
        None => host.home_dir().join(".claude.json"),
    }
}

/// The settings files in increasing precedence.
fn settings_files(host: &dyn HostAccess, cwd: &Path) -> [PathBuf; 4] {
    let (user, project) = (config_directory(host), cwd.join(".claude"));
    [
        user.join("settings.json"),
        project.join("settings.json"),
        project.join("settings.local.json"),
        MANAGED_SETTINGS_PATH.into(),
    ]
}

/// The host with the variables that the settings of the user and of the machine set. They replace those of the
/// environment.
pub struct HostWithUserSettings<'a> {
    host: &'a dyn HostAccess,
    variables: BTreeMap<String, String>,
}

impl<'a> HostWithUserSettings<'a> {
    pub fn new(host: &'a dyn HostAccess) -> Self {
        let files = [config_directory(host).join("settings.json"), MANAGED_SETTINGS_PATH.into()];
        Self { host, variables: files.iter().flat_map(|path| variables_of_file(host, path)).collect() }
    }
}

impl HostAccess for HostWithUserSettings<'_> {
    fn env_var(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned().or_else(|| self.host.env_var(name))
    }

    fn home_dir(&self) -> PathBuf {
        self.host.home_dir()
    }

    fn read_file(&self, path: &Path) -> Option<String> {
        self.host.read_file(path)
    }

    fn list_dir(&self, folder: &Path) -> Vec<PathBuf> {
        self.host.list_dir(folder)
    }
}

/// Returns the variables that a settings file sets.
fn variables_of_file(host: &dyn HostAccess, path: &Path) -> Vec<(String, String)> {
    let text = host.read_file(path).unwrap_or_default();
    let fields = JsonView::parse(&text).map(JsonView::as_object).unwrap_or_default().get_object("env");
    fields.iter().map(|(name, value)| (name.to_owned(), value.display_text().into_owned())).collect()
}

/// Returns the settings files that set a proxy, the administrator's last.
pub fn files_with_proxy(host: &dyn HostAccess, cwd: &Path) -> Vec<PathBuf> {
    let sets_proxy = |path: &PathBuf| variables_of_file(host, path).iter().any(|(name, _)| is_proxy_variable(name));
    settings_files(host, cwd).into_iter().filter(sets_proxy).collect()
}

/// Returns whether a settings file is the administrator's, which nothing overrides.
pub fn is_managed(path: &Path) -> bool {
    path == Path::new(MANAGED_SETTINGS_PATH)
}

/// Returns the files with rules that let tools run without asking.
pub fn files_with_allow_rules(host: &dyn HostAccess, cwd: &Path) -> Vec<String> {
    let allows = |path: &PathBuf| {
        let text = host.read_file(path).unwrap_or_default();
        let fields = JsonView::parse(&text).map(JsonView::as_object).unwrap_or_default();
        !fields.get_object("permissions").get_array("allow").is_empty()
    };
    settings_files(host, cwd).into_iter().filter(allows).map(|path| path.display().to_string()).collect()
}

/// Rejects files with `hooks.beforeToolCall`. Claude Code has no such hook and runs tools without it (2.1.326),
/// although the file suggests that a script decides. `PreToolUse` is not equivalent: only exit code 2 blocks a tool
/// there.
pub fn check_hooks(host: &dyn HostAccess, cwd: &Path) -> Result<(), UnsupportedOperation> {
    let has_it = |path: &PathBuf| {
        let text = host.read_file(path).unwrap_or_default();
        JsonView::parse(&text).is_some_and(|json| json.as_object().get_object("hooks").contains_key(UNKNOWN_HOOK))
    };
    match settings_files(host, cwd).into_iter().find(has_it) {
        None => Ok(()),
        Some(path) => {
            Err(UnsupportedOperation::new(format!("{}: Claude Code ignores hooks.{UNKNOWN_HOOK}", path.display()))
                .with_hint("use hooks.PreToolUse, whose script stops a tool by exit code 2"))
        }
    }
}

/// Reads all of Claude Code's files, in increasing precedence.
pub fn read_config(host: &dyn HostAccess, cwd: &Path) -> Vec<AgentConfigFile> {
    let state = state_file_path(host);
    let servers = read_config_file(host, &state, |fields| servers_of_state(fields, cwd));
    let shared = read_config_file(host, &cwd.join(".mcp.json"), |fields| (with_servers(fields), Vec::new()));
    let settings = settings_files(host, cwd).map(|path| read_config_file(host, &path, parse_settings));
    servers.into_iter().chain(shared).chain(settings.into_iter().flatten()).collect()
}

fn read_config_file(
    host: &dyn HostAccess,
    file: &Path,
    read: impl FnOnce(&JsonObject<'_>) -> (SessionConfig, Vec<String>),
) -> Option<AgentConfigFile> {
    let text = host.read_file(file)?;
    let fields = JsonView::parse(&text).filter(|json| json.is_object()).map(JsonView::as_object);
    let (config, remarks) = match fields {
        Some(fields) => read(&fields),
        None => (SessionConfig::default(), vec!["this is no JSON object, and Claude Code ignores it".to_owned()]),
    };
    Some(AgentConfigFile { file: file.to_owned(), config, remarks })
}

fn parse_settings(fields: &JsonObject<'_>) -> (SessionConfig, Vec<String>) {
    let permissions = fields.get_object("permissions");
    let mut remarks = Vec::new();
    let config = SessionConfig {
        model: fields.get_non_empty("model"),
        approval_mode: permissions
            .get_str("defaultMode")
            .and_then(|permission_mode| parse_approval_mode(&permission_mode, &mut remarks)),
        allowed_tools: rule_list(&permissions, "allow"),
        blocked_tools: rule_list(&permissions, "deny"),
        ..SessionConfig::default()
    };
    if fields.get_object("sandbox").is_true("enabled") {
        remarks.push("Claude Code's own sandbox is on; it is off in a sandbox of ours".to_owned());
    }
    if fields.get_object("hooks").contains_key(UNKNOWN_HOOK) {
        remarks
            .push(format!("Claude Code ignores hooks.{UNKNOWN_HOOK}, so sessions are refused: use hooks.PreToolUse"));
    }
    remarks.extend(unknown_keys_remark(fields, &["model", "permissions", "sandbox", "$schema"], ""));
    remarks.extend(unknown_keys_remark(&permissions, &["defaultMode", "allow", "deny"], "permissions."));
    (config, remarks)
}

fn parse_approval_mode(mode: &str, remarks: &mut Vec<String>) -> Option<ApprovalMode> {
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

fn rule_list(permissions: &JsonObject<'_>, key: &str) -> Option<Vec<String>> {
    Some(permissions.get_strings(key)).filter(|list| !list.is_empty())
}

/// Names the keys without an equivalent.
fn unknown_keys_remark(fields: &JsonObject<'_>, known: &[&str], prefix: &str) -> Option<String> {
    let names: Vec<_> =
        fields.iter().filter(|(key, _)| !known.contains(key)).map(|(key, _)| format!("{prefix}{key}")).collect();
    (!names.is_empty()).then(|| format!("has no word here: {}", names.join(", ")))
}

/// Reads the servers of the user and those of the working directory.
fn servers_of_state(fields: &JsonObject<'_>, cwd: &Path) -> (SessionConfig, Vec<String>) {
    let mut config = with_servers(fields);
    let project = fields.get_object("projects").get_object(&cwd.to_string_lossy());
    config.mcp_servers.extend(parse_servers(&project));
    (config, Vec::new())
}

fn with_servers(fields: &JsonObject<'_>) -> SessionConfig {
    SessionConfig { mcp_servers: parse_servers(fields), ..SessionConfig::default() }
}

fn parse_servers(fields: &JsonObject<'_>) -> BTreeMap<String, McpServerConfig> {
    let read =
        |(name, server): (&str, JsonView<'_>)| Some((name.to_owned(), serde_json::from_str(server.raw_text()).ok()?));
    fields.get_object("mcpServers").iter().filter_map(read).collect()
}
