//! The end of a session: it is stopped in stages, by request, by signal, then by force. Then the remaining output is
//! read, everything open is closed, and all processes of the agent end.

use std::{collections::HashMap, time::Duration};

use switchboard_agents::{AgentCommand, DriverTimer, EngineNote, StopCause};
use switchboard_client::{AgentError, AgentErrorKind};
use switchboard_event::{ErrorCode, Fault, Id};
use switchboard_store::AgentRun;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, info, warn};

use super::{RunOutcome, actor::SessionActor};
use crate::supervise::{ProcessExit, StopSignal};

/// The time that an agent may take to interrupt a turn before it is stopped itself.
pub const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that the first event may wait for the agent to identify its session.
pub const SESSION_ID_TIMEOUT: Duration = Duration::from_secs(5);

/// The time that an agent may take to end by itself when it has nothing more to do.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that reading the remaining output of a dead agent may take.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The times that an agent may take in the stages of a stop.
const STOP_INTERRUPT_TIMEOUT: Duration = Duration::from_secs(2);
const STOP_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const STOP_SIGNAL_TIMEOUT: Duration = Duration::from_millis(700);
const KILL_GRACE: Duration = Duration::from_millis(1200);

/// The time that the last processes of an agent may take to end.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The stage of stopping the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub enum StopStage {
    #[default]
    NotStopping,
    /// The agent was asked to end by itself when it is done.
    Closing,
    /// Its turn is being interrupted through its own protocol.
    InterruptingTurn,
    InputClosed,
    /// It got an interrupt signal.
    Signalled,
    Killing,
}

impl StopStage {
    /// Returns whether the agent is being stopped, other than ending by itself.
    pub fn is_stopping(self) -> bool {
        self > Self::Closing
    }
}

impl SessionActor {
    /// Stops the session. The first cause is the one that is reported.
    pub(super) fn stop(&mut self, cause: StopCause) {
        if self.stop_stage.is_stopping() {
            return;
        }
        info!(?cause, "stopping the agent");
        self.prompts.clear();
        self.apply_note(&EngineNote::Stopping(cause));
        self.stop_stage = StopStage::InterruptingTurn;
        let is_interrupted = self.is_busy && self.parts.driver.is_some() && self.drive(AgentCommand::Interrupt).is_ok();
        if is_interrupted {
            self.timers.arm(TimerKind::Stop, STOP_INTERRUPT_TIMEOUT);
        } else {
            self.escalate_stop();
        }
    }

    /// Stops the session without asking the agent.
    pub(super) fn kill(&mut self) {
        if !self.stop_stage.is_stopping() {
            self.prompts.clear();
            self.apply_note(&EngineNote::Stopping(StopCause::Cancelled));
        }
        if self.stop_stage != StopStage::Killing {
            self.force_stop();
        }
    }

    /// Enters the next stage. Each is tried only if the one before had no effect.
    pub(super) fn escalate_stop(&mut self) {
        match self.stop_stage {
            StopStage::NotStopping | StopStage::Closing | StopStage::Signalled => self.force_stop(),
            StopStage::InterruptingTurn if self.parts.driver.is_some() => {
                self.stop_stage = StopStage::InputClosed;
                self.timers.arm(TimerKind::Stop, STOP_CLOSE_TIMEOUT);
                if self.drive(AgentCommand::Close).is_err() {
                    self.force_stop();
                }
            }
            StopStage::InterruptingTurn | StopStage::InputClosed => {
                self.stop_stage = StopStage::Signalled;
                self.timers.arm(TimerKind::Stop, STOP_SIGNAL_TIMEOUT);
                self.parts.link.signal(StopSignal::Interrupt);
            }
            StopStage::Killing => {}
        }
        debug!(stage = ?self.stop_stage, "stop escalated");
    }

    /// Ends the process unconditionally.
    pub(super) fn force_stop(&mut self) {
        self.stop_stage = StopStage::Killing;
        self.timers.disarm(&TimerKind::Stop);
        if !self.parts.link.has_process() {
            self.stdout_closed = true;
        }
        self.parts.link.stop(KILL_GRACE);
    }

    /// Lets the agent end by itself, since there are no more prompts.
    pub(super) fn close_agent(&mut self) {
        if self.stop_stage != StopStage::NotStopping {
            return;
        }
        (self.stop_stage, self.is_closing) = (StopStage::Closing, true);
        self.timers.arm(TimerKind::Stop, CLOSE_TIMEOUT);
        self.apply_note(&EngineNote::Closing);
        if self.drive(AgentCommand::Close).is_err() {
            self.force_stop();
        }
    }

    pub(super) fn fail(&mut self, fault: Fault) {
        warn!(code = ?fault.code, "session failed");
        self.apply_note(&EngineNote::Failed(fault.clone()));
        self.fault.get_or_insert(fault);
        self.force_stop();
    }

    /// Fails the session because the session on the server can no longer be followed.
    pub(super) fn fail_lost_session(&mut self, error: &AgentError) {
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
        let message = format!("the session on the server can no longer be followed: {}", error.message);
        self.fail(Fault::new(code, message));
    }

    pub(super) fn fail_handshake(&mut self) {
        let seconds = self.parts.timeouts.handshake.as_secs();
        let message = format!("{} was not ready within {seconds} seconds", self.parts.agent.title);
        self.fail(Fault::new(ErrorCode::Timeout, message));
    }

    pub(super) fn handle_stdout_closed(&mut self) {
        debug!("standard output closed");
        self.stdout_closed = true;
        if self.exit.is_none() && self.stop_stage < StopStage::Killing && !self.timers.is_armed(&TimerKind::Stop) {
            // No more output follows, so the agent is not needed. But it may be about to end by itself.
            self.stop_stage = StopStage::Signalled;
            self.timers.arm(TimerKind::Stop, DRAIN_TIMEOUT);
        }
    }

