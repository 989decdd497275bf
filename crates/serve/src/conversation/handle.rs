//! One conversation: prompting, answering, stopping, whoever runs the session and whether or not its agent runs just now.

use std::{sync::Arc, time::Duration};

use switchboard_agents::{Agent, AgentCommand, AgentPrompt};
use switchboard_client::Answered;
use switchboard_dialects::Dialect;
use switchboard_engine::{CommandError, SessionHandle, StartRequest};
use switchboard_event::{Id, Info, SessionConfig, SessionState};
use tokio::sync::Mutex;

use super::{Changes, EventWatch, Watch};
use crate::{
    Problem, Service,
    feed::Begin,
    order::{ApprovalAnswer, CommandRequest, ImageData, PromptRequest},
    service::Place,
};

/// How long an agent may take to end when another process is to take its place.
const ENDING: Duration = Duration::from_secs(15);

/// How long we wait before we look again at a session that somebody else is just starting or ending.
const BETWEEN: Duration = Duration::from_millis(20);

/// A session that stays open between turns. Whoever drops it decides nothing.
#[derive(Clone)]
pub struct Conversation(Arc<Inner>);

struct Inner {
    service: Service,
    id: Id,
    agent: &'static Agent,
    /// Starting and stopping the agent is done by one at a time.
    turnstile: Mutex<()>,
}

impl Conversation {
    pub(super) fn new(service: Service, id: Id, agent: &'static Agent) -> Self {
        Self(Arc::new(Inner { service, id, agent, turnstile: Mutex::new(()) }))
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &Id {
        &self.0.id
    }

    /// Its agent.
    #[must_use]
    pub fn agent(&self) -> &'static Agent {
        self.0.agent
    }

