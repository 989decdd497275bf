//! One session: an actor between the agent and its clients. It handles everything that arrives one by one, and writes
//! every event before clients see it.

mod actor;
mod approvals;
mod commands;
mod driver_effects;
mod event_effects;
mod event_writer;
mod link;
mod network_approvals;
mod private_directory;
mod sandbox_notices;
mod stop;

use std::sync::Arc;

use switchboard_agents::{Agent, AgentCommand, AgentPrompt, RequestAnswer};
use switchboard_event::{EndReason, Fault, Id, Info, RequestOpened, SessionState};
use switchboard_store::SessionLog;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{CommandError, Follower, follow::LiveTail, supervise::SandboxReport};

pub(crate) use actor::{ActorParts, SessionActor};
pub(crate) use event_writer::{EventWriter, InFlightBatches};
pub(crate) use link::AgentLink;
pub(crate) use network_approvals::NetworkApprovals;
pub(crate) use private_directory::{PrivateDirectory, remove_abandoned_directories};
pub(crate) use sandbox_notices::{SessionSandbox, sandbox_notice};

const MAX_QUEUED_COMMANDS: usize = 16;

pub(crate) enum SessionCommand {
    Agent(AgentCommand),
    Remark(String),
    Cancel,
    /// End the session, without waiting for the agent to do it by itself.
    Kill,
}

impl SessionCommand {
    /// Returns the kind of command for diagnostics, without its content.
    fn name(&self) -> &'static str {
        match self {
            Self::Agent(AgentCommand::Prompt(_)) => "prompt",
            Self::Agent(AgentCommand::Answer(_)) => "answer",
            Self::Agent(AgentCommand::Interrupt) => "interrupt",
            Self::Agent(AgentCommand::Slash { .. }) => "slash command",
            Self::Agent(AgentCommand::Close) => "close",
            Self::Agent(AgentCommand::SetModel(_) | AgentCommand::SetMode(_) | AgentCommand::SetOption { .. }) => {
                "setting"
            }
            Self::Remark(_) => "remark",
            Self::Cancel => "cancel",
            Self::Kill => "kill",
        }
    }
}

type QueuedCommand = (SessionCommand, oneshot::Sender<Result<(), CommandError>>);

/// The actor's ends of the channels to the handles of its session.
pub(crate) struct ActorChannels {
    pub commands: mpsc::Receiver<QueuedCommand>,
    pub outcome: watch::Sender<Option<RunOutcome>>,
    /// The agent is ready for prompts.
    pub ready: watch::Sender<bool>,
}

#[derive(Clone, Debug, Default)]
pub struct RunOutcome {
    /// How it ended; `None` if that could not be written.
    pub reason: Option<EndReason>,
    pub error: Option<Fault>,
    pub agent_started: bool,
    /// The error, if the log could not be written.
    pub write_error: Option<String>,
}

/// The handle of a running session, with which clients follow and control it. Dropping it does not end the session.
#[derive(Clone)]
pub struct SessionHandle {
    id: Id,
    agent: &'static Agent,
    start_seq: u64,
    tail: Arc<LiveTail>,
    log: Arc<dyn SessionLog>,
    sandbox: Option<Arc<SandboxReport>>,
    commands: mpsc::Sender<QueuedCommand>,
    outcome: watch::Receiver<Option<RunOutcome>>,
    ready: watch::Receiver<bool>,
    in_flight: Arc<InFlightBatches>,
}

impl SessionHandle {
    pub(crate) fn new(
        id: Id,
        agent: &'static Agent,
        start_seq: u64,
        tail: Arc<LiveTail>,
        log: Arc<dyn SessionLog>,
        sandbox: Option<Arc<SandboxReport>>,
        in_flight: Arc<InFlightBatches>,
    ) -> (Self, ActorChannels) {
        let (commands, queued_commands) = mpsc::channel(MAX_QUEUED_COMMANDS);
        let (outcome_sender, outcome) = watch::channel(None);
        let (ready_sender, ready) = watch::channel(false);
        let channels = ActorChannels { commands: queued_commands, outcome: outcome_sender, ready: ready_sender };
        (Self { id, agent, start_seq, tail, log, sandbox, commands, outcome, ready, in_flight }, channels)
    }

