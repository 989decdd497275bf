//! Translates the session's settings to Codex's configuration, for both forms of launch.
//!
//! Nothing is written to the user's configuration: these settings override it and last as long as the process.

use serde_json::{Map, Value, json};
use switchboard_event::{ApprovalMode, McpServerConfig, McpTransport};

use super::config_file::{self, CodexConfigFile};
use crate::{LaunchRequest, UnsupportedOperation};

/// Codex's configuration for one session.
pub struct CodexSessionRules {
    pub mode: ApprovalMode,
    /// The tools that never run.
    pub blocked: CodexToolSet,
    /// The tools that need no approval.
    pub allowed: CodexToolSet,
    /// Settings that override the user's.
    pub config: Map<String, Value>,
    /// Variables that the settings refer to.
    pub env: Vec<(String, String)>,
    /// Restrictions that are weaker than requested.
    pub weaker: Vec<String>,
}

impl CodexSessionRules {
    pub fn from_order(order: &LaunchRequest<'_>) -> Result<Self, UnsupportedOperation> {
        let config = order.config;
        let mut rules = Self {
            mode: config.approval_mode.unwrap_or_default(),
            blocked: CodexToolSet::from_list(config.blocked_tools.as_ref()),
            allowed: CodexToolSet::from_list(config.allowed_tools.as_ref()),
            config: Map::new(),
            env: Vec::new(),
            weaker: Vec::new(),
        };
        let files = config_file::read_config_files(order.host, order.cwd);
        rules.block_tools()?;
        rules.restrict_web_search(&files);
        rules.configure_mcp_servers(order, &files)?;
        rules.keep_proxy(order, &files);
        Ok(rules)
    }

    /// Gives commands the proxy of the sandbox, whatever variables the user's files give them.
    fn keep_proxy(&mut self, order: &LaunchRequest<'_>, files: &[CodexConfigFile]) {
        if order.proxy_env.is_empty() {
            return;
        }
        if files.iter().any(CodexConfigFile::has_environment_policy) {
            let variables: Map<_, _> =
                order.proxy_env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            self.config.insert("shell_environment_policy".to_owned(), json!({ "set": variables }));
        }
        if config_file::has_proxy_in_dotenv(order.host) {
            let why =
                "the file .env of Codex sets a proxy, so Codex does not use that of the sandbox and reaches no host";
            self.weaker.push(why.to_owned());
        }
    }

    /// Returns whether everything runs without approval.
    pub fn allows_everything(&self) -> bool {
        self.mode == ApprovalMode::AutoAll
    }

    /// Returns whether something can only be prevented by declining it when Codex asks.
    pub fn must_ask(&self) -> bool {
        !self.allows_everything() || self.blocked.command || self.blocked.edit
    }

    pub fn disable_feature(&mut self, feature: &str) {
        let features = self.config.entry("features").or_insert_with(|| json!({}));
        features[feature] = json!(false);
    }

    /// Disables the blocked tools that Codex can hide from the model.
    fn block_tools(&mut self) -> Result<(), UnsupportedOperation> {
        if self.blocked.read && !self.blocked.command {
            let what = "Codex reads files by running commands, so that reading alone cannot be blocked";
            return Err(UnsupportedOperation::new(what).with_hint("block `command`"));
        }
        if self.blocked.command {
            self.disable_feature("shell_tool");
        }
        if self.blocked.image || self.blocked.read {
            self.disable_feature("view_image");
        }
        if self.blocked.agents {
            self.disable_feature("multi_agent");
        }
        Ok(())
    }

    /// The model's provider searches the web, and Codex cannot ask before it does: search is off where approval is
    /// required.
    fn restrict_web_search(&mut self, files: &[CodexConfigFile]) {
        let unasked = !self.allows_everything() && !self.allowed.web;
        if !self.blocked.web && !unasked {
            return;
        }
        self.config.insert("web_search".to_owned(), json!("disabled"));
        let off_anyway =
            files.iter().any(|file| file.string_setting("web_search").is_some_and(|mode| mode == "disabled"));
        if !self.blocked.web && !off_anyway {
            let why = "web search is off, because Codex cannot ask before it searches; allow the tool `web` to have it";
            self.weaker.push(why.to_owned());
        }
    }

