//! Asking in place: the conversation about one request of the agent. A state machine over lines; reading them is the
//! caller's. Whatever is not a clear yes is no: closed input declines, and what is not understood is asked again.

mod approval;
mod input;
mod matter;
mod questions;

use std::collections::BTreeMap;

use approval::Approval;
use questions::Questions;
use switchboard_agents::{Abilities, RequestAnswer, RequestDecision};
use switchboard_event::RequestOpened;

use super::Options;

/// A request that is being asked about.
#[derive(Debug)]
pub struct Asking {
    request: RequestOpened,
    matter: String,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Yes or no.
    Approval(Approval),
    /// Questions, one after the other.
    Questions(Questions),
}

/// What comes of a line.
#[derive(Debug)]
pub enum Step {
    /// The conversation goes on: show this, then [`Asking::prompt`], and read another line.
    Again(String),
    /// This is the answer.
    Done(RequestAnswer),
}

impl Asking {
    /// Begins to ask.
    #[must_use]
    pub fn new(request: &RequestOpened, abilities: &Abilities, options: &Options) -> Self {
        let state = if request.questions.is_empty() {
            State::Approval(Approval::new(request, abilities))
        } else {
            State::Questions(Questions::new(request.questions.clone(), options.colour))
        };
        Self { request: request.clone(), matter: matter::text(request, options), state }
    }

    /// All that is shown at the beginning: what it is about, what would happen, and what can be answered.
    #[must_use]
    pub fn prompt_text(&self) -> String {
        format!("{}{}", self.matter, self.prompt())
    }

    /// What stands before the input: what can be answered. It has no line end.
    #[must_use]
    pub fn prompt(&self) -> String {
        match &self.state {
            State::Approval(approval) => approval.prompt(),
            State::Questions(questions) => questions.prompt(),
        }
    }

    /// The next line is a secret: it should not be seen while it is typed.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        matches!(&self.state, State::Questions(questions) if questions.is_secret())
    }

    /// A line was typed.
    pub fn line(&mut self, input: &str) -> Step {
        let input = input.trim_end_matches(['\n', '\r']);
        match &mut self.state {
            State::Approval(approval) => approval.line(input, &self.request),
            State::Questions(questions) => questions.line(input, &self.request),
        }
    }

    /// Returns the answer for a closed input, or for a request that was resolved elsewhere: decline.
    #[must_use]
    pub fn closed(&self) -> RequestAnswer {
        answer(&self.request, RequestDecision::Decline)
    }
}

/// An answer without anything more to it.
fn answer(request: &RequestOpened, decision: RequestDecision) -> RequestAnswer {
    RequestAnswer {
        request: request.request.clone(),
        decision,
        option: None,
        input: None,
        answers: BTreeMap::new(),
        message: None,
    }
}
