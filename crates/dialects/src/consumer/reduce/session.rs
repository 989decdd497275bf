//! State changes caused by messages about the session itself.

use serde::de::DeserializeOwned;
use switchboard_event::{Context, McpServer, Named, SessionStatus};

use super::super::{
    State,
    unified::{UnifiedMessage, VerbatimFields},
    wire::{Tokens, TurnTokens},
};

impl State {
    /// Begins a run, in which nothing is open.
    pub(super) fn begin_run(&mut self, message: &UnifiedMessage) {
        let about = &message.metadata;
        set_text(&mut self.session_id, about.get_text("session_id"));
        set_text(&mut self.agent, about.get_text("agent"));
        self.agent_session = about.get_text("agent_session").or(self.agent_session.take());
        self.run = about.read("run").unwrap_or(self.run + 1);
        self.connected = true;
        self.reset_activity();
        self.apply_settings(about);
        self.apply_context(about);
    }

    /// Applies changed settings; reported values replace the previous ones.
    pub(super) fn apply_settings(&mut self, about: &VerbatimFields) {
        set_text(&mut self.model, about.first_text(&["model", "model_id"]));
        set_text(&mut self.cwd, about.get_text("cwd"));
        set_text(&mut self.permission_mode, about.first_text(&["mode", "permissionMode", "permission_mode"]));
        set_option(&mut self.provider, about.first_text(&["provider", "provider_id"]));
        set_option(&mut self.title, about.get_text("title"));
        set_option(&mut self.version, about.get_text("version"));
        set_list(&mut self.tools, about, "tools");
        set_list(&mut self.modes, about, "modes");
        set_list(&mut self.models, about, "models");
        set_list(&mut self.options, about, "options");
        self.apply_named_lists(about);
    }

    /// Applies lists that some sources report as names and others as objects.
    fn apply_named_lists(&mut self, about: &VerbatimFields) {
        let named = ["commands", "slash_commands"].into_iter().find_map(|key| read_named(about, key));
        if let Some(commands) = named {
            self.slash_commands = commands.iter().map(|command| command.name.clone()).collect();
            self.commands = commands;
        }
        if let Some(agents) = read_names(about, "agents") {
            self.agents = agents;
        }
        let servers: Vec<McpServer> = about.get_list(if about.get("mcp").is_some() { "mcp" } else { "mcp_servers" });
        if !servers.is_empty() {
            self.mcp_servers = servers;
        }
    }

    /// Applies the session status, context usage and plan.
    pub(super) fn apply_status(&mut self, message: &UnifiedMessage) {
        let about = &message.metadata;
        if let Some(status) = about.read::<SessionStatus>("status") {
            self.status = Some(status);
        }
        let said = about.read("is_compacting");
        self.is_compacting = said.unwrap_or(self.status == Some(SessionStatus::Compacting));
        if about.get("plan").is_some() {
            self.plan = about.get_list("plan");
        }
        self.apply_context(about);
    }

    fn apply_context(&mut self, about: &VerbatimFields) {
        let Some(context) = about.read::<Context>("context") else { return };
        self.context = Some(context);
        self.context_used_percent = used_percent(context).unwrap_or(self.context_used_percent);
    }

    /// Adds the usage of an ended turn, once.
    pub(super) fn apply_result(&mut self, message: &UnifiedMessage) {
        let about = &message.metadata;
        self.num_turns += 1;
        self.usage.add(&Tokens::from(about.read::<TurnTokens>("usage").unwrap_or_default()));
        let cost: f64 = about.read("cost_usd").unwrap_or_default();
        self.total_cost_usd = (self.total_cost_usd + cost).clamp(0.0, f64::MAX);
        self.last_duration_ms = about.read("duration_ms").or(self.last_duration_ms);
        set_text(&mut self.model, about.get_text("model"));
    }

    /// Ends a run, after which nothing is open.
    pub(super) fn apply_lifecycle(&mut self, message: &UnifiedMessage) {
        if message.metadata.get_text("subtype").as_deref() == Some("session_ended") {
            self.connected = false;
            self.reset_activity();
        }
    }

    /// Resets the status and drops open requests.
    fn reset_activity(&mut self) {
        self.status = Some(SessionStatus::Idle);
        self.is_compacting = false;
        self.pending_permissions.clear();
    }
}

fn set_text(field: &mut String, told: Option<String>) {
    if let Some(told) = told {
        *field = told;
    }
}

fn set_option(field: &mut Option<String>, told: Option<String>) {
    if told.is_some() {
        *field = told;
    }
}

fn set_list<T: DeserializeOwned>(field: &mut Vec<T>, about: &VerbatimFields, name: &str) {
    if about.get(name).is_some() {
        *field = about.get_list(name);
    }
}

/// Reads named entries; accepts plain names as well.
fn read_named(about: &VerbatimFields, key: &str) -> Option<Vec<Named>> {
    let names: Vec<String> = about.get_list(key);
    let named: Vec<Named> = about.get_list(key);
    about.get(key)?;
    Some(if named.is_empty() { names.into_iter().map(Named::new).collect() } else { named })
}

fn read_names(about: &VerbatimFields, key: &str) -> Option<Vec<String>> {
    read_named(about, key).map(|named| named.into_iter().map(|named| named.name).collect())
}

#[expect(clippy::cast_precision_loss, reason = "a percentage needs no more")]
fn used_percent(context: Context) -> Option<f64> {
    let (used, size) = (context.used?, context.size.filter(|size| *size > 0)?);
    Some((used as f64 / size as f64 * 1000.0).round() / 10.0)
}