    /// Configures the session's MCP servers, and blocks tools of the user's own.
    fn configure_mcp_servers(
        &mut self,
        order: &LaunchRequest<'_>,
        files: &[CodexConfigFile],
    ) -> Result<(), UnsupportedOperation> {
        let mut servers = build_session_servers(order, self)?;
        let own = files.iter().flat_map(CodexConfigFile::disabled_tools_by_server);
        for (name, server) in own {
            let over = build_user_overrides(&name, &server, &self.blocked);
            if !over.is_empty() && !servers.contains_key(&name) {
                servers.insert(name, Value::Object(over));
            }
        }
        if self.blocked.mcp {
            // Apps and plugins bring their own servers.
            self.disable_feature("apps");
            self.disable_feature("plugins");
        }
        if !servers.is_empty() {
            self.config.insert("mcp_servers".to_owned(), Value::Object(servers));
        }
        Ok(())
    }
}

/// The tools that a list names.
#[derive(Default)]
pub struct CodexToolSet {
    pub command: bool,
    /// Patches.
    pub edit: bool,
    pub read: bool,
    pub web: bool,
    /// All tools of MCP servers.
    pub mcp: bool,
    /// Viewing images.
    pub image: bool,
    /// Subagents.
    pub agents: bool,
    /// Tools of one MCP server: the server and the tool.
    pub of_server: Vec<(String, String)>,
    /// Names that are not Codex's own: tools of any MCP server.
    pub named: Vec<String>,
}

impl CodexToolSet {
    fn from_list(list: Option<&Vec<String>>) -> Self {
        let mut tools = Self::default();
        for entry in list.into_iter().flatten() {
            tools.add_entry(entry);
        }
        tools
    }

    fn add_entry(&mut self, entry: &str) {
        match entry.to_ascii_lowercase().as_str() {
            "command" | "exec_command" | "write_stdin" | "shell" | "shell_command" | "local_shell" => {
                self.command = true;
            }
            "edit" | "apply_patch" => self.edit = true,
            "read" => self.read = true,
            "web" | "web_search" => self.web = true,
            "mcp" => self.mcp = true,
            "view_image" => self.image = true,
            "spawn_agent" | "send_input" | "wait_agent" | "close_agent" | "resume_agent" => self.agents = true,
            _ => self.add_mcp_tool(entry),
        }
    }

    /// Adds `mcp__SERVER__TOOL`, or a bare name.
    fn add_mcp_tool(&mut self, entry: &str) {
        let inner = entry.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        match inner {
            Some((server, tool)) => self.of_server.push((server.to_owned(), tool.to_owned())),
            None => self.named.push(entry.to_owned()),
        }
    }
}

/// Returns the session's servers, by name.
fn build_session_servers(
    order: &LaunchRequest<'_>,
    rules: &mut CodexSessionRules,
) -> Result<Map<String, Value>, UnsupportedOperation> {
    let mut servers = Map::new();
    if rules.blocked.mcp {
        return Ok(servers);
    }
    for (name, config) in &order.config.mcp_servers {
        let mut server = match (&config.command, &config.url) {
            (Some(command), _) => stdio_server(command, config, order, &mut rules.env),
            (None, Some(url)) => http_server(name, url, config, &mut rules.env)?,
            (None, None) => {
                return Err(UnsupportedOperation::new(format!("MCP server `{name}` has no command and no url")));
            }
        };
        let approval =
            if config.trust || rules.allowed.mcp || rules.allows_everything() { "approve" } else { "prompt" };
        server.insert("default_tools_approval_mode".to_owned(), json!(approval));
        if let Some(tools) = &config.include_tools {
            server.insert("enabled_tools".to_owned(), json!(tools));
        }
        let off = disabled_tools(name, &config.exclude_tools, &rules.blocked);
        if !off.is_empty() {
            server.insert("disabled_tools".to_owned(), json!(off));
        }
        servers.insert(name.clone(), Value::Object(server));
    }
    Ok(servers)
}

