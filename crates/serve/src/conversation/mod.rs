//! Conversations: sessions that stay open between turns, for protocols with which clients do more than follow. A
//! conversation outlives the agent's process: when that has ended, the next prompt resumes the session natively.

mod changes;
mod watch;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use switchboard_agents::{Agent, AgentCommand, AgentPrompt};
use switchboard_client::{Answered, ApprovalAnswer, CommandRequest, FollowUpRequest, ImageData};
use switchboard_dialects::Dialect;
use switchboard_engine::{CommandError, RequestAudience, SessionHandle, StartRequest};
use switchboard_event::{Id, Info, SessionConfig, SessionState};
use tokio::sync::Mutex;

use crate::{Problem, Service, feed::FeedStart, requests::PromptRequest, service::SessionLocation};

pub use crate::agent_inventory::CapabilityCache;
pub use changes::SettingChanges;
pub use watch::{EventWatch, MessageWatch};

/// How long an agent may take to end before its next process starts.
const END_TIMEOUT: Duration = Duration::from_secs(15);

/// The time between two checks of a session that another client is just starting or ending.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// A session that stays open between turns. Dropping it does not end the session.
#[derive(Clone)]
pub struct Conversation(Arc<ConversationState>);

struct ConversationState {
    service: Service,
    id: Id,
    agent: &'static Agent,
    /// Held while the agent's process is started or stopped.
    lifecycle: Mutex<()>,
}

impl Conversation {
    pub(super) fn new(service: Service, id: Id, agent: &'static Agent) -> Self {
        Self(Arc::new(ConversationState { service, id, agent, lifecycle: Mutex::new(()) }))
    }

    #[must_use]
    pub fn id(&self) -> &Id {
        &self.0.id
    }

    #[must_use]
    pub fn agent(&self) -> &'static Agent {
        self.0.agent
    }

    #[must_use]
    pub fn service(&self) -> &Service {
        &self.0.service
    }

    pub(super) fn lifecycle_lock(&self) -> &Mutex<()> {
        &self.0.lifecycle
    }

    /// Starts the agent's process if it is not running, which resumes the session.
    async fn ensure_running(&self) -> Result<(), Problem> {
        let _lock = self.lifecycle_lock().lock().await;
        match self.service().locate_session(self.id()).await? {
            SessionLocation::Here(_) | SessionLocation::Elsewhere(_) => Ok(()),
            SessionLocation::Ended(_) => self.start_run(SessionConfig::default()).await,
        }
    }

    /// Changes the settings, and sends a prompt. A session that has ended is resumed.
    pub async fn prompt(&self, prompt: AgentPrompt, changes: &SettingChanges) -> Result<(), Problem> {
        self.change(changes).await?;
        let _lock = self.lifecycle_lock().lock().await;
        loop {
            match self.service().locate_session(self.id()).await? {
                SessionLocation::Here(session) => match session.send_prompt(prompt.clone()).await {
                    // The session ended just now, and its next run gets the prompt.
                    Err(CommandError::Ended) => self.wait_for_end(&session).await?,
                    sent => return Ok(sent?),
                },
                SessionLocation::Elsewhere(_) => {
                    return self.service().prompt(self.id(), &to_prompt_request(prompt)).await.map(drop);
                }
                // Its node continues it.
                SessionLocation::Ended(stored) if self.service().other_node(&stored).is_some() => {
                    return self.service().prompt_open(self.id(), &to_prompt_request(prompt)).await.map(drop);
                }
                SessionLocation::Ended(_) => self.start_run(SessionConfig::default()).await?,
            }
        }
    }

    /// Sends a slash command. A session that has ended is resumed.
    pub async fn send_slash_command(&self, name: &str, arguments: &str) -> Result<(), Problem> {
        self.ensure_running().await?;
        let request = CommandRequest { name: name.to_owned(), arguments: arguments.to_owned() };
        self.service().send_slash_command(self.id(), &request).await.map(drop)
    }

    /// Stops the current turn.
    pub async fn interrupt(&self) -> Result<(), Problem> {
        self.service().interrupt(self.id()).await.map(drop)
    }

    /// Answers a request of the agent. The first answer counts.
    pub async fn answer(&self, request: &str, answer: &ApprovalAnswer) -> Result<Answered, Problem> {
        self.service().answer(self.id(), request, answer).await
    }

    /// Ends the agent's process at once. The session can be resumed.
    pub async fn cancel(&self) -> Result<(), Problem> {
        self.service().cancel(self.id()).await.map(drop)
    }

    /// Ends the agent's process after the current turn, if this process runs it. The session can be resumed.
    pub async fn close(&self) {
        if let Some(session) = self.service().engine().session(self.id()) {
            // It may have ended by itself.
            drop(session.send_command(AgentCommand::Close).await);
        }
    }

    pub async fn settings(&self) -> Result<SessionConfig, Problem> {
        Ok(self.service().session_record(self.id()).await?.parse_config()?)
    }

    /// Returns what the agent reported about itself in its last run.
    pub async fn info(&self) -> Result<Info, Problem> {
        if let Some(session) = self.service().engine().session(self.id()) {
            return Ok(session.info());
        }
        let id = self.id().clone();
        Ok(self.service().query_log(move |log| log.read_state(&id, SessionState::INFO_KINDS)).await?.info)
    }

    /// Waits until the agent's process, if it runs here, accepts a prompt. Returns false if it ended before that.
    pub async fn wait_until_ready(&self) -> bool {
        match self.service().engine().session(self.id()) {
            Some(session) => session.wait_until_ready().await,
            None => true,
        }
    }

    /// Returns whether a turn is in progress, as far as this process knows.
    #[must_use]
    pub fn is_in_turn(&self) -> bool {
        self.service().engine().session(self.id()).is_some_and(|session| session.is_in_turn())
    }

    /// Follows the session in a dialect, across all its runs.
    pub async fn follow_messages(&self, dialect: &'static Dialect, start: FeedStart) -> Result<MessageWatch, Problem> {
        MessageWatch::new(self.service().clone(), self.id().clone(), dialect, start).await
    }

    /// Follows the events of the session from the first, across all its runs.
    pub async fn follow_events(&self) -> Result<EventWatch, Problem> {
        EventWatch::new(self.service().clone(), self.id().clone()).await
    }

    /// Starts the next run of the agent, with additional settings.
    pub(super) async fn start_run(&self, config: SessionConfig) -> Result<(), Problem> {
        let service = self.service();
        loop {
            let SessionLocation::Ended(stored) = service.locate_session(self.id()).await? else { return Ok(()) };
            let wanted = StartRequest { config: config.clone(), ..service.conversation_request() };
            match service.resume(&stored, wanted).await {
                Ok(_) => return Ok(()),
                // Another client is doing the same.
                Err(problem) if problem.code == "running" || problem.code == "elsewhere" => {
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
                Err(problem) => return Err(problem),
            }
        }
    }

    /// Ends the agent's process so that it can be restarted. Fails during a turn.
    pub(super) async fn end_run(&self, session: &SessionHandle) -> Result<(), Problem> {
        if session.is_in_turn() {
            let detail = "a turn is in progress; the agent cannot change this setting before its end";
            return Err(Problem::conflict("turn_in_progress", detail).with_hint("wait for its end, or interrupt it"));
        }
        // It may have ended by itself.
        drop(session.send_command(AgentCommand::Close).await);
        self.wait_for_end(session).await
    }

    async fn wait_for_end(&self, session: &SessionHandle) -> Result<(), Problem> {
        let ended = tokio::time::timeout(END_TIMEOUT, session.wait_for_outcome()).await;
        let timed_out = |_| Problem::conflict("ending", format!("session {} is ending; try again", self.id()));
        ended.map(drop).map_err(timed_out)
    }
}

