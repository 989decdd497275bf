//! The prompt that waits for the turn to end: one a session. It can be changed or taken back, and is sent also when
//! whoever said it has left.

use std::{sync::Arc, time::Duration};

use switchboard_agents::AgentPrompt;
use switchboard_dialects::{
    DialectSurface,
    consumer::{
        self,
        wire::{Consumer, ImageData, ServerMessage, UserInput},
    },
    default_dialect,
};
use switchboard_store::SessionPhase;
use tokio::time::Instant;

use super::{
    prompts::prompt,
    room::{Board, Room},
};
use crate::{
    Problem,
    conversation::Changes,
    feed::{Begin, Head},
    service::Place,
};

/// How often we look whether the turn has ended when nothing is told: another process may run the session.
const LOOK: Duration = Duration::from_secs(1);

/// How long the turn of a prompt may take to be seen when another process runs the session. Not every prompt has one.
const SEEN: Duration = Duration::from_secs(10);

/// A prompt that another process was given, and whose turn the log may not show yet.
#[derive(Clone, Copy)]
pub struct Given {
    /// So many turns had ended before.
    turns: u64,
    /// So long its turn is waited for.
    until: Instant,
}

/// A prompt that waits.
pub struct Waiting {
    /// Which of the session, from 1.
    pub number: u64,
    /// How often it was changed.
    pub changed: u32,
    /// Who said it.
    pub author: Consumer,
    /// What.
    pub input: UserInput,
    /// When it was said: milliseconds since 1970.
    pub at: i64,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The agent has it.
    Sent,
    /// Somebody took it back, or it could not be sent.
    Cancelled(Option<String>),
}

impl Waiting {
    /// What is remembered of it when it is over: without its images, which can be large.
    pub fn to_remember(&self) -> Arc<Self> {
        let input = UserInput { content: self.input.content.clone(), images: Vec::new() };
        Arc::new(Self { number: self.number, changed: self.changed, author: self.author.clone(), input, at: self.at })
    }

    /// As consumers are told of it.
    pub fn told(&self) -> ServerMessage {
        ServerMessage::MessageQueued {
            consumer_id: self.author.user_id.clone(),
            display_name: self.author.display_name.clone(),
            content: self.input.content.clone(),
            images: self.images(),
            queued_at: self.at,
        }
    }

    /// As consumers are told that it is another.
    pub fn told_change(&self) -> ServerMessage {
        ServerMessage::QueuedMessageUpdated { content: self.input.content.clone(), images: self.images() }
    }

    fn images(&self) -> Vec<ImageData> {
        self.input.images.clone()
    }
}

impl Ended {
    /// As consumers are told of it.
    pub fn told(&self) -> ServerMessage {
        match self {
            Self::Sent => ServerMessage::QueuedMessageSent {},
            Self::Cancelled(reason) => ServerMessage::QueuedMessageCancelled { reason: reason.clone() },
        }
    }
}

impl Room {
    /// Has a prompt wait for the turn to end.
    ///
    /// # Errors
    /// If one waits already, or it makes no sense.
    pub fn queue(self: &Arc<Self>, author: &Consumer, input: UserInput) -> Result<(), Problem> {
        prompt(&input)?;
        let at = (self.conversation.service().setup().machine.now)().as_micros().div_euclid(1_000);
        self.change(|board| {
            if board.waiting.is_some() {
                let hint = "update_queued_message changes it, cancel_queued_message takes it back";
                return Err(Problem::conflict("queue_full", "a message waits already").with_hint(hint));
            }
            board.waited += 1;
            let author = author.clone();
            board.waiting = Some(Arc::new(Waiting { number: board.waited, changed: 0, author, input, at }));
            Ok(())
        })?;
        let room = self.clone();
        tokio::spawn(async move { room.send_in_time().await });
        Ok(())
    }

    /// Changes the prompt that waits.
    ///
    /// # Errors
    /// If none does, or it makes no sense.
    pub fn update(&self, input: UserInput) -> Result<(), Problem> {
        prompt(&input)?;
        self.change(|board| {
            let old = board.open()?;
            let (number, changed, author, at) = (old.number, old.changed + 1, old.author.clone(), old.at);
            board.waiting = Some(Arc::new(Waiting { number, changed, author, input, at }));
            Ok(())
        })
    }

