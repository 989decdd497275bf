//! Changes of a conversation's settings. A running agent is sent what it supports; for the rest, its process ends and
//! the session is resumed with the new settings.

use std::collections::BTreeMap;

use switchboard_agents::AgentCommand;
use switchboard_client::{ModeRequest, ModelRequest, OptionRequest};
use switchboard_engine::{CommandError, SessionHandle};
use switchboard_event::{ApprovalMode, McpServerConfig, SandboxMode, SessionConfig};

use super::Conversation;
use crate::{Problem, service::SessionLocation};

/// The settings to change; those that are absent stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingChanges {
    pub model: Option<String>,
    pub mode: Option<String>,
    pub options: BTreeMap<String, String>,
    pub working_directory: Option<String>,
    pub approval_mode: Option<ApprovalMode>,
    pub sandbox_mode: Option<SandboxMode>,
    pub writable_roots: Option<Vec<String>>,
    pub network_access: Option<bool>,
    pub mcp_servers: Option<BTreeMap<String, McpServerConfig>>,
}

impl TryFrom<SessionConfig> for SettingChanges {
    type Error = &'static str;

    /// Fails with the name of a setting that cannot be changed.
    fn try_from(config: SessionConfig) -> Result<Self, Self::Error> {
        let fixed = [
            (config.agent_type.is_some(), "agentType"),
            (config.project_id.is_some(), "projectId"),
            (config.allowed_tools.is_some(), "allowedTools"),
            (config.blocked_tools.is_some(), "blockedTools"),
            (config.max_turns.is_some(), "maxTurns"),
            (config.writable_paths.is_some(), "writablePaths"),
            (config.allowed_domains.is_some(), "allowedDomains"),
            (config.published_ports.is_some(), "publishedPorts"),
            (config.node.is_some(), "node"),
            (config.labels.is_some(), "labels"),
        ];
        if let Some((_, field)) = fixed.into_iter().find(|(is_set, _)| *is_set) {
            return Err(field);
        }
        Ok(Self {
            model: config.model,
            mode: config.mode,
            options: config.options,
            working_directory: config.working_directory,
            approval_mode: config.approval_mode,
            sandbox_mode: config.sandbox_mode,
            writable_roots: config.writable_roots,
            network_access: config.network_access,
            mcp_servers: Some(config.mcp_servers).filter(|servers| !servers.is_empty()),
        })
    }
}

impl SettingChanges {
    /// Removes the settings that have the wanted value already.
    fn without_current(mut self, current: &SessionConfig) -> Self {
        fn clear_if_equal<T: PartialEq>(new: &mut Option<T>, old: Option<&T>) {
            if new.as_ref() == old {
                *new = None;
            }
        }
        clear_if_equal(&mut self.model, current.model.as_ref());
        clear_if_equal(&mut self.mode, current.mode.as_ref());
        clear_if_equal(&mut self.working_directory, current.working_directory.as_ref());
        clear_if_equal(&mut self.approval_mode, current.approval_mode.as_ref());
        clear_if_equal(&mut self.sandbox_mode, current.sandbox_mode.as_ref());
        clear_if_equal(&mut self.writable_roots, current.writable_roots.as_ref());
        clear_if_equal(&mut self.network_access, current.network_access.as_ref());
        clear_if_equal(&mut self.mcp_servers, Some(&current.mcp_servers));
        self.options.retain(|id, value| current.options.get(id) != Some(value));
        self
    }

    /// Returns whether only a new process of the agent can have the settings.
    fn needs_restart(&self) -> bool {
        self.working_directory.is_some()
            || self.approval_mode.is_some()
            || self.sandbox_mode.is_some()
            || self.writable_roots.is_some()
            || self.network_access.is_some()
            || self.mcp_servers.is_some()
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn config(&self) -> SessionConfig {
        SessionConfig {
            model: self.model.clone(),
            mode: self.mode.clone(),
            options: self.options.clone(),
            working_directory: self.working_directory.clone(),
            approval_mode: self.approval_mode,
            sandbox_mode: self.sandbox_mode,
            writable_roots: self.writable_roots.clone(),
            network_access: self.network_access,
            mcp_servers: self.mcp_servers.clone().unwrap_or_default(),
            ..SessionConfig::default()
        }
    }

    /// Returns the commands that make these changes in a running agent.
    fn commands(&self) -> Vec<AgentCommand> {
        let option = |(id, value): (&String, &String)| AgentCommand::SetOption { id: id.clone(), value: value.clone() };
        let model = self.model.clone().map(AgentCommand::SetModel);
        let mode = self.mode.clone().map(AgentCommand::SetMode);
        model.into_iter().chain(mode).chain(self.options.iter().map(option)).collect()
    }
}

impl Conversation {
    /// Changes the settings. A turn must not be in progress if the agent has to be restarted.
    pub async fn change(&self, changes: &SettingChanges) -> Result<(), Problem> {
        let _lock = self.lifecycle_lock().lock().await;
        let changes = changes.clone().without_current(&self.settings().await?);
        if changes.is_empty() {
            return Ok(());
        }
        match self.service().locate_session(self.id()).await? {
            SessionLocation::Here(session) => {
                if changes.needs_restart() || !send_changes(&session, &changes).await? {
                    self.end_run(&session).await?;
                    self.start_run(changes.config()).await?;
                }
                Ok(())
            }
            SessionLocation::Ended(_) => self.start_run(changes.config()).await,
            SessionLocation::Elsewhere(_) => self.forward_changes(&changes).await,
        }
    }

    /// Changes the settings of a session that another process runs.
    async fn forward_changes(&self, changes: &SettingChanges) -> Result<(), Problem> {
        if changes.needs_restart() {
            let detail = "another process runs the session; its directory, approvals and sandbox cannot be changed until it has ended";
            return Err(Problem::conflict("elsewhere", detail));
        }
        let (service, id) = (self.service(), self.id());
        if let Some(model) = changes.model.clone() {
            service.set_model(id, &ModelRequest { model }).await?;
        }
        if let Some(mode) = changes.mode.clone() {
            service.set_mode(id, &ModeRequest { mode }).await?;
        }
        for (option, value) in changes.options.clone() {
            service.set_option(id, &OptionRequest { id: option, value }).await?;
        }
        Ok(())
    }
}

/// Sends the changes to a running agent. Returns false if it needs a restart; the changes that it received already are
/// also settings of its next process.
async fn send_changes(session: &SessionHandle, changes: &SettingChanges) -> Result<bool, Problem> {
    for command in changes.commands() {
        if !is_supported(session, &command) {
            return Ok(false);
        }
        match session.send_command(command).await {
            Ok(()) => {}
            Err(CommandError::Ended) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

fn is_supported(session: &SessionHandle, command: &AgentCommand) -> bool {
    let abilities = session.agent().abilities;
    match command {
        AgentCommand::SetModel(_) => abilities.set_model,
        AgentCommand::SetMode(_) => abilities.set_mode,
        _ => true,
    }
}
