//! A running session, for those who follow and steer it.

use std::sync::Arc;

use switchboard_agents::{Agent, Answer, Command, Prompt};
use switchboard_event::{EndReason, Fault, Id, Info, RequestOpened};
use switchboard_store::Log;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    CommandError,
    hub::{Follower, Head},
    supervise::SandboxReport,
};

/// Something that somebody wants of a session.
pub enum Order {
    /// Something for the agent.
    Command(Command),
    /// Write a remark into the session.
    Remark(String),
    /// End the session.
    Cancel,
    /// End the session, without waiting for the agent to do it by itself.
    Kill,
}

/// An order, and whom to tell what became of it.
pub type Ordered = (Order, oneshot::Sender<Result<(), CommandError>>);

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How; nothing if not even that could be written down.
    pub reason: Option<EndReason>,
    /// Why, if it failed.
    pub error: Option<Fault>,
    /// The agent was ready to work.
    pub started: bool,
    /// The log could not be written.
    pub unwritten: Option<String>,
}

/// A running session. Whoever drops it decides nothing: it goes on.
#[derive(Clone)]
pub struct Session {
    pub(crate) id: Id,
    pub(crate) agent: &'static Agent,
    pub(crate) seen: u64,
    pub(crate) head: Arc<Head>,
    pub(crate) log: Arc<dyn Log>,
    pub(crate) orders: mpsc::Sender<Ordered>,
    pub(crate) outcome: watch::Receiver<Option<Outcome>>,
    pub(crate) ready: watch::Receiver<bool>,
    pub(crate) sandbox: Option<Arc<SandboxReport>>,
}

impl Session {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// The agent that it is of.
    #[must_use]
    pub fn agent(&self) -> &'static Agent {
        self.agent
    }

    /// The sandbox around its agent; `None` if it is not confined.
    #[must_use]
    pub fn sandbox(&self) -> Option<&SandboxReport> {
        self.sandbox.as_deref()
    }

    /// The place behind which this run begins.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.seen
    }

    /// Follows it from the beginning of this run.
    #[must_use]
    pub fn follow(&self) -> Follower {
        self.follow_after(self.seen)
    }

    /// Follows it from behind an event.
    #[must_use]
    pub fn follow_after(&self, seq: u64) -> Follower {
        Follower::new(self.head.clone(), self.log.clone(), seq)
    }

    /// Gives the agent another prompt: it joins the turn or waits, as the agent can.
    pub async fn prompt(&self, prompt: Prompt) -> Result<(), CommandError> {
        self.command(Command::Prompt(prompt)).await
    }

    /// Answers a request. The first answer counts.
    pub async fn answer(&self, answer: Answer) -> Result<(), CommandError> {
        self.command(Command::Answer(answer)).await
    }

    /// Stops the turn.
    pub async fn interrupt(&self) -> Result<(), CommandError> {
        self.command(Command::Interrupt).await
    }

    /// Wants something of the agent.
    pub async fn command(&self, command: Command) -> Result<(), CommandError> {
        self.order(Order::Command(command)).await
    }

    /// Writes a remark into the session, as a warning.
    pub async fn remark(&self, text: String) -> Result<(), CommandError> {
        self.order(Order::Remark(text)).await
    }

    /// Ends the session at once.
    pub async fn cancel(&self) -> Result<(), CommandError> {
        self.order(Order::Cancel).await
    }

    /// Ends the session at once, whatever the agent is doing: it gets a second to put things in order.
    pub async fn kill(&self) -> Result<(), CommandError> {
        self.order(Order::Kill).await
    }

    /// What the agent asks and nobody has answered, as far as it is committed.
    #[must_use]
    pub fn requests(&self) -> Vec<Arc<RequestOpened>> {
        self.head.requests()
    }

    /// What the agent said about itself in this run, as far as it is committed.
    #[must_use]
    pub fn info(&self) -> Info {
        self.head.info()
    }

    /// A turn is going on, as far as it is committed.
    #[must_use]
    pub fn is_in_turn(&self) -> bool {
        self.head.is_in_turn()
    }

    /// Waits until the agent is ready for a prompt. False if it ended before that.
    pub async fn ready(&self) -> bool {
        self.ready.clone().wait_for(|ready| *ready).await.is_ok()
    }

    /// Its end is told. Something of it may be left for a moment.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.head.is_over()
    }

    /// How it ended, once it has and nothing of it is left.
    pub async fn outcome(&self) -> Outcome {
        let mut outcome = self.outcome.clone();
        outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone()).unwrap_or_default()
    }

    async fn order(&self, order: Order) -> Result<(), CommandError> {
        let (reply, answer) = oneshot::channel();
        self.orders.send((order, reply)).await.map_err(|_| CommandError::Ended)?;
        answer.await.map_err(|_| CommandError::Ended)?
    }
}
