//! Opening a conversation: a new one, or one that is in the log.

use std::collections::BTreeMap;

use switchboard_engine::{RequestAudience, StartRequest};
use switchboard_event::SessionConfig;

use super::Conversation;
use crate::{Problem, Service};

/// A session to open.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The agent.
    pub agent: String,
    /// Its settings.
    pub config: SessionConfig,
    /// The program and its arguments, for an agent that is named by its command.
    pub command: Vec<String>,
    /// Variables to set for the agent.
    pub env: BTreeMap<String, String>,
}

impl Service {
    /// Opens a session that stays open between turns. Its agent starts at once, and has nothing to do yet.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn converse(&self, opening: Opening) -> Result<Conversation, Problem> {
        let Opening { agent, config, command, env } = opening;
        let session = self.begin(StartRequest { agent, config, command, env, ..self.staying() }).await?;
        Ok(Conversation::new(self.clone(), session.id().clone(), session.agent()))
    }

    /// Takes up a session of the log: one that runs here, one that another process runs, or one that has ended. Starts
    /// nothing.
    ///
    /// # Errors
    /// If there is none, or its agent is not known here.
    pub async fn take_up(&self, id: &str) -> Result<Conversation, Problem> {
        let stored = self.stored(id).await?;
        let unknown = || Problem::conflict("unknown_agent", format!("there is no agent `{}` here", stored.agent));
        let agent = switchboard_agents::find_agent(&stored.agent).ok_or_else(unknown)?;
        Ok(Conversation::new(self.clone(), stored.id.clone(), agent))
    }

    /// Opens a copy of a session that has had a turn, as a session of its own.
    ///
    /// # Errors
    /// If there is none, or its agent cannot continue a copy.
    pub async fn copy(&self, id: &str, config: SessionConfig) -> Result<Conversation, Problem> {
        let stored = self.stored(id).await?;
        let wanted = StartRequest { config, fork: true, ..self.staying() };
        let session = self.resume(&stored, wanted).await?;
        Ok(Conversation::new(self.clone(), session.id().clone(), session.agent()))
    }

    /// Puts a session away, or takes it out again.
    ///
    /// # Errors
    /// If there is none, or the log cannot be written.
    pub async fn archive(&self, id: &str, archived: bool) -> Result<(), Problem> {
        let id = id.to_owned();
        self.ask(move |log| log.set_archived(&id, archived)).await
    }

    /// A session that stays, with nothing said about it yet.
    pub(super) fn staying(&self) -> StartRequest {
        let limits = self.setup().limits;
        StartRequest { audience: RequestAudience::Client, stay: true, timeouts: limits, ..StartRequest::default() }
    }
}
