//! Handles commands to the session: prompts, answers, interrupts, settings, the end.

use switchboard_agents::{
    AgentCommand, AgentPrompt, EngineNote, RequestAnswer, RequestDecision, StopCause, UnsupportedOperation,
    WhileRunning,
};
use switchboard_event::{Decider, ErrorCode, Fault, Id};
use switchboard_store::SessionPhase;
use tokio::sync::oneshot;
use tracing::debug;

use super::{
    SessionCommand,
    actor::SessionActor,
    approvals::{allows_for_session, check_answer},
    stop::{INTERRUPT_TIMEOUT, StopStage, TimerKind},
};
use crate::{CommandError, supervise::StopSignal};

impl SessionActor {
    pub(super) async fn handle_command(
        &mut self,
        command: SessionCommand,
        reply: oneshot::Sender<Result<(), CommandError>>,
    ) {
        let mut result = Ok(());
        debug!(command = command.name(), "command received");
        match command {
            SessionCommand::Remark(text) => self.write_warning(text),
            SessionCommand::Cancel => self.stop(StopCause::Cancelled),
            SessionCommand::Kill => self.kill(),
            SessionCommand::Agent(command) => {
                if matches!(command, AgentCommand::Answer(_)) {
                    // An answer is checked against the request in the committed state.
                    let written = self.parts.event_writer.commit().await;
                    self.send_outbox(written);
                }
                result = self.handle_agent_command(command);
            }
        }
        if let Err(error) = &result {
            debug!(%error, "command refused");
        }
        self.reply(reply, result).await;
    }

    fn handle_agent_command(&mut self, command: AgentCommand) -> Result<(), CommandError> {
        if self.stop_stage.is_stopping() {
            return Err(CommandError::Ended);
        }
        let abilities = self.parts.agent.abilities;
        match command {
            AgentCommand::Prompt(prompt) => self.queue_prompt(prompt),
            AgentCommand::Slash { .. } => self.queue_slash_command(command),
            AgentCommand::Answer(answer) => self.take_client_answer(answer),
            AgentCommand::Interrupt => self.interrupt_turn(),
            AgentCommand::Close => {
                self.is_closing = true;
                self.give_next_prompts();
                Ok(())
            }
            AgentCommand::SetModel(_) if !abilities.set_model => {
                Err(unsupported("cannot change its model in a session"))
            }
            AgentCommand::SetMode(_) if !abilities.set_mode => Err(unsupported("cannot change its mode in a session")),
            setting => {
                self.drive(setting.clone())?;
                self.store_setting(setting);
                Ok(())
            }
        }
    }

    /// Stores a changed setting for later runs.
    fn store_setting(&mut self, setting: AgentCommand) {
        let config = &mut self.parts.config;
        match setting {
            AgentCommand::SetModel(model) => config.model = Some(model),
            AgentCommand::SetMode(mode) => config.mode = Some(mode),
            AgentCommand::SetOption { id, value } => drop(config.options.insert(id, value)),
            _ => return,
        }
        self.parts.event_writer.patch().config = Some(config.clone());
    }

    /// Applies the agent's own settings that the session was started with.
    fn apply_start_settings(&mut self) {
        let config = &self.parts.config;
        let mode = config.mode.clone().map(AgentCommand::SetMode);
        let options = config.options.clone().into_iter().map(|(id, value)| AgentCommand::SetOption { id, value });
        for setting in mode.into_iter().chain(options) {
            if let Err(error) = self.drive(setting) {
                self.write_warning(error.to_string());
            }
        }
    }

    fn queue_prompt(&mut self, prompt: AgentPrompt) -> Result<(), CommandError> {
        if self.parts.driver.is_none() {
            return Err(unsupported("takes no second prompt in this form"));
        }
        if self.is_closing && !self.is_busy {
            return Err(CommandError::Ended);
        }
        if !prompt.images.is_empty() && !self.parts.agent.abilities.images {
            return Err(unsupported("takes no images"));
        }
        self.prompts.push_back(AgentCommand::Prompt(prompt));
        self.give_next_prompts();
        Ok(())
    }

    /// Queues a slash command. It begins a turn of its own, so it waits in line with the prompts. An unknown command is
    /// refused at once, if the driver can tell.
    fn queue_slash_command(&mut self, command: AgentCommand) -> Result<(), CommandError> {
        let Some(driver) = &self.parts.driver else {
            return Err(unsupported("takes no commands in this form"));
        };
        if let AgentCommand::Slash { name, .. } = &command {
            driver.check_slash_command(name)?;
        }
        if self.is_closing && !self.is_busy {
            return Err(CommandError::Ended);
        }
        if self.is_ready && !self.is_busy && self.prompts.is_empty() {
            return Ok(self.give_prompt(command)?);
        }
        self.prompts.push_back(command);
        Ok(())
    }

    /// Gives the agent the next prompts if it accepts them, and closes it if no more can follow.
    pub(super) fn give_next_prompts(&mut self) {
        while self.is_ready && !self.stop_stage.is_stopping() && self.accepts_next_prompt() {
            let Some(command) = self.prompts.pop_front() else { break };
            let is_slash_command = matches!(command, AgentCommand::Slash { .. });
            match self.give_prompt(command) {
                Err(error) if is_slash_command => self.write_warning(error.to_string()),
                Err(error) => self.fail(Fault::new(ErrorCode::ExecutionError, error.to_string())),
                Ok(()) => {}
            }
        }
        let is_idle = self.is_ready && !self.is_busy && self.prompts.is_empty();
        if is_idle && (self.is_closing || !self.parts.stay) {
            self.close_agent();
        }
    }