    pub(super) fn handle_exit(&mut self, exit: ProcessExit) {
        info!(code = exit.code, signal = exit.signal, "agent process ended");
        self.exit = Some(exit);
        self.timers.disarm(&TimerKind::Stop);
        if !self.stdout_closed || !self.stderr_closed {
            // The remaining output in its pipes is still read, but only for a limited time.
            self.timers.arm(TimerKind::Drain, DRAIN_TIMEOUT);
        }
    }

    /// Restarts the idle timer after activity of the agent. An agent that waits for an answer may be idle.
    pub(super) fn note_activity(&mut self) {
        if self.stop_stage == StopStage::Closing {
            // It was asked to end when it is done, and is not done: background work continues.
            self.timers.arm(TimerKind::Stop, CLOSE_TIMEOUT);
        }
        match self.parts.timeouts.idle {
            Some(idle) if self.is_busy && !self.open_requests.is_waiting() => self.timers.arm(TimerKind::Idle, idle),
            _ => self.timers.disarm(&TimerKind::Idle),
        }
    }

    pub(super) async fn finish(mut self) {
        let mut lines = std::mem::take(&mut self.stdout_lines);
        lines.finish(|frame| self.read_frame(&frame));
        if let Some(line) = self.stderr_lines.finish() {
            self.apply_note(&EngineNote::Stderr(&line));
        }
        self.report_planted_files().await;
        self.write_pending_notices();
        self.record_failure();
        if let Some(ProcessExit { code, signal }) = self.exit {
            self.apply_note(&EngineNote::Exited { code, signal });
        }
        let mut events = Vec::new();
        self.parts.translator.finish(&mut events);
        self.apply_events(events);
        self.stream_mask.close_all();
        self.write_released_events();
        self.pending_effects.clear();
        if self.write_error.is_none()
            && let Err(error) = self.parts.event_writer.commit().await
        {
            self.write_error = Some(error.to_string());
        }
        self.leave().await;
    }

    /// Records the cause of a failure, if there was one, with the agent's last lines on standard error, which explain
    /// most.
    fn record_failure(&mut self) {
        let tail = self.stderr_lines.tail();
        let last_lines = if tail.is_empty() { String::new() } else { format!("\n{tail}") };
        let fault = match (self.fault.take(), self.exit) {
            (Some(fault), _) => Fault { message: format!("{}{last_lines}", fault.message), ..fault },
            (None, Some(exit)) => {
                let (title, how) = (self.parts.agent.title, describe_exit(exit));
                Fault::new(ErrorCode::ExecutionError, format!("{title} {how} before the turn was over{last_lines}"))
            }
            (None, None) => return,
        };
        self.apply_note(&EngineNote::Failed(fault));
    }

    async fn leave(self) {
        let Self { mut parts, agent_started, write_error, .. } = self;
        if timeout(EXIT_TIMEOUT, parts.link.wait_until_gone()).await.is_err() {
            warn!("processes of the agent are left");
            parts.link.stop(Duration::ZERO);
        }
        if let Some(run) = parts.run.take() {
            parts.event_writer.patch().run = Some(AgentRun { ended: Some((parts.host.now)()), ..run });
            // If it fails, the next start looks for processes that are gone.
            drop(parts.event_writer.commit().await);
        }
        drop(parts.private);
        let end = parts.event_writer.with_committed_state(|state| state.end.clone());
        let (reason, error) = end.map(|end| (end.reason, end.error)).unzip();
        info!(?reason, code = ?error.as_ref().and_then(|error| error.as_ref()).map(|fault| fault.code), "session ended");
        parts.event_writer.end();
        // There may be no receiver left.
        drop(parts.channels.outcome.send(Some(RunOutcome {
            reason,
            error: error.flatten(),
            agent_started,
            write_error,
        })));
    }
}

fn describe_exit(exit: ProcessExit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (_, Some(signal)) => format!("was ended by signal {signal}"),
        _ => "was killed".to_owned(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TimerKind {
    /// The session has taken too long.
    Total,
    /// The agent has produced no output for too long.
    Idle,
    /// The session had no prompt for too long.
    Unused,
    Handshake,
    /// The first event has waited long enough for the agent to identify its session.
    SessionId,
    /// The agent does not stop the turn.
    Interrupt,
    /// The next stage of stopping the agent.
    Stop,
    /// The remaining output of a dead agent has taken too long.
    Drain,
    /// A request was not answered in time.
    Request(Id),
    Driver(DriverTimer),
    /// It is time to log what a session without output waits for.
    Diagnostics,
}

#[derive(Default)]
pub struct SessionTimers(HashMap<TimerKind, Instant>);

impl SessionTimers {
    pub fn arm(&mut self, timer: TimerKind, after: Duration) {
        self.0.insert(timer, Instant::now() + after);
    }

    pub fn disarm(&mut self, timer: &TimerKind) {
        self.0.remove(timer);
    }

    pub fn is_armed(&self, timer: &TimerKind) -> bool {
        self.0.contains_key(timer)
    }

    /// Waits for the first timer to expire and removes it. Waits forever if there is none.
    pub async fn next(&mut self) -> TimerKind {
        let first = self.0.iter().min_by_key(|(_, at)| **at).map(|(timer, at)| (timer.clone(), *at));
        let Some((timer, at)) = first else { return std::future::pending().await };
        sleep_until(at).await;
        self.0.remove(&timer);
        timer
    }
}
