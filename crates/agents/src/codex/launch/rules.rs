//! Translates the session's settings to Codex's configuration, for both forms of launch.
//!
//! Nothing is written to the user's configuration: these settings override it and last as long as the process.

use serde_json::{Map, Value, json};
use switchboard_event::ApprovalMode;

use super::{
    config_file::{self, CodexConfigFile},
    mcp,
    tools::CodexToolSet,
};
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
        Ok(rules)
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
        let mut servers = mcp::build_session_servers(order, self)?;
        let own = files.iter().flat_map(CodexConfigFile::disabled_tools_by_server);
        for (name, server) in own {
            let over = mcp::build_user_overrides(&name, &server, &self.blocked);
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
