//! The state that all consumers of a session share in this process: who is connected, and the prompt that waits for the
//! end of the turn. Only the current state is kept, so slow consumers skip intermediate states and cost nothing. The
//! outcomes of the last waiting prompts are remembered for their authors.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use switchboard_agents::AgentPrompt;
use switchboard_dialects::{
    DialectSurface,
    consumer::{
        self,
        wire::{Consumer, ImageData, Role, ServerMessage, UserInput},
    },
    default_dialect,
};
use switchboard_event::Id;
use switchboard_store::SessionPhase;
use tokio::{sync::watch, time::Instant};

use super::client_messages::build_prompt;
use crate::{
    Problem, Service,
    conversation::{Conversation, SettingChanges},
    feed::{FeedStart, ProjectionSnapshot},
    service::SessionLocation,
};

const MAX_REMEMBERED_OUTCOMES: usize = 16;

/// The time between two checks whether the turn has ended, for sessions that another process runs.
const TURN_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// How long the turn of a prompt may take to appear when another process runs the session. Not every prompt has one.
const TURN_START_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct SharedSessions(Mutex<HashMap<Id, Weak<SharedSession>>>);

impl SharedSessions {
    /// Returns the shared state of a session.
    pub async fn open(&self, service: &Service, id: &str) -> Result<Arc<SharedSession>, Problem> {
        let conversation = service.find_conversation(id).await?;
        let mut sessions = self.0.lock();
        if let Some(session) = sessions.get(conversation.id()).and_then(Weak::upgrade) {
            return Ok(session);
        }
        sessions.retain(|_, session| session.strong_count() > 0);
        let (id, state, changes) = (conversation.id().clone(), Mutex::default(), watch::Sender::default());
        let session = Arc::new(SharedSession { conversation, state, changes });
        sessions.insert(id, Arc::downgrade(&session));
        Ok(session)
    }

    /// Tells the consumers of a session that it was deleted.
    pub fn mark_deleted(&self, session: &str) {
        let session = self.0.lock().get(session).and_then(Weak::upgrade);
        if let Some(session) = session {
            session.change(|state| state.deleted = true);
        }
    }
}

pub struct SharedSession {
    pub conversation: Conversation,
    state: Mutex<SharedSessionState>,
    /// Notifies of changes of the state.
    changes: watch::Sender<()>,
}

#[derive(Clone, Default)]
pub struct SharedSessionState {
    /// The connected consumers, one entry per connection.
    present: Vec<Consumer>,
    pub waiting: Option<Arc<WaitingPrompt>>,
    /// Whether a prompt that waited is being sent to the agent.
    pub sending: bool,
    /// The last prompt that was forwarded to another process, whose turn may not have started.
    pub forwarded: Option<ForwardedPrompt>,
    pub deleted: bool,
    /// The outcomes of the last waiting prompts.
    pub outcomes: VecDeque<(Arc<WaitingPrompt>, WaitingPromptOutcome)>,
    /// How many prompts have waited.
    pub waited: u64,
}

impl SharedSessionState {
    /// Returns the connected consumers without duplicates; one with two names or roles is listed twice.
    pub fn present(&self) -> Vec<Consumer> {
        let mut present: Vec<Consumer> = Vec::new();
        for consumer in &self.present {
            if !present.contains(consumer) {
                present.push(consumer.clone());
            }
        }
        present
    }

    /// Returns how many prompts no longer wait.
    pub fn ended_count(&self) -> u64 {
        self.waited - u64::from(self.waiting.is_some())
    }

    /// Ends the wait of the prompt.
    pub fn end(&mut self, outcome: WaitingPromptOutcome) {
        if let Some(waiting) = self.waiting.take() {
            self.outcomes.push_back((waiting.without_images(), outcome));
            if self.outcomes.len() > MAX_REMEMBERED_OUTCOMES {
                self.outcomes.pop_front();
            }
        }
    }

    /// Replaces the outcome of a prompt that could not be sent.
    fn mark_failed(&mut self, number: u64, reason: String) {
        if let Some((_, outcome)) = self.outcomes.iter_mut().find(|(ended, _)| ended.number == number) {
            *outcome = WaitingPromptOutcome::Cancelled(Some(reason));
        }
    }
}

