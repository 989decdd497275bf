//! Codex's configuration files: their locations, their settings, and the equivalents in Switchboard.

use std::path::{Path, PathBuf};

use switchboard_event::{ApprovalMode, McpServerConfig, McpTransport, SandboxMode, SessionConfig};
use toml::{Table, Value};

use crate::{AgentConfigFile, HostAccess, launch::is_proxy_variable};

const APPROVAL_KEY: &str = "approval_policy";

const SANDBOX_KEY: &str = "sandbox_mode";

const CORE_TABLE: &str = "core";

const WORKSPACE_TABLE: &str = "sandbox_workspace_write";

/// Returns Codex's home directory.
pub fn codex_home(host: &dyn HostAccess) -> PathBuf {
    host.env_var("CODEX_HOME").map_or_else(|| host.home_dir().join(".codex"), PathBuf::from)
}

pub struct CodexConfigFile {
    path: PathBuf,
    table: Table,
    /// The parse error, if there is one.
    broken: Option<String>,
}

/// Reads the files that apply to a directory: the machine's, the user's, and those of the directory and its ancestors.
pub fn read_config_files(host: &dyn HostAccess, cwd: &Path) -> Vec<CodexConfigFile> {
    let above: Vec<_> = cwd.ancestors().map(|folder| folder.join(".codex")).collect();
    let mut paths = vec![PathBuf::from("/etc/codex"), codex_home(host)];
    for folder in above.into_iter().rev() {
        if !paths.contains(&folder) {
            paths.push(folder);
        }
    }
    let files = paths.iter().map(|folder| folder.join("config.toml"));
    files.filter_map(|path| host.read_file(&path).map(|text| CodexConfigFile::parse(path, &text))).collect()
}

/// Reads the user's file; a missing file counts as empty.
pub fn read_user_config(host: &dyn HostAccess) -> CodexConfigFile {
    let path = codex_home(host).join("config.toml");
    let text = host.read_file(&path).unwrap_or_default();
    CodexConfigFile::parse(path, &text)
}

/// Reads the files that no workspace can change.
pub fn read_machine_and_user_configs(host: &dyn HostAccess) -> Vec<CodexConfigFile> {
    let machine = PathBuf::from("/etc/codex/config.toml");
    let machine = host.read_file(&machine).map(|text| CodexConfigFile::parse(machine, &text));
    machine.into_iter().chain([read_user_config(host)]).collect()
}

/// Returns whether the user's `.env` sets a proxy. Its variables replace those of Codex's environment.
pub fn has_proxy_in_dotenv(host: &dyn HostAccess) -> bool {
    let text = host.read_file(&codex_home(host).join(".env")).unwrap_or_default();
    let names = text.lines().filter_map(|line| line.trim().trim_start_matches("export ").split_once('='));
    names.into_iter().any(|(name, _)| is_proxy_variable(name.trim()))
}

/// Converts the files to Switchboard settings.
pub fn find_settings(host: &dyn HostAccess, cwd: &Path) -> Vec<AgentConfigFile> {
    read_config_files(host, cwd).iter().map(|file| file.to_settings(cwd)).collect()
}

impl CodexConfigFile {
    fn parse(path: PathBuf, text: &str) -> Self {
        match text.parse() {
            Ok(table) => Self { path, table, broken: None },
            Err(error) => Self { path, table: Table::new(), broken: Some(error.to_string().replace('\n', " ")) },
        }
    }

    pub fn string_setting(&self, key: &str) -> Option<&str> {
        self.table.get(key)?.as_str()
    }

