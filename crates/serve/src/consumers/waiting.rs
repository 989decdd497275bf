//! The prompt that waits for the turn to end: one a session. It can be changed or taken back, and is sent also when
//! whoever said it has left.

use std::{sync::Arc, time::Duration};

use switchboard_dialects::{
    Surface,
    consumer::wire::{Consumer, ImageData, ServerMessage, UserInput},
    usual,
};
use switchboard_store::State;

use super::{
    prompts::prompt,
    room::{Board, Room},
};
use crate::{Problem, conversation::Changes, feed::Begin};

/// How often we look whether the turn has ended when nothing is told: another process may run the session.
const LOOK: Duration = Duration::from_secs(1);

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
        let (service, id) = (self.conversation.service(), self.conversation.id());
        if let Some(session) = service.engine().session(id) {
            return Ok(session.is_in_turn() && !session.is_over());
        }
        Ok(matches!(service.stored(id).await?.state, State::Running | State::Waiting))
    }

    /// Sends what waits when the turn has ended.
    async fn send_in_time(self: Arc<Self>) {
        if let Err(problem) = self.wait_for_turn().await {
            return self.change(|board| board.end(Ended::Cancelled(Some(problem.detail.into()))));
        }
        let taken = self.change(|board| {
            board.sending = board.waiting.is_some();
            board.waiting.clone()
        });
        let Some(waiting) = taken else { return };
        let sent = match prompt(&waiting.input) {
            Ok(prompt) => self.conversation.prompt(prompt, &Changes::default()).await,
            Err(problem) => Err(problem),
        };
        let how = sent.map_or_else(|problem| Ended::Cancelled(Some(problem.detail.into())), |()| Ended::Sent);
        self.change(|board| board.end(how));
    }

    /// Waits until no turn runs, or nothing waits for that any more.
    async fn wait_for_turn(&self) -> Result<(), Problem> {
        let conversation = &self.conversation;
        let head = conversation.service().stored(conversation.id()).await?.head;
        let mut feed = conversation.feed(usual(Surface::Consumers), Begin::Event(head)).await?;
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
    /// The prompt that waits, if it can still be changed.
    fn open(&self) -> Result<Arc<Waiting>, Problem> {
        let waiting = self.waiting.clone().filter(|_| !self.sending);
        waiting.ok_or_else(|| Problem::conflict("not_queued", "no message waits"))
    }
}