    /// Returns whether the next prompt can be given. During a turn, only prompts are, and only to agents that accept
    /// them.
    fn accepts_next_prompt(&self) -> bool {
        let waits = self.parts.agent.abilities.while_running == WhileRunning::Wait;
        !self.is_busy || !waits && matches!(self.prompts.front(), Some(AgentCommand::Prompt(_)))
    }

    fn give_prompt(&mut self, command: AgentCommand) -> Result<(), UnsupportedOperation> {
        let was_busy = std::mem::replace(&mut self.is_busy, true);
        let given = self.drive(command);
        if given.is_err() {
            self.is_busy = was_busy;
            return given;
        }
        self.timers.disarm(&TimerKind::Unused);
        self.parts.event_writer.patch().state = Some(SessionPhase::Running);
        self.note_activity();
        given
    }

    pub(super) fn handle_ready(&mut self) {
        self.is_ready = true;
        self.agent_started = true;
        self.timers.disarm(&TimerKind::Handshake);
        self.apply_start_settings();
        if self.prompts.is_empty() {
            // Some agents identify their session with their first answer, and there was no prompt yet.
            self.mark_started();
            self.mark_idle();
        }
        self.give_next_prompts();
    }

    /// Marks a session that stays open as idle. It waits for a prompt, but only for a limited time.
    fn mark_idle(&mut self) {
        if !self.parts.stay {
            return;
        }
        self.parts.event_writer.patch().state = Some(SessionPhase::Idle);
        if let Some(unused) = self.parts.timeouts.unused {
            self.timers.arm(TimerKind::Unused, unused);
        }
    }

    /// Handles the driver's report that the turn is over.
    pub(super) fn handle_settled(&mut self) {
        self.is_busy = false;
        self.timers.disarm(&TimerKind::Interrupt);
        self.timers.disarm(&TimerKind::Idle);
        if self.stop_stage == StopStage::InterruptingTurn {
            self.escalate_stop();
        }
        if self.stop_stage.is_stopping() {
            return;
        }
        if self.prompts.is_empty() {
            self.mark_idle();
        }
        self.give_next_prompts();
    }

    fn interrupt_turn(&mut self) -> Result<(), CommandError> {
        if !self.is_busy || self.timers.is_armed(&TimerKind::Interrupt) {
            return Ok(());
        }
        self.timers.arm(TimerKind::Interrupt, INTERRUPT_TIMEOUT);
        if self.parts.driver.is_none() {
            self.apply_note(&EngineNote::Stopping(StopCause::Cancelled));
            self.parts.link.signal(StopSignal::Interrupt);
            return Ok(());
        }
        Ok(self.drive(AgentCommand::Interrupt)?)
    }

    /// Accepts an answer of a client if it is valid; the first one counts.
    fn take_client_answer(&mut self, answer: RequestAnswer) -> Result<(), CommandError> {
        if !self.open_requests.is_unanswered(&answer.request) {
            return Err(CommandError::NotOpen);
        }
        let abilities = self.parts.agent.abilities;
        let is_for_session = self.parts.event_writer.with_committed_state(|state| {
            let request = state.requests.iter().rfind(|open| open.request == answer.request);
            let request = request.ok_or(CommandError::NotOpen)?;
            check_answer(request, &answer, &abilities)?;
            Ok::<_, CommandError>(allows_for_session(request, &answer))
        })?;
        let keys = self.open_requests.mark_answered(&answer.request);
        if self.parts.network.is_open(&answer.request) {
            self.answer_connection(&answer, Decider::Client);
            return Ok(());
        }
        self.send_answer(answer, Decider::Client)?;
        if is_for_session {
            self.approvals.remember(keys);
        }
        Ok(())
    }

    /// Sends the agent an answer. A refusal must reach it in any case.
    pub(super) fn send_answer(&mut self, answer: RequestAnswer, by: Decider) -> Result<(), CommandError> {
        self.timers.disarm(&TimerKind::Request(answer.request.clone()));
        self.apply_note(&EngineNote::Decided(&answer.request, by));
        let request = answer.request.clone();
        if let Err(error) = self.drive(AgentCommand::Answer(answer)) {
            let refusal = RequestAnswer { request, message: Some(error.to_string()), ..RequestAnswer::default() };
            if self.drive(AgentCommand::Answer(refusal)).is_err() {
                self.write_warning("the agent accepts no answer to its request, so the turn is stopped");
                self.interrupt_turn()?;
            }
            return Err(error.into());
        }
        Ok(())
    }

    /// Declines a request that was not answered in time.
    pub(super) fn expire_request(&mut self, request: Id) {
        if !self.open_requests.is_unanswered(&request) {
            return;
        }
        self.open_requests.mark_answered(&request);
        let message = Some("no answer in time".to_owned());
        let answer = RequestAnswer { request, decision: RequestDecision::Decline, message, ..RequestAnswer::default() };
        if self.parts.network.is_open(&answer.request) {
            return self.answer_connection(&answer, Decider::Timeout);
        }
        // The error is already reported in the log.
        drop(self.send_answer(answer, Decider::Timeout));
    }
}

fn unsupported(what: &str) -> CommandError {
    CommandError::Unsupported(UnsupportedOperation::new(format!("this agent {what}")))
}