    /// Returns the subtables of a table, by name.
    pub fn named_tables(&self, key: &str) -> impl Iterator<Item = (&str, &Table)> {
        let inner = self.table.get(key).and_then(Value::as_table);
        inner.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_table()?)))
    }

    /// Returns the URLs of the servers for models and logins.
    pub fn base_urls(&self) -> Vec<String> {
        let own = ["openai_base_url", "chatgpt_base_url"].iter().filter_map(|key| self.string_setting(key));
        let providers =
            self.named_tables("model_providers").filter_map(|(_, provider)| provider.get("base_url")?.as_str());
        own.chain(providers).map(str::to_owned).collect()
    }

    /// Returns the MCP servers with the disabled tools of each.
    pub fn disabled_tools_by_server(&self) -> Vec<(String, Vec<String>)> {
        let servers = self.named_tables("mcp_servers");
        servers
            .map(|(name, server)| (name.to_owned(), string_array(server, "disabled_tools").unwrap_or_default()))
            .collect()
    }

    /// Returns whether the file decides which variables commands get.
    pub fn has_environment_policy(&self) -> bool {
        self.table.contains_key("shell_environment_policy")
    }

    fn get_table(&self, key: &str) -> Option<&Table> {
        self.table.get(key)?.as_table()
    }

    /// Returns a setting of the top level, else of `[core]`: documentation about Codex has put it there, although Codex
    /// 0.169.0 reads the top level only.
    fn declared_setting(&self, key: &str) -> Option<&str> {
        self.string_setting(key).or_else(|| self.get_table(CORE_TABLE)?.get(key)?.as_str())
    }

    fn to_settings(&self, cwd: &Path) -> AgentConfigFile {
        let workspace = self.get_table(WORKSPACE_TABLE);
        let config = SessionConfig {
            model: self.string_setting("model").map(str::to_owned),
            approval_mode: self.declared_setting(APPROVAL_KEY).and_then(parse_approval_mode),
            sandbox_mode: self.declared_setting(SANDBOX_KEY).and_then(parse_sandbox_mode),
            writable_roots: workspace.and_then(|table| string_array(table, "writable_roots")),
            network_access: workspace.and_then(|table| table.get("network_access")?.as_bool()),
            mcp_servers: self
                .named_tables("mcp_servers")
                .map(|(name, table)| (name.to_owned(), parse_mcp_server(table)))
                .collect(),
            ..SessionConfig::default()
        };
        AgentConfigFile { file: self.path.clone(), config, remarks: self.collect_remarks(cwd) }
    }

    fn collect_remarks(&self, cwd: &Path) -> Vec<String> {
        const KNOWN: &[&str] =
            &["model", APPROVAL_KEY, SANDBOX_KEY, CORE_TABLE, WORKSPACE_TABLE, "mcp_servers", "projects"];
        let mut remarks: Vec<_> = self.broken.iter().map(|error| format!("cannot be read: {error}")).collect();
        if self.declared_setting(APPROVAL_KEY) == Some("never")
            && self.declared_setting(SANDBOX_KEY) != Some("danger-full-access")
        {
            remarks.push("approval_policy `never`: actions that the sandbox forbids fail without a request".to_owned());
        }
        if self.get_table(CORE_TABLE).is_some() {
            remarks.push("Codex itself ignores [core]: put its settings at the top of the file".to_owned());
        }
        remarks.extend(other_keys_remark("[core]", self.get_table(CORE_TABLE), &[APPROVAL_KEY, SANDBOX_KEY]));
        let of_workspace = &["writable_roots", "network_access"];
        remarks.extend(other_keys_remark("[sandbox_workspace_write]", self.get_table(WORKSPACE_TABLE), of_workspace));
        for (name, server) in self.named_tables("mcp_servers") {
            remarks.extend(other_server_keys_remark(name, server));
        }
        let trust = self.named_tables("projects").find(|(path, _)| Path::new(path) == cwd);
        if let Some(level) = trust.and_then(|(_, project)| project.get("trust_level")).and_then(Value::as_str) {
            remarks.push(format!("this folder is {level}"));
        }
        let others: Vec<_> = self.table.keys().map(String::as_str).filter(|key| !KNOWN.contains(key)).collect();
        if !others.is_empty() {
            remarks.push(format!("also sets: {}", others.join(", ")));
        }
        remarks
    }
}

/// Lists the other keys of a table.
fn other_keys_remark(name: &str, table: Option<&Table>, known: &[&str]) -> Option<String> {
    let others: Vec<_> = table?.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
    (!others.is_empty()).then(|| format!("{name} also sets: {}", others.join(", ")))
}

fn parse_approval_mode(policy: &str) -> Option<ApprovalMode> {
    match policy {
        "untrusted" => Some(ApprovalMode::Ask),
        "on-request" | "on-failure" => Some(ApprovalMode::AskDangerous),
        "never" => Some(ApprovalMode::AutoAll),
        _ => None,
    }
}

fn parse_sandbox_mode(mode: &str) -> Option<SandboxMode> {
    match mode {
        "read-only" => Some(SandboxMode::ReadOnly),
        "workspace-write" => Some(SandboxMode::WorkspaceWrite),
        "danger-full-access" => Some(SandboxMode::FullAccess),
        _ => None,
    }
}

fn parse_mcp_server(table: &Table) -> McpServerConfig {
    let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
    let pairs = |key: &str| {
        let inner = table.get(key).and_then(Value::as_table).into_iter().flatten();
        inner.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    };
    McpServerConfig {
        command: text("command"),
        args: string_array(table, "args").unwrap_or_default(),
        env: pairs("env"),
        transport: table.contains_key("url").then_some(McpTransport::Http),
        url: text("url"),
        headers: pairs("http_headers"),
        trust: text("default_tools_approval_mode").as_deref() == Some("approve"),
        include_tools: string_array(table, "enabled_tools"),
        exclude_tools: string_array(table, "disabled_tools").unwrap_or_default(),
    }
}

fn other_server_keys_remark(name: &str, server: &Table) -> Option<String> {
    const KNOWN: &[&str] = &[
        "command",
        "args",
        "env",
        "url",
        "http_headers",
        "enabled_tools",
        "disabled_tools",
        "default_tools_approval_mode",
    ];
    other_keys_remark(&format!("MCP server `{name}`"), Some(server), KNOWN)
}

fn string_array(table: &Table, key: &str) -> Option<Vec<String>> {
    let array = table.get(key)?.as_array()?;
    Some(array.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}