fn to_prompt_request(prompt: AgentPrompt) -> PromptRequest {
    let image = |image: switchboard_agents::PromptImage| ImageData { media_type: image.media_type, data: image.data };
    let images = prompt.images.into_iter().map(image).collect();
    PromptRequest::from(FollowUpRequest { prompt: prompt.text, images, ..FollowUpRequest::default() })
}

/// A session to start.
#[derive(Clone, Debug, Default)]
pub struct NewConversation {
    pub agent: String,
    pub config: SessionConfig,
    /// The program and its arguments, for an agent that is given by its command.
    pub command: Vec<String>,
    /// Environment variables for the agent.
    pub env: BTreeMap<String, String>,
}

impl Service {
    /// Starts a session that stays open between turns. The agent starts at once, without a prompt.
    pub async fn start_conversation(&self, new: NewConversation) -> Result<Conversation, Problem> {
        let NewConversation { agent, config, command, env } = new;
        let session =
            self.start_new(StartRequest { agent, config, command, env, ..self.conversation_request() }).await?;
        Ok(Conversation::new(self.clone(), session.id().clone(), session.agent()))
    }

    /// Returns the conversation of a stored session, whether it runs here, in another process, or has ended. Starts
    /// nothing.
    pub async fn find_conversation(&self, id: &str) -> Result<Conversation, Problem> {
        let stored = self.session_record(id).await?;
        let unknown = || Problem::conflict("unknown_agent", format!("unknown agent `{}`", stored.agent));
        let agent = switchboard_agents::find_agent(&stored.agent).ok_or_else(unknown)?;
        Ok(Conversation::new(self.clone(), stored.id.clone(), agent))
    }

    /// Starts a copy of a session that has had a turn.
    pub async fn fork_conversation(&self, id: &str, config: SessionConfig) -> Result<Conversation, Problem> {
        let stored = self.session_record(id).await?;
        let wanted = StartRequest { config, fork: true, ..self.conversation_request() };
        let session = self.resume(&stored, wanted).await?;
        Ok(Conversation::new(self.clone(), session.id().clone(), session.agent()))
    }

    pub async fn archive(&self, id: &str, archived: bool) -> Result<(), Problem> {
        let id = id.to_owned();
        self.query_log(move |log| log.set_archived(&id, archived)).await
    }

    fn conversation_request(&self) -> StartRequest {
        let limits = self.config().timeouts;
        StartRequest { audience: RequestAudience::Client, stay: true, timeouts: limits, ..StartRequest::default() }
    }
}