impl SharedSession {
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub fn state(&self) -> SharedSessionState {
        self.state.lock().clone()
    }

    pub fn change<T>(&self, change: impl FnOnce(&mut SharedSessionState) -> T) -> T {
        let result = change(&mut self.state.lock());
        self.changes.send_replace(());
        result
    }
}

/// The presence of a consumer, until this is dropped.
pub struct ConsumerPresence {
    pub session: Arc<SharedSession>,
    pub consumer: Consumer,
}

impl ConsumerPresence {
    pub fn join(session: Arc<SharedSession>, consumer: Consumer) -> Self {
        session.change(|state| state.present.push(consumer.clone()));
        Self { session, consumer }
    }

    pub fn may_control(&self) -> bool {
        self.consumer.role == Role::Participant
    }
}

impl Drop for ConsumerPresence {
    fn drop(&mut self) {
        self.session.change(|state| {
            if let Some(place) = state.present.iter().position(|one| *one == self.consumer) {
                state.present.remove(place);
            }
        });
    }
}

/// A prompt that was forwarded to another process, and whose turn the log may not have yet.
#[derive(Clone, Copy)]
pub struct ForwardedPrompt {
    /// The number of turns that had ended before.
    turns: u64,
    /// How long to wait for its turn.
    until: Instant,
}

/// The prompt that waits for the end of the turn, at most one per session. It can be changed and withdrawn, and it is
/// sent even after its author has disconnected.
pub struct WaitingPrompt {
    /// Its number in the session, from 1.
    pub number: u64,
    /// How often it was changed.
    pub changed: u32,
    pub author: Consumer,
    pub input: UserInput,
    /// When it was queued: milliseconds since 1970.
    pub at: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitingPromptOutcome {
    Sent,
    /// It was withdrawn, or could not be sent.
    Cancelled(Option<String>),
}

impl WaitingPrompt {
    /// Returns a copy without images, which can be large.
    fn without_images(&self) -> Arc<Self> {
        let input = UserInput { content: self.input.content.clone(), images: Vec::new() };
        Arc::new(Self { number: self.number, changed: self.changed, author: self.author.clone(), input, at: self.at })
    }

    pub fn to_message(&self) -> ServerMessage {
        ServerMessage::MessageQueued {
            consumer_id: self.author.user_id.clone(),
            display_name: self.author.display_name.clone(),
            content: self.input.content.clone(),
            images: self.images(),
            queued_at: self.at,
        }
    }

    pub fn to_update_message(&self) -> ServerMessage {
        ServerMessage::QueuedMessageUpdated { content: self.input.content.clone(), images: self.images() }
    }

    fn images(&self) -> Vec<ImageData> {
        self.input.images.clone()
    }
}

impl WaitingPromptOutcome {
    pub fn to_message(&self) -> ServerMessage {
        match self {
            Self::Sent => ServerMessage::QueuedMessageSent {},
            Self::Cancelled(reason) => ServerMessage::QueuedMessageCancelled { reason: reason.clone() },
        }
    }
}

impl SharedSession {
    /// Queues a prompt until the turn ends.
    pub fn queue_prompt(self: &Arc<Self>, author: &Consumer, input: UserInput) -> Result<(), Problem> {
        build_prompt(&input)?;
        let at = (self.conversation.service().config().host.now)().as_micros().div_euclid(1_000);
        self.change(|state| {
            if state.waiting.is_some() {
                let hint = "change it with update_queued_message, or cancel it with cancel_queued_message";
                return Err(Problem::conflict("queue_full", "another message is waiting").with_hint(hint));
            }
            state.waited += 1;
            let author = author.clone();
            state.waiting = Some(Arc::new(WaitingPrompt { number: state.waited, changed: 0, author, input, at }));
            Ok(())
        })?;
        let session = self.clone();
        tokio::spawn(async move { session.send_when_idle().await });
        Ok(())
    }

    /// Changes the waiting prompt.
    pub fn update_prompt(&self, input: UserInput) -> Result<(), Problem> {
        build_prompt(&input)?;
        self.change(|state| {
            let old = state.waiting_prompt()?;
            let (number, changed, author, at) = (old.number, old.changed + 1, old.author.clone(), old.at);
            state.waiting = Some(Arc::new(WaitingPrompt { number, changed, author, input, at }));
            Ok(())
        })
    }

