//! What somebody wants of the session: prompts, answers, interrupts, settings, the end.

use switchboard_agents::{Answer, Command, Decision, Note, Prompt, Unsupported, WhileRunning, Why};
use switchboard_event::{Decider, Id};
use switchboard_store::State;
use tokio::sync::oneshot;

use super::{actor::Actor, handle::Order, stop::INTERRUPT, timers::Due};
use crate::{CommandError, supervise::Signal};

impl Actor {
    pub(super) async fn ordered(&mut self, order: Order, reply: oneshot::Sender<Result<(), CommandError>>) {
        let result = match order {
            Order::Remark(text) => {
                self.warn(text);
                Ok(())
            }
            Order::Cancel => {
                self.stop(Why::Cancelled);
                Ok(())
            }
            Order::Kill => {
                self.kill();
                Ok(())
            }
            Order::Command(command) => self.commanded(command),
        };
        self.reply(reply, result).await;
    }

    fn commanded(&mut self, command: Command) -> Result<(), CommandError> {
        if self.ladder.is_climbing() {
            return Err(CommandError::Ended);
        }
        let abilities = self.parts.agent.abilities;
        match command {
            Command::Prompt(prompt) => self.prompted(prompt),
            Command::Slash { .. } => self.slashed(command),
            Command::Answer(answer) => {
                let keys = self.desk.take(&answer, &abilities)?;
                self.answer(answer, Decider::Client)?;
                self.approvals.remember(keys);
                Ok(())
            }
            Command::Interrupt => self.interrupted(),
            Command::Close => {
                self.closing = true;
                self.go_on();
                Ok(())
            }
            Command::SetModel(_) if !abilities.set_model => Err(unsupported("cannot change its model in a session")),
            Command::SetMode(_) if !abilities.set_mode => Err(unsupported("cannot change its mode in a session")),
            setting => {
                self.drive(setting.clone())?;
                self.keep(setting);
                Ok(())
            }
        }
    }

    /// What was set holds for later runs, too.
    fn keep(&mut self, setting: Command) {
        let config = &mut self.parts.config;
        match setting {
            Command::SetModel(model) => config.model = Some(model),
            Command::SetMode(mode) => config.mode = Some(mode),
            Command::SetOption { id, value } => drop(config.options.insert(id, value)),
            _ => return,
        }
        self.parts.journal.change().config = Some(config.clone());
    }

    /// The agent's own settings, as the session was started with them.
    fn set_up(&mut self) {
        let config = &self.parts.config;
        let mode = config.mode.clone().map(Command::SetMode);
        let options = config.options.clone().into_iter().map(|(id, value)| Command::SetOption { id, value });
        for setting in mode.into_iter().chain(options) {
            if let Err(error) = self.drive(setting) {
                self.warn(error.to_string());
            }
        }
    }

    fn prompted(&mut self, prompt: Prompt) -> Result<(), CommandError> {
        if self.parts.driver.is_none() {
            return Err(unsupported("takes no second prompt in this form"));
        }
        if self.closing && !self.busy {
            return Err(CommandError::Ended);
        }
        if !prompt.images.is_empty() && !self.parts.agent.abilities.images {
            return Err(unsupported("takes no images"));
        }
        self.prompts.push_back(Command::Prompt(prompt));
        self.go_on();
        Ok(())
    }

    /// A slash command begins a turn of its own: it waits in line with the prompts. Whoever can be told at once that
    /// there is no such command is told.
    fn slashed(&mut self, command: Command) -> Result<(), CommandError> {
        let Some(driver) = &self.parts.driver else {
            return Err(unsupported("takes no commands in this form"));
        };
        if let Command::Slash { name, .. } = &command {
            driver.has_command(name)?;
        }
        if self.closing && !self.busy {
            return Err(CommandError::Ended);
        }
        if self.ready && !self.busy && self.prompts.is_empty() {
            return Ok(self.give(command)?);
        }
        self.prompts.push_back(command);
        Ok(())
    }