    pub fn id(&self) -> &Id {
        &self.id
    }

    pub fn agent(&self) -> &'static Agent {
        self.agent
    }

    /// Returns the sandbox around its agent; `None` if it is not confined.
    pub fn sandbox(&self) -> Option<&SandboxReport> {
        self.sandbox.as_deref()
    }

    /// Returns the position after which this run begins.
    pub fn start_seq(&self) -> u64 {
        self.start_seq
    }

    /// Follows the session from the beginning of this run.
    pub fn follow(&self) -> Follower {
        self.follow_after(self.start_seq)
    }

    pub fn follow_after(&self, seq: u64) -> Follower {
        Follower::new(self.tail.clone(), self.log.clone(), seq)
    }

    /// Sends the agent another prompt. It joins the turn or waits, depending on the agent.
    pub async fn send_prompt(&self, prompt: AgentPrompt) -> Result<(), CommandError> {
        self.send_command(AgentCommand::Prompt(prompt)).await
    }

    /// Answers a request. The first answer counts.
    pub async fn answer_request(&self, answer: RequestAnswer) -> Result<(), CommandError> {
        self.send_command(AgentCommand::Answer(answer)).await
    }

    pub async fn interrupt(&self) -> Result<(), CommandError> {
        self.send_command(AgentCommand::Interrupt).await
    }

    pub async fn send_command(&self, command: AgentCommand) -> Result<(), CommandError> {
        self.send(SessionCommand::Agent(command)).await
    }

    /// Writes a remark into the session, as a warning.
    pub async fn write_remark(&self, text: String) -> Result<(), CommandError> {
        self.send(SessionCommand::Remark(text)).await
    }

    /// Ends the session at once.
    pub async fn cancel(&self) -> Result<(), CommandError> {
        self.send(SessionCommand::Cancel).await
    }

    /// Ends the session without asking the agent, which gets about a second to clean up.
    pub async fn kill(&self) -> Result<(), CommandError> {
        self.send(SessionCommand::Kill).await
    }

    /// Stops the session without waiting for its events to be written: the log cannot be reached.
    pub(crate) fn stop_isolated(&self) {
        self.in_flight.abandon();
    }

    async fn send(&self, command: SessionCommand) -> Result<(), CommandError> {
        let (reply, result) = oneshot::channel();
        self.commands.send((command, reply)).await.map_err(|_| CommandError::Ended)?;
        result.await.map_err(|_| CommandError::Ended)?
    }

    /// Calls a function with the state of the session after the committed events of this run.
    pub fn with_state<T>(&self, read: impl FnOnce(&SessionState) -> T) -> T {
        self.tail.with_state(read)
    }

    pub fn open_requests(&self) -> Vec<RequestOpened> {
        self.with_state(|state| state.requests.clone())
    }

    /// Returns the information that the agent reported about itself in this run.
    pub fn info(&self) -> Info {
        self.with_state(|state| state.info.clone())
    }

    pub fn is_in_turn(&self) -> bool {
        self.with_state(|state| state.in_turn)
    }

    /// Waits until the agent is ready for a prompt. Returns false if it ended before that.
    pub async fn wait_until_ready(&self) -> bool {
        self.ready.clone().wait_for(|ready| *ready).await.is_ok()
    }

    pub(crate) fn is_same_run(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tail, &other.tail)
    }

    /// Returns whether the end of the run is committed. Processes may be left for a moment.
    pub fn is_over(&self) -> bool {
        self.tail.is_over()
    }

    /// Waits until the run has ended completely.
    pub async fn wait_for_outcome(&self) -> RunOutcome {
        let mut outcome = self.outcome.clone();
        outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone()).unwrap_or_default()
    }
}