    pub fn cancel_prompt(&self) -> Result<(), Problem> {
        self.change(|state| {
            state.waiting_prompt()?;
            state.end(WaitingPromptOutcome::Cancelled(None));
            Ok(())
        })
    }

    /// Returns whether a turn is in progress.
    pub async fn is_busy(&self) -> Result<bool, Problem> {
        let (service, id, state) = (self.conversation.service(), self.conversation.id(), self.state());
        if state.sending {
            return Ok(true);
        }
        if let Some(session) = service.engine().session(id) {
            return Ok(session.is_in_turn() && !session.is_over());
        }
        let stored = service.session_record(id).await?;
        let is_in_turn = matches!(stored.state, SessionPhase::Running | SessionPhase::Waiting);
        match state
            .forwarded
            .filter(|forwarded| !is_in_turn && !stored.state.is_final() && Instant::now() < forwarded.until)
        {
            Some(forwarded) => Ok(self.ended_turns().await? <= forwarded.turns),
            None => Ok(is_in_turn),
        }
    }

    pub async fn send_prompt(&self, prompt: AgentPrompt) -> Result<(), Problem> {
        let (service, id) = (self.conversation.service(), self.conversation.id());
        if let SessionLocation::Elsewhere(_) = service.locate_session(id).await? {
            let forwarded =
                ForwardedPrompt { turns: self.ended_turns().await?, until: Instant::now() + TURN_START_TIMEOUT };
            self.change(|state| state.forwarded = Some(forwarded));
        }
        let result = self.conversation.prompt(prompt, &SettingChanges::default()).await;
        if result.is_err() {
            self.change(|state| state.forwarded = None);
        }
        result
    }

    /// Returns how many turns have ended according to the log.
    async fn ended_turns(&self) -> Result<u64, Problem> {
        let (service, id) = (self.conversation.service(), self.conversation.id().clone());
        let engine = service.engine().clone();
        let head = service
            .query_log(move |_| ProjectionSnapshot::read(&engine, &id, default_dialect(DialectSurface::Consumers)))
            .await?;
        Ok(consumer::restore_state(&head.saved).unwrap_or_default().num_turns)
    }

    /// Sends the waiting prompt when the turn has ended.
    async fn send_when_idle(self: Arc<Self>) {
        if let Err(problem) = self.wait_for_turn().await {
            return self.change(|state| state.end(WaitingPromptOutcome::Cancelled(Some(problem.detail.into()))));
        }
        let waiting = self.change(|state| {
            let waiting = state.waiting.clone().filter(|_| !state.sending)?;
            // Reported before its turn starts, and corrected if the agent does not accept it.
            state.end(WaitingPromptOutcome::Sent);
            state.sending = true;
            Some(waiting)
        });
        let Some(waiting) = waiting else { return };
        let sent = match build_prompt(&waiting.input) {
            Ok(prompt) => self.send_prompt(prompt).await,
            Err(problem) => Err(problem),
        };
        self.change(|state| {
            state.sending = false;
            if let Err(problem) = sent {
                state.mark_failed(waiting.number, problem.detail.into());
            }
        });
    }

    /// Waits until no turn is in progress or no prompt waits.
    async fn wait_for_turn(&self) -> Result<(), Problem> {
        let conversation = &self.conversation;
        let head = conversation.service().session_record(conversation.id()).await?.head;
        let mut feed = conversation
            .follow_messages(default_dialect(DialectSurface::Consumers), FeedStart::AfterEvent(head))
            .await?;
        let mut changes = self.changes();
        while self.is_busy().await? && self.state().waiting.is_some() {
            tokio::select! {
                messages = tokio::time::timeout(TURN_CHECK_INTERVAL, feed.next()) => {
                    if let Ok(messages) = messages {
                        messages?;
                    }
                }
                _ = changes.changed() => {}
            }
        }
        Ok(())
    }
}

impl SharedSessionState {
    fn waiting_prompt(&self) -> Result<Arc<WaitingPrompt>, Problem> {
        let waiting = self.waiting.clone();
        waiting.ok_or_else(|| Problem::conflict("not_queued", "no message is waiting"))
    }
}