    /// The server that it is a conversation of.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.0.service
    }

    pub(super) fn turnstile(&self) -> &Mutex<()> {
        &self.0.turnstile
    }

    /// Has the agent's process run: a session that has ended is resumed.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn wake(&self) -> Result<(), Problem> {
        let _alone = self.turnstile().lock().await;
        match self.service().place(self.id()).await? {
            Place::Here(_) | Place::Elsewhere(_) => Ok(()),
            Place::Ended(_) => self.start(SessionConfig::default()).await,
        }
    }

    /// Gives the agent a prompt. What is to be different is changed first; a session that has ended is resumed.
    ///
    /// # Errors
    /// If the agent cannot be started so, or takes no such prompt.
    pub async fn prompt(&self, prompt: AgentPrompt, changes: &Changes) -> Result<(), Problem> {
        self.change(changes).await?;
        let _alone = self.turnstile().lock().await;
        loop {
            match self.service().place(self.id()).await? {
                Place::Here(session) => match session.send_prompt(prompt.clone()).await {
                    // It ended just now: the next run takes the prompt.
                    Err(CommandError::Ended) => self.ended(&session).await?,
                    told => return Ok(told?),
                },
                Place::Elsewhere(_) => {
                    return self.service().prompt(self.id(), &request(prompt)).await.map(drop);
                }
                Place::Ended(_) => self.start(SessionConfig::default()).await?,
            }
        }
    }

    /// Gives the agent one of its slash commands. A session that has ended is resumed.
    ///
    /// # Errors
    /// If the agent cannot be started, or has no such command.
    pub async fn slash(&self, name: &str, arguments: &str) -> Result<(), Problem> {
        self.wake().await?;
        let request = CommandRequest { name: name.to_owned(), arguments: arguments.to_owned() };
        self.service().slash(self.id(), &request).await.map(drop)
    }

    /// Stops the turn; the session goes on.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn interrupt(&self) -> Result<(), Problem> {
        self.service().interrupt(self.id()).await.map(drop)
    }

    /// Answers what the agent asks. The first answer counts.
    ///
    /// # Errors
    /// If nobody asks that any more, or the answer makes no sense.
    pub async fn answer(&self, request: &str, answer: &ApprovalAnswer) -> Result<Answered, Problem> {
        self.service().answer(self.id(), request, answer).await
    }

    /// Ends the agent's process at once. The session can be taken up again.
    ///
    /// # Errors
    /// If there is no such session any more.
    pub async fn cancel(&self) -> Result<(), Problem> {
        self.service().cancel(self.id()).await.map(drop)
    }

    /// Has the agent's process end when its turn is over. The session can be taken up again. What another process runs
    /// goes on.
    pub async fn close(&self) {
        if let Some(session) = self.service().engine().session(self.id()) {
            // One that has ended by itself is as good.
            drop(session.send_command(AgentCommand::Close).await);
        }
    }

    /// The settings that hold.
    ///
    /// # Errors
    /// If there is no such session any more.
    pub async fn settings(&self) -> Result<SessionConfig, Problem> {
        Ok(self.service().stored(self.id()).await?.parse_config()?)
    }

    /// What the agent said about itself in its last run.
    ///
    /// # Errors
    /// If there is no such session any more.
    pub async fn info(&self) -> Result<Info, Problem> {
        if let Some(session) = self.service().engine().session(self.id()) {
            return Ok(session.info());
        }
        let id = self.id().clone();
        Ok(self.service().ask(move |log| log.read_state(&id, SessionState::INFO_KINDS)).await?.info)
    }

    /// Waits until the agent's process, if it runs here, is ready for a prompt. False if it ended before that.
    pub async fn ready(&self) -> bool {
        match self.service().engine().session(self.id()) {
            Some(session) => session.wait_until_ready().await,
            None => true,
        }
    }

    /// A turn is going on, as far as this process knows.
    #[must_use]
    pub fn is_in_turn(&self) -> bool {
        self.service().engine().session(self.id()).is_some_and(|session| session.is_in_turn())
    }

    /// Follows the session in a dialect, across all its runs.
    ///
    /// # Errors
    /// If there is no such session any more.
    pub async fn feed(&self, dialect: &'static Dialect, begin: Begin) -> Result<Watch, Problem> {
        Watch::new(self.service().clone(), self.id().clone(), dialect, begin).await
    }

    /// Follows the events of the session from the first, across all its runs.
    ///
    /// # Errors
    /// If there is no such session any more.
    pub async fn events(&self) -> Result<EventWatch, Problem> {
        EventWatch::new(self.service().clone(), self.id().clone()).await
    }

    /// Starts the agent again, with settings beside those that hold.
    pub(super) async fn start(&self, config: SessionConfig) -> Result<(), Problem> {
        let service = self.service();
        loop {
            let Place::Ended(stored) = service.place(self.id()).await? else { return Ok(()) };
            let wanted = StartRequest { config: config.clone(), ..service.staying() };
            match service.resume(&stored, wanted).await {
                Ok(_) => return Ok(()),
                // Somebody is just doing the same.
                Err(problem) if problem.code == "running" || problem.code == "elsewhere" => {
                    tokio::time::sleep(BETWEEN).await;
                }
                Err(problem) => return Err(problem),
            }
        }
    }

    /// Ends the agent's process, so that another can take its place. Not in the middle of a turn.
    pub(super) async fn end(&self, session: &SessionHandle) -> Result<(), Problem> {
        if session.is_in_turn() {
            let detail = "a turn is going on, and the agent cannot change this before it is over";
            return Err(Problem::conflict("turn_in_progress", detail).with_hint("wait for its end, or interrupt it"));
        }
        // One that has ended by itself is as good.
        drop(session.send_command(AgentCommand::Close).await);
        self.ended(session).await
    }

    async fn ended(&self, session: &SessionHandle) -> Result<(), Problem> {
        let ended = tokio::time::timeout(ENDING, session.wait_for_outcome()).await;
        let slow = |_| Problem::conflict("ending", format!("session {} is just ending: try again", self.id()));
        ended.map(drop).map_err(slow)
    }
}

/// A prompt as another process takes it.
fn request(prompt: AgentPrompt) -> PromptRequest {
    let image = |image: switchboard_agents::PromptImage| ImageData { media_type: image.media_type, data: image.data };
    PromptRequest {
        prompt: prompt.text,
        images: prompt.images.into_iter().map(image).collect(),
        ..PromptRequest::default()
    }
}