    /// Takes the prompt that waits back.
    ///
    /// # Errors
    /// If none does.
    pub fn take_back(&self) -> Result<(), Problem> {
        self.change(|board| {
            board.open()?;
            board.end(Ended::Cancelled(None));
            Ok(())
        })
    }

    /// A turn runs.
    ///
    /// # Errors
    /// If there is no such session any more.
    pub async fn is_busy(&self) -> Result<bool, Problem> {
        let (service, id, board) = (self.conversation.service(), self.conversation.id(), self.look());
        if board.sending {
            return Ok(true);
        }
        if let Some(session) = service.engine().session(id) {
            return Ok(session.is_in_turn() && !session.is_over());
        }
        let stored = service.stored(id).await?;
        let works = matches!(stored.state, SessionPhase::Running | SessionPhase::Waiting);
        match board.given.filter(|given| !works && !stored.state.is_final() && Instant::now() < given.until) {
            Some(given) => Ok(self.turns().await? <= given.turns),
            None => Ok(works),
        }
    }

    /// Gives the agent a prompt.
    ///
    /// # Errors
    /// If it does not take it, or cannot be started.
    pub async fn give(&self, prompt: AgentPrompt) -> Result<(), Problem> {
        let (service, id) = (self.conversation.service(), self.conversation.id());
        if let Place::Elsewhere(_) = service.place(id).await? {
            let given = Given { turns: self.turns().await?, until: Instant::now() + SEEN };
            self.change(|board| board.given = Some(given));
        }
        let told = self.conversation.prompt(prompt, &Changes::default()).await;
        if told.is_err() {
            self.change(|board| board.given = None);
        }
        told
    }

    /// How many turns have ended, by what the log has.
    async fn turns(&self) -> Result<u64, Problem> {
        let (service, id) = (self.conversation.service(), self.conversation.id().clone());
        let engine = service.engine().clone();
        let head = service.ask(move |_| Head::of(&engine, &id, default_dialect(DialectSurface::Consumers))).await?;
        Ok(consumer::restore_state(&head.saved).unwrap_or_default().num_turns)
    }

    /// Sends what waits when the turn has ended.
    async fn send_in_time(self: Arc<Self>) {
        if let Err(problem) = self.wait_for_turn().await {
            return self.change(|board| board.end(Ended::Cancelled(Some(problem.detail.into()))));
        }
        let taken = self.change(|board| {
            let waiting = board.waiting.clone().filter(|_| !board.sending)?;
            // Said before its turn begins. Should the agent not take it, that is said too.
            board.end(Ended::Sent);
            board.sending = true;
            Some(waiting)
        });
        let Some(waiting) = taken else { return };
        let sent = match prompt(&waiting.input) {
            Ok(prompt) => self.give(prompt).await,
            Err(problem) => Err(problem),
        };
        self.change(|board| {
            board.sending = false;
            if let Err(problem) = sent {
                board.failed(waiting.number, problem.detail.into());
            }
        });
    }

    /// Waits until no turn runs, or nothing waits for that any more.
    async fn wait_for_turn(&self) -> Result<(), Problem> {
        let conversation = &self.conversation;
        let head = conversation.service().stored(conversation.id()).await?.head;
        let mut feed = conversation.feed(default_dialect(DialectSurface::Consumers), Begin::Event(head)).await?;
        let mut changes = self.changes();
        while self.is_busy().await? && self.look().waiting.is_some() {
            tokio::select! {
                happened = tokio::time::timeout(LOOK, feed.next()) => {
                    if let Ok(happened) = happened {
                        happened?;
                    }
                }
                _ = changes.changed() => {}
            }
        }
        Ok(())
    }
}

impl Board {
    /// The prompt that waits.
    fn open(&self) -> Result<Arc<Waiting>, Problem> {
        let waiting = self.waiting.clone();
        waiting.ok_or_else(|| Problem::conflict("not_queued", "no message waits"))
    }
}
