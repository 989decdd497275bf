//! Codex's own configuration files, looked at: where they are, what they set, and what that means in our words.

use std::path::{Path, PathBuf};

use switchboard_event::{ApprovalMode, McpServerConfig, McpTransport, SandboxMode, SessionConfig};
use toml::{Table, Value};

use crate::{Found, Host};

const APPROVAL: &str = "approval_policy";
const SANDBOX: &str = "sandbox_mode";
const CORE: &str = "core";
const WORKSPACE: &str = "sandbox_workspace_write";

/// The folder that Codex keeps everything in.
pub fn home(host: &dyn Host) -> PathBuf {
    host.env("CODEX_HOME").map_or_else(|| host.home().join(".codex"), PathBuf::from)
}

/// A configuration file.
pub struct ConfigFile {
    path: PathBuf,
    table: Table,
    /// Why it could not be read.
    broken: Option<String>,
}

/// The files that count in a folder: the machine's, the user's, and those of the folder and what lies above it.
pub fn files(host: &dyn Host, cwd: &Path) -> Vec<ConfigFile> {
    let above: Vec<_> = cwd.ancestors().map(|folder| folder.join(".codex")).collect();
    let mut paths = vec![PathBuf::from("/etc/codex"), home(host)];
    for folder in above.into_iter().rev() {
        if !paths.contains(&folder) {
            paths.push(folder);
        }
    }
    let files = paths.iter().map(|folder| folder.join("config.toml"));
    files.filter_map(|path| host.read(&path).map(|text| ConfigFile::parse(path, &text))).collect()
}

/// The user's file; an empty one if there is none.
pub fn of_user(host: &dyn Host) -> ConfigFile {
    let path = home(host).join("config.toml");
    let text = host.read(&path).unwrap_or_default();
    ConfigFile::parse(path, &text)
}

/// The files, as settings of ours.
pub fn found(host: &dyn Host, cwd: &Path) -> Vec<Found> {
    files(host, cwd).iter().map(|file| file.found(cwd)).collect()
}

impl ConfigFile {
    fn parse(path: PathBuf, text: &str) -> Self {
        match text.parse() {
            Ok(table) => Self { path, table, broken: None },
            Err(error) => Self { path, table: Table::new(), broken: Some(error.to_string().replace('\n', " ")) },
        }
    }

    /// A setting that is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.table.get(key)?.as_str()
    }

    /// A table of tables, by name.
    pub fn tables(&self, key: &str) -> impl Iterator<Item = (&str, &Table)> {
        let inner = self.table.get(key).and_then(Value::as_table);
        inner.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_table()?)))
    }

    /// The MCP servers, and the tools of each that are switched off.
    pub fn servers(&self) -> Vec<(String, Vec<String>)> {
        let servers = self.tables("mcp_servers");
        servers.map(|(name, server)| (name.to_owned(), texts(server, "disabled_tools").unwrap_or_default())).collect()
    }

    fn table(&self, key: &str) -> Option<&Table> {
        self.table.get(key)?.as_table()
    }

    /// Returns a setting of the top level, else of `[core]`: documents about Codex have put it there, although Codex
    /// 0.169.0 reads the top level only.
    fn declared(&self, key: &str) -> Option<&str> {
        self.text(key).or_else(|| self.table(CORE)?.get(key)?.as_str())
    }

    fn found(&self, cwd: &Path) -> Found {
        let workspace = self.table(WORKSPACE);
        let config = SessionConfig {
            model: self.text("model").map(str::to_owned),
            approval_mode: self.declared(APPROVAL).and_then(approval),
            sandbox_mode: self.declared(SANDBOX).and_then(sandbox),
            writable_roots: workspace.and_then(|table| texts(table, "writable_roots")),
            network_access: workspace.and_then(|table| table.get("network_access")?.as_bool()),
            mcp_servers: self.tables("mcp_servers").map(|(name, table)| (name.to_owned(), server(table))).collect(),
            ..SessionConfig::default()
        };
        Found { file: self.path.clone(), config, remarks: self.remarks(cwd) }
    }

    fn remarks(&self, cwd: &Path) -> Vec<String> {
        const KNOWN: &[&str] = &["model", APPROVAL, SANDBOX, CORE, WORKSPACE, "mcp_servers", "projects"];
        let mut remarks: Vec<_> = self.broken.iter().map(|error| format!("cannot be read: {error}")).collect();
        if self.declared(APPROVAL) == Some("never") && self.declared(SANDBOX) != Some("danger-full-access") {
            remarks.push("approval_policy `never`: what the sandbox forbids fails, and nobody is asked".to_owned());
        }
        if self.table(CORE).is_some() {
            remarks.push("Codex itself ignores [core]: put its settings at the top of the file".to_owned());
        }
        remarks.extend(also_sets("[core]", self.table(CORE), &[APPROVAL, SANDBOX]));
        let of_workspace = &["writable_roots", "network_access"];
        remarks.extend(also_sets("[sandbox_workspace_write]", self.table(WORKSPACE), of_workspace));
        for (name, server) in self.tables("mcp_servers") {
            remarks.extend(unsaid(name, server));
        }
        let trust = self.tables("projects").find(|(path, _)| Path::new(path) == cwd);
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

/// Names what else a table sets.
fn also_sets(name: &str, table: Option<&Table>, known: &[&str]) -> Option<String> {
    let others: Vec<_> = table?.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
    (!others.is_empty()).then(|| format!("{name} also sets: {}", others.join(", ")))
}

fn approval(policy: &str) -> Option<ApprovalMode> {
    match policy {
        "untrusted" => Some(ApprovalMode::Ask),
        "on-request" | "on-failure" => Some(ApprovalMode::AskDangerous),
        "never" => Some(ApprovalMode::AutoAll),
        _ => None,
    }
}

fn sandbox(mode: &str) -> Option<SandboxMode> {
    match mode {
        "read-only" => Some(SandboxMode::ReadOnly),
        "workspace-write" => Some(SandboxMode::WorkspaceWrite),
        "danger-full-access" => Some(SandboxMode::FullAccess),
        _ => None,
    }
}

fn server(table: &Table) -> McpServerConfig {
    let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
    let pairs = |key: &str| {
        let inner = table.get(key).and_then(Value::as_table).into_iter().flatten();
        inner.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    };
    McpServerConfig {
        command: text("command"),
        args: texts(table, "args").unwrap_or_default(),
        env: pairs("env"),
        transport: table.contains_key("url").then_some(McpTransport::Http),
        url: text("url"),
        headers: pairs("http_headers"),
        trust: text("default_tools_approval_mode").as_deref() == Some("approve"),
        include_tools: texts(table, "enabled_tools"),
        exclude_tools: texts(table, "disabled_tools").unwrap_or_default(),
    }
}

fn unsaid(name: &str, server: &Table) -> Option<String> {
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
    also_sets(&format!("MCP server `{name}`"), Some(server), KNOWN)
}

fn texts(table: &Table, key: &str) -> Option<Vec<String>> {
    let array = table.get(key)?.as_array()?;
    Some(array.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}
