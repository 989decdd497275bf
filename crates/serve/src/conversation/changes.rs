//! What is to be different in a conversation from now on. What a running agent can be told it is told; for the rest, its
//! process ends and the session is resumed with the new settings.

use std::collections::BTreeMap;

use switchboard_agents::AgentCommand;
use switchboard_engine::{CommandError, SessionHandle};
use switchboard_event::{ApprovalMode, McpServerConfig, SandboxMode, SessionConfig};

use super::Conversation;
use crate::{
    Problem,
    order::{ModeRequest, ModelRequest, OptionRequest},
    service::Place,
};

/// What is to be different from now on; what is not there stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The model.
    pub model: Option<String>,
    /// The agent's own mode.
    pub mode: Option<String>,
    /// The agent's own selectors.
    pub options: BTreeMap<String, String>,
    /// The folder to work in.
    pub working_directory: Option<String>,
    /// What the agent may do without asking.
    pub approval_mode: Option<ApprovalMode>,
    /// What its processes can reach.
    pub sandbox_mode: Option<SandboxMode>,
    /// Folders that may be written beside the workspace.
    pub writable_roots: Option<Vec<String>>,
    /// Whether what the agent runs may use the network.
    pub network_access: Option<bool>,
    /// MCP servers that the agent gets beside its own, in place of those that it was given before.
    pub mcp_servers: Option<BTreeMap<String, McpServerConfig>>,
}

impl TryFrom<SessionConfig> for Changes {
    type Error = &'static str;

    /// Returns the name of a setting that no change can be.
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

impl Changes {
    /// Only what really differs from the settings that hold.
    fn news(mut self, held: &SessionConfig) -> Self {
        fn news<T: PartialEq>(new: &mut Option<T>, old: Option<&T>) {
            if new.as_ref() == old {
                *new = None;
            }
        }
        news(&mut self.model, held.model.as_ref());
        news(&mut self.mode, held.mode.as_ref());
        news(&mut self.working_directory, held.working_directory.as_ref());
        news(&mut self.approval_mode, held.approval_mode.as_ref());
        news(&mut self.sandbox_mode, held.sandbox_mode.as_ref());
        news(&mut self.writable_roots, held.writable_roots.as_ref());
        news(&mut self.network_access, held.network_access.as_ref());
        news(&mut self.mcp_servers, Some(&held.mcp_servers));
        self.options.retain(|id, value| held.options.get(id) != Some(value));
        self
    }

    /// There is something that only another process of the agent can have.
    fn needs_another(&self) -> bool {
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

    /// As settings of a run.
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

    /// What a running agent can be told, one by one.
    fn commands(&self) -> Vec<AgentCommand> {
        let option = |(id, value): (&String, &String)| AgentCommand::SetOption { id: id.clone(), value: value.clone() };
        let model = self.model.clone().map(AgentCommand::SetModel);
        let mode = self.mode.clone().map(AgentCommand::SetMode);
        model.into_iter().chain(mode).chain(self.options.iter().map(option)).collect()
    }
}

impl Conversation {
    /// Changes how the session goes on.
    ///
    /// # Errors
    /// If a turn runs and the agent would have to be started again, or if it cannot be started so.
    pub async fn change(&self, changes: &Changes) -> Result<(), Problem> {
        let _alone = self.turnstile().lock().await;
        let news = changes.clone().news(&self.settings().await?);
        if news.is_empty() {
            return Ok(());
        }
        match self.service().place(self.id()).await? {
            Place::Here(session) => {
                if news.needs_another() || !tell(&session, &news).await? {
                    self.end(&session).await?;
                    self.start(news.config()).await?;
                }
                Ok(())
            }
            Place::Ended(_) => self.start(news.config()).await,
            Place::Elsewhere(_) => self.pass_on(&news).await,
        }
    }

    /// Another process runs the session, and can be told what its agent can be told.
    async fn pass_on(&self, news: &Changes) -> Result<(), Problem> {
        if news.needs_another() {
            let detail = "another process runs the session, and keeps its folder and its rules until it has ended";
            return Err(Problem::conflict("elsewhere", detail));
        }
        let (service, id) = (self.service(), self.id());
        if let Some(model) = news.model.clone() {
            service.set_model(id, &ModelRequest { model }).await?;
        }
        if let Some(mode) = news.mode.clone() {
            service.set_mode(id, &ModeRequest { mode }).await?;
        }
        for (option, value) in news.options.clone() {
            service.set_option(id, &OptionRequest { id: option, value }).await?;
        }
        Ok(())
    }
}

/// Tells a running agent. False if only another process of it can have that: then what it was told holds anyway, and the
/// settings of its next process say the same.
async fn tell(session: &SessionHandle, news: &Changes) -> Result<bool, Problem> {
    for command in news.commands() {
        if !can_be_told(session, &command) {
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

/// A running agent can be told this, if it makes sense to it.
fn can_be_told(session: &SessionHandle, command: &AgentCommand) -> bool {
    let abilities = session.agent().abilities;
    match command {
        AgentCommand::SetModel(_) => abilities.set_model,
        AgentCommand::SetMode(_) => abilities.set_mode,
        _ => true,
    }
}
