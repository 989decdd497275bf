//! What messages about the session itself change.

use serde::de::DeserializeOwned;
use switchboard_event::{Context, McpServer, Named, SessionStatus};

use super::super::{
    State,
    unified::{Fields, Unified},
    wire::{Tokens, TurnTokens},
};

impl State {
    /// A run began: nothing is open in it.
    pub(super) fn begin(&mut self, message: &Unified) {
        let about = &message.metadata;
        set(&mut self.session_id, about.text("session_id"));
        set(&mut self.agent, about.text("agent"));
        self.agent_session = about.text("agent_session").or(self.agent_session.take());
        self.run = about.read("run").unwrap_or(self.run + 1);
        self.connected = true;
        self.settle();
        self.learn(about);
        self.see_context(about);
    }

    /// The session is set up differently: what is told takes the place of what was.
    pub(super) fn learn(&mut self, about: &Fields) {
        set(&mut self.model, about.first_text(&["model", "model_id"]));
        set(&mut self.cwd, about.text("cwd"));
        set(&mut self.permission_mode, about.first_text(&["mode", "permissionMode", "permission_mode"]));
        set_option(&mut self.provider, about.first_text(&["provider", "provider_id"]));
        set_option(&mut self.title, about.text("title"));
        set_option(&mut self.version, about.text("version"));
        set_list(&mut self.tools, about, "tools");
        set_list(&mut self.modes, about, "modes");
        set_list(&mut self.models, about, "models");
        set_list(&mut self.options, about, "options");
        self.learn_names(about);
    }

    /// What is told as names only by some, and with more about it by others.
    fn learn_names(&mut self, about: &Fields) {
        let named = ["commands", "slash_commands"].into_iter().find_map(|key| named(about, key));
        if let Some(commands) = named {
            self.slash_commands = commands.iter().map(|command| command.name.clone()).collect();
            self.commands = commands;
        }
        if let Some(agents) = named_list(about, "agents") {
            self.agents = agents;
        }
        let servers: Vec<McpServer> = about.list(if about.get("mcp").is_some() { "mcp" } else { "mcp_servers" });
        if !servers.is_empty() {
            self.mcp_servers = servers;
        }
    }

    /// What the session is doing, how full its context is, what it plans.
    pub(super) fn status(&mut self, message: &Unified) {
        let about = &message.metadata;
        if let Some(status) = about.read::<SessionStatus>("status") {
            self.status = Some(status);
        }
        let said = about.read("is_compacting");
        self.is_compacting = said.unwrap_or(self.status == Some(SessionStatus::Compacting));
        if about.get("plan").is_some() {
            self.plan = about.list("plan");
        }
        self.see_context(about);
    }

    fn see_context(&mut self, about: &Fields) {
        let Some(context) = about.read::<Context>("context") else { return };
        self.context = Some(context);
        self.context_used_percent = percent(context).unwrap_or(self.context_used_percent);
    }

    /// A turn ended: what it used is added, once.
    pub(super) fn result(&mut self, message: &Unified) {
        let about = &message.metadata;
        self.num_turns += 1;
        self.usage.add(&Tokens::from(about.read::<TurnTokens>("usage").unwrap_or_default()));
        let cost: f64 = about.read("cost_usd").unwrap_or_default();
        self.total_cost_usd = (self.total_cost_usd + cost).clamp(0.0, f64::MAX);
        self.last_duration_ms = about.read("duration_ms").or(self.last_duration_ms);
        set(&mut self.model, about.text("model"));
    }

    /// A run ended: nothing is open any more.
    pub(super) fn lifecycle(&mut self, message: &Unified) {
        if message.metadata.text("subtype").as_deref() == Some("session_ended") {
            self.connected = false;
            self.settle();
        }
    }

    /// Nothing goes on, and nobody is asked.
    fn settle(&mut self) {
        self.status = Some(SessionStatus::Idle);
        self.is_compacting = false;
        self.pending_permissions.clear();
    }
}

fn set(field: &mut String, told: Option<String>) {
    if let Some(told) = told {
        *field = told;
    }
}

fn set_option(field: &mut Option<String>, told: Option<String>) {
    if told.is_some() {
        *field = told;
    }
}

fn set_list<T: DeserializeOwned>(field: &mut Vec<T>, about: &Fields, name: &str) {
    if about.get(name).is_some() {
        *field = about.list(name);
    }
}

/// Things with a name, also where only names are told.
fn named(about: &Fields, key: &str) -> Option<Vec<Named>> {
    let names: Vec<String> = about.list(key);
    let named: Vec<Named> = about.list(key);
    about.get(key)?;
    Some(if named.is_empty() { names.into_iter().map(Named::new).collect() } else { named })
}

fn named_list(about: &Fields, key: &str) -> Option<Vec<String>> {
    named(about, key).map(|named| named.into_iter().map(|named| named.name).collect())
}

#[expect(clippy::cast_precision_loss, reason = "a percentage needs no more")]
fn percent(context: Context) -> Option<f64> {
    let (used, size) = (context.used?, context.size.filter(|size| *size > 0)?);
    Some((used as f64 / size as f64 * 1000.0).round() / 10.0)
}