/// Returns the overrides for a server of the user that prevent blocked tools from running.
fn build_user_overrides(name: &str, excluded: &[String], blocked: &CodexToolSet) -> Map<String, Value> {
    let mut over = Map::new();
    if blocked.mcp {
        over.insert("enabled".to_owned(), json!(false));
        return over;
    }
    let off = disabled_tools(name, excluded, blocked);
    if off.len() > excluded.len() {
        over.insert("disabled_tools".to_owned(), json!(off));
    }
    over
}

fn disabled_tools(server: &str, excluded: &[String], blocked: &CodexToolSet) -> Vec<String> {
    let of_server = blocked.of_server.iter().filter(|(of, _)| of == server).map(|(_, tool)| tool);
    excluded.iter().chain(of_server).chain(&blocked.named).cloned().collect()
}

fn stdio_server(
    command: &str,
    config: &McpServerConfig,
    order: &LaunchRequest<'_>,
    env: &mut Vec<(String, String)>,
) -> Map<String, Value> {
    let mut names = Vec::new();
    let mut exports = String::new();
    for (name, value) in &config.env {
        if is_variable_free(name, value, order, env) {
            names.push(name.clone());
            env.push((name.clone(), value.clone()));
        } else {
            let other = fresh_variable(env);
            exports.push_str(&format!("export {name}=\"${other}\"; "));
            names.push(other.clone());
            env.push((other, value.clone()));
        }
    }
    let mut server = Map::new();
    if exports.is_empty() {
        server.insert("command".to_owned(), json!(command));
        server.insert("args".to_owned(), json!(config.args));
    } else {
        let head = ["-c".to_owned(), format!("{exports}exec \"$@\""), "sh".to_owned(), command.to_owned()];
        let args: Vec<_> = head.iter().chain(&config.args).collect();
        server.insert("command".to_owned(), json!("sh"));
        server.insert("args".to_owned(), json!(args));
    }
    if !names.is_empty() {
        server.insert("env_vars".to_owned(), json!(names));
    }
    server
}

/// Returns whether the variable can be set for Codex itself without affecting it or another server.
fn is_variable_free(name: &str, value: &str, order: &LaunchRequest<'_>, env: &[(String, String)]) -> bool {
    let own = ["CODEX_", "OPENAI_", "RUST_"].iter().any(|prefix| name.starts_with(prefix));
    let taken = env.iter().any(|(known, other)| known == name && other != value);
    let set = order.host.env_var(name).is_some_and(|other| other != value);
    !own && !taken && !set
}

/// Returns a variable name that is not in use.
fn fresh_variable(env: &[(String, String)]) -> String {
    format!("SB_MCP_{}", env.len())
}

fn http_server(
    name: &str,
    url: &str,
    config: &McpServerConfig,
    env: &mut Vec<(String, String)>,
) -> Result<Map<String, Value>, UnsupportedOperation> {
    if config.transport == Some(McpTransport::Sse) {
        let what = format!("MCP server `{name}` speaks server-sent events, which Codex does not");
        return Err(
            UnsupportedOperation::new(what).with_hint("use the server's streamable HTTP address, with type `http`")
        );
    }
    let mut headers = Map::new();
    for (header, value) in &config.headers {
        let variable = fresh_variable(env);
        headers.insert(header.clone(), json!(variable));
        env.push((variable, value.clone()));
    }
    let mut server = Map::new();
    server.insert("url".to_owned(), json!(url));
    if !headers.is_empty() {
        server.insert("env_http_headers".to_owned(), Value::Object(headers));
    }
    Ok(server)
}