    /// Gives the agent the next prompt, if it can take it; closes it, if there is none and none will come.
    pub(super) fn go_on(&mut self) {
        while self.ready && !self.ladder.is_climbing() && self.takes_next() {
            let Some(command) = self.prompts.pop_front() else { break };
            let slash = matches!(command, Command::Slash { .. });
            match self.give(command) {
                Err(error) if slash => self.warn(error.to_string()),
                Err(error) => self.refuse(&error),
                Ok(()) => {}
            }
        }
        if self.ready && !self.busy && self.prompts.is_empty() && (self.closing || !self.parts.stay) {
            self.close();
        }
    }

    /// While a turn runs, only a prompt may be given, and only to an agent that takes it.
    fn takes_next(&self) -> bool {
        let waits = self.parts.agent.abilities.while_running == WhileRunning::Wait;
        !self.busy || !waits && matches!(self.prompts.front(), Some(Command::Prompt(_)))
    }

    /// Has the agent work on something.
    fn give(&mut self, command: Command) -> Result<(), Unsupported> {
        let state = std::mem::replace(&mut self.busy, true);
        let given = self.drive(command);
        if given.is_err() {
            self.busy = state;
            return given;
        }
        self.timers.disarm(&Due::Unused);
        self.parts.journal.change().state = Some(State::Running);
        self.sign_of_life();
        given
    }

    fn refuse(&mut self, error: &Unsupported) {
        self.give_up(switchboard_event::Fault::new(switchboard_event::ErrorCode::ExecutionError, error.to_string()));
    }

    pub(super) fn is_ready(&mut self) {
        self.ready = true;
        self.outcome.started = true;
        self.timers.disarm(&Due::Handshake);
        self.set_up();
        if self.prompts.is_empty() {
            // Some agents say who they are with their first answer, and nobody has asked them anything yet.
            self.begun();
            self.rest();
        }
        self.go_on();
    }

    /// The agent has nothing to do. In a session that stays, it waits for a prompt, but not for ever.
    fn rest(&mut self) {
        if !self.parts.stay {
            return;
        }
        self.parts.journal.change().state = Some(State::Idle);
        if let Some(unused) = self.parts.limits.unused {
            self.timers.arm(Due::Unused, unused);
        }
    }

    pub(super) fn settled(&mut self) {
        self.busy = false;
        self.timers.disarm(&Due::Interrupt);
        self.timers.disarm(&Due::Idle);
        if self.ladder.is_climbing() {
            return self.turn_stopped();
        }
        if self.prompts.is_empty() {
            self.rest();
        }
        self.go_on();
    }

    fn interrupted(&mut self) -> Result<(), CommandError> {
        if !self.busy || self.timers.is_armed(&Due::Interrupt) {
            return Ok(());
        }
        self.timers.arm(Due::Interrupt, INTERRUPT);
        if self.parts.driver.is_none() {
            self.note(&Note::Stopping(Why::Cancelled));
            self.parts.link.signal(Signal::Interrupt);
            return Ok(());
        }
        Ok(self.drive(Command::Interrupt)?)
    }

    /// Tells the agent what was decided. A no must reach it, whatever it takes.
    pub(super) fn answer(&mut self, answer: Answer, by: Decider) -> Result<(), CommandError> {
        self.timers.disarm(&Due::Request(answer.request.clone()));
        self.note(&Note::Decided(&answer.request, by));
        let request = answer.request.clone();
        if let Err(error) = self.drive(Command::Answer(answer)) {
            let no = Answer { request, message: Some(error.to_string()), ..Answer::default() };
            if self.drive(Command::Answer(no)).is_err() {
                self.warn("the agent takes no answer to its request, so the turn is stopped");
                self.interrupted()?;
            }
            return Err(error.into());
        }
        Ok(())
    }

    /// Nobody answered in time: the answer is no.
    pub(super) fn expire(&mut self, request: Id) {
        let message = Some("nobody answered in time".to_owned());
        let answer = Answer { request, decision: Decision::Decline, message, ..Answer::default() };
        if self.desk.take(&answer, &self.parts.agent.abilities).is_ok() {
            // What went wrong has been told in the log.
            drop(self.answer(answer, Decider::Timeout));
        }
    }
}

fn unsupported(what: &str) -> CommandError {
    CommandError::Unsupported(Unsupported::new(format!("this agent {what}")))
}
