//! Bringing a session to its end: by asking, then by insisting, then by force.

use std::time::Duration;

use switchboard_agents::{Command, Note, Why};
use switchboard_client::{AgentError, AgentErrorKind};
use switchboard_event::{ErrorCode, Fault};

use super::{actor::Actor, timers::Due};
use crate::supervise::{Exit, Signal};

/// How long an agent may take to stop a turn when it is told to, before it is stopped itself.
pub const INTERRUPT: Duration = Duration::from_secs(10);

/// How long the first event may wait for the agent to say who it is.
pub const BEGINNING: Duration = Duration::from_secs(5);

/// How long an agent may take to end by itself when it has nothing more to do.
const CLOSE: Duration = Duration::from_secs(10);

/// How long what a dead agent still has in its pipes may take.
const DRAIN: Duration = Duration::from_secs(2);

/// How far we have gone to stop the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ladder {
    /// Not at all.
    #[default]
    Ground,
    /// It was told to end by itself when it is done.
    Closed,
    /// Its turn is being stopped, in its own way.
    Interrupting,
    /// Its input was closed.
    Closing,
    /// It got an interrupt signal.
    Interrupted,
    /// It is being killed.
    Killing,
}

impl Ladder {
    /// We have begun to stop it, and it is not its own end.
    pub fn is_climbing(self) -> bool {
        self > Self::Closed
    }
}

impl PartialOrd for Ladder {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        (*self as u8).partial_cmp(&(*other as u8))
    }
}

impl Actor {
    /// Stops the session. What is told is the first reason.
    pub(super) fn stop(&mut self, why: Why) {
        if self.ladder.is_climbing() {
            return;
        }
        self.prompts.clear();
        self.note(&Note::Stopping(why));
        self.ladder = Ladder::Interrupting;
        let native = self.busy && self.parts.driver.is_some() && self.drive(Command::Interrupt).is_ok();
        if native {
            self.timers.arm(Due::Stop, Duration::from_millis(2000));
        } else {
            self.climb();
        }
    }

    /// Stops the session without asking the agent.
    pub(super) fn kill(&mut self) {
        if !self.ladder.is_climbing() {
            self.prompts.clear();
            self.note(&Note::Stopping(Why::Cancelled));
        }
        if self.ladder != Ladder::Killing {
            self.force();
        }
    }

    /// The turn that we wanted stopped has stopped.
    pub(super) fn turn_stopped(&mut self) {
        if self.ladder == Ladder::Interrupting {
            self.climb();
        }
    }

    /// The next step: each is tried only if the one before did not help.
    pub(super) fn climb(&mut self) {
        let (next, wait) = match self.ladder {
            Ladder::Ground | Ladder::Closed => return self.force(),
            Ladder::Interrupting => (Ladder::Closing, 1000),
            Ladder::Closing => (Ladder::Interrupted, 700),
            Ladder::Interrupted => return self.force(),
            Ladder::Killing => return,
        };
        self.ladder = next;
        self.timers.arm(Due::Stop, Duration::from_millis(wait));
        match next {
            Ladder::Closing if self.parts.driver.is_some() => {
                if self.drive(Command::Close).is_err() {
                    self.force();
                }
            }
            Ladder::Closing => self.climb(),
            _ => self.parts.link.signal(Signal::Interrupt),
        }
    }

    /// Ends the process whatever it says.
    fn force(&mut self) {
        self.ladder = Ladder::Killing;
        self.timers.disarm(&Due::Stop);
        if !self.parts.link.is_process() {
            self.silent = true;
        }
        self.parts.link.stop(Duration::from_millis(1200));
    }

    /// Nothing more is wanted of the agent: it may end by itself.
    pub(super) fn close(&mut self) {
        if self.ladder != Ladder::Ground {
            return;
        }
        (self.ladder, self.closing) = (Ladder::Closed, true);
        self.timers.arm(Due::Stop, CLOSE);
        self.note(&Note::Closing);
        if self.drive(Command::Close).is_err() {
            self.force();
        }
    }

    /// The driver says that nothing more will come.
    pub(super) fn done(&mut self) {
        self.force();
    }

    pub(super) fn give_up(&mut self, fault: Fault) {
        self.note(&Note::Failed(fault.clone()));
        self.fault.get_or_insert(fault);
        self.force();
    }

    /// The session that is followed on a server cannot be followed any more.
    pub(super) fn lost(&mut self, error: &AgentError) {
        let code = match error.kind {
            AgentErrorKind::ConnectionFailed => ErrorCode::ConnectionFailed,
            AgentErrorKind::AuthenticationFailed => ErrorCode::ProviderAuth,
            AgentErrorKind::SessionNotFound => ErrorCode::SessionNotFound,
            AgentErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
            AgentErrorKind::ToolExecutionFailed => ErrorCode::ToolFailed,
            AgentErrorKind::Timeout => ErrorCode::Timeout,
            AgentErrorKind::ProtocolError => ErrorCode::ProtocolError,
            AgentErrorKind::Unknown => ErrorCode::Unknown,
        };
        self.give_up(Fault::new(
            code,
            format!("the session on the server cannot be followed any more: {}", error.message),
        ));
    }

    pub(super) fn too_slow(&mut self) {
        let seconds = self.parts.limits.handshake.as_secs();
        let message = format!("{} was not ready within {seconds} seconds", self.parts.agent.title);
        self.give_up(Fault::new(ErrorCode::Timeout, message));
    }

    /// The agent closed its output.
    pub(super) fn fell_silent(&mut self) {
        self.silent = true;
        if self.exit.is_none() && self.ladder < Ladder::Killing && !self.timers.is_armed(&Due::Stop) {
            // It will say no more, so it need not live. But it may be just about to end.
            self.ladder = Ladder::Interrupted;
            self.timers.arm(Due::Stop, DRAIN);
        }
    }

    pub(super) fn exited(&mut self, exit: Exit) {
        self.exit = Some(exit);
        self.timers.disarm(&Due::Stop);
        if !self.silent || !self.quiet {
            // What it left in its pipes is still to be read, but not for ever.
            self.timers.arm(Due::Drain, DRAIN);
        }
    }

    /// The agent is there: the time without a sign of it begins anew. Who waits for an answer needs no sign.
    pub(super) fn sign_of_life(&mut self) {
        if self.ladder == Ladder::Closed {
            // It was told to end when it is done, and it is not done: work in the background goes on.
            self.timers.arm(Due::Stop, CLOSE);
        }
        match self.parts.limits.idle {
            Some(idle) if self.busy && !self.desk.is_waiting() => self.timers.arm(Due::Idle, idle),
            _ => self.timers.disarm(&Due::Idle),
        }
    }
}
