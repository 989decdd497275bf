//! What the session's settings mean to Codex, however it is run: its configuration for this session alone.
//!
//! Nothing is written to the user's configuration: what is set here lies over it and goes with the process.

use serde_json::{Map, Value, json};
use switchboard_event::ApprovalMode;

use super::{
    config_file::{self, ConfigFile},
    mcp,
    tools::Tools,
};
use crate::{Order, Unsupported};

/// Codex's configuration for one session.
pub struct Rules {
    /// What the agent may do without asking.
    pub mode: ApprovalMode,
    /// The tools that never run.
    pub blocked: Tools,
    /// The tools that need no approval.
    pub allowed: Tools,
    /// Settings that lie over the user's.
    pub config: Map<String, Value>,
    /// Variables that the settings refer to.
    pub env: Vec<(String, String)>,
    /// What is weaker than it was asked for.
    pub weaker: Vec<String>,
}

impl Rules {
    /// The rules of an order.
    pub fn of(order: &Order<'_>) -> Result<Self, Unsupported> {
        let config = order.config;
        let mut rules = Self {
            mode: config.approval_mode.unwrap_or_default(),
            blocked: Tools::of(config.blocked_tools.as_ref()),
            allowed: Tools::of(config.allowed_tools.as_ref()),
            config: Map::new(),
            env: Vec::new(),
            weaker: Vec::new(),
        };
        let files = config_file::files(order.host, order.cwd);
        rules.block()?;
        rules.search(&files);
        rules.serve(order, &files)?;
        Ok(rules)
    }

    /// Everything is done unasked.
    pub fn is_free(&self) -> bool {
        self.mode == ApprovalMode::AutoAll
    }

    /// Something can only be kept from running by declining it when Codex asks.
    pub fn must_ask(&self) -> bool {
        !self.is_free() || self.blocked.command || self.blocked.edit
    }

    /// Takes a feature away.
    pub fn without(&mut self, feature: &str) {
        let features = self.config.entry("features").or_insert_with(|| json!({}));
        features[feature] = json!(false);
    }

    /// Tools that Codex can be told not to offer.
    fn block(&mut self) -> Result<(), Unsupported> {
        if self.blocked.read && !self.blocked.command {
            let what = "Codex reads files by running commands, so that reading alone cannot be blocked";
            return Err(Unsupported::new(what).with_hint("block `command`"));
        }
        if self.blocked.command {
            self.without("shell_tool");
        }
        if self.blocked.image || self.blocked.read {
            self.without("view_image");
        }
        if self.blocked.agents {
            self.without("multi_agent");
        }
        Ok(())
    }

    /// The model's provider searches the web, and Codex cannot ask before that: it is off where one must ask.
    fn search(&mut self, files: &[ConfigFile]) {
        let unasked = !self.is_free() && !self.allowed.web;
        if !self.blocked.web && !unasked {
            return;
        }
        self.config.insert("web_search".to_owned(), json!("disabled"));
        let off_anyway = files.iter().any(|file| file.text("web_search").is_some_and(|mode| mode == "disabled"));
        if !self.blocked.web && !off_anyway {
            let why = "web search is off, because Codex cannot ask before it searches; allow the tool `web` to have it";
            self.weaker.push(why.to_owned());
        }
    }

    /// MCP servers: those of the session, and what is blocked of the user's own.
    fn serve(&mut self, order: &Order<'_>, files: &[ConfigFile]) -> Result<(), Unsupported> {
        let mut servers = mcp::of_session(order, self)?;
        let own = files.iter().flat_map(ConfigFile::servers);
        for (name, server) in own {
            let over = mcp::of_user(&name, &server, &self.blocked);
            if !over.is_empty() && !servers.contains_key(&name) {
                servers.insert(name, Value::Object(over));
            }
        }
        if self.blocked.mcp {
            // They bring servers of their own.
            self.without("apps");
            self.without("plugins");
        }
        if !servers.is_empty() {
            self.config.insert("mcp_servers".to_owned(), Value::Object(servers));
        }
        Ok(())
    }
}
