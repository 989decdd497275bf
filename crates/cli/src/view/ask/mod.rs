//! Asking in place: the conversation about one request of the agent. A state machine over lines; the caller reads them.
//! Anything but a clear yes is a no: closed input declines, and unknown input is asked about again.

mod approval;
mod request_details;

use std::collections::BTreeMap;

use approval::ApprovalPrompt;
use request_details::request_details;
use switchboard_agents::{Abilities, RequestAnswer, RequestDecision};
use switchboard_event::{Question, RequestOpened};

use super::{
    ViewOptions,
    sanitize::{reveal_hidden, sanitize_line},
    style::{BOLD, DIM, paint},
};

/// The conversation about one request.
#[derive(Debug)]
pub struct RequestPrompt {
    request: RequestOpened,
    details: String,
    state: PromptState,
}

#[derive(Debug)]
enum PromptState {
    Approval(ApprovalPrompt),
    /// Questions in sequence.
    Questions(QuestionPrompt),
}

/// The result of a line.
#[derive(Debug)]
pub enum PromptStep {
    /// The conversation continues: show this, then [`RequestPrompt::prompt`], and read another line.
    Again(String),
    Done(RequestAnswer),
}

impl RequestPrompt {
    #[must_use]
    pub fn new(request: &RequestOpened, abilities: &Abilities, options: &ViewOptions) -> Self {
        let state = if request.questions.is_empty() {
            PromptState::Approval(ApprovalPrompt::new(request, abilities))
        } else {
            PromptState::Questions(QuestionPrompt::new(request.questions.clone(), options.color))
        };
        Self { request: request.clone(), details: request_details(request, options), state }
    }

    /// Returns the initial text: what the request is about, what would happen, and the possible answers.
    #[must_use]
    pub fn prompt_text(&self) -> String {
        format!("{}{}", self.details, self.prompt())
    }

    /// Returns the prompt before the input, without a line end.
    #[must_use]
    pub fn prompt(&self) -> String {
        match &self.state {
            PromptState::Approval(approval) => approval.prompt(),
            PromptState::Questions(questions) => questions.prompt(),
        }
    }

    /// Returns whether the next line is a secret, which must not be echoed.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        matches!(&self.state, PromptState::Questions(questions) if questions.is_secret())
    }

    /// Handles a typed line.
    pub fn line(&mut self, input: &str) -> PromptStep {
        let input = input.trim_end_matches(['\n', '\r']);
        match &mut self.state {
            PromptState::Approval(approval) => approval.line(input, &self.request),
            PromptState::Questions(questions) => questions.line(input, &self.request),
        }
    }

    /// Returns the answer for a closed input, or for a request that was resolved elsewhere: decline.
    #[must_use]
    pub fn closed(&self) -> RequestAnswer {
        plain_answer(&self.request, RequestDecision::Decline)
    }
}

fn plain_answer(request: &RequestOpened, decision: RequestDecision) -> RequestAnswer {
    RequestAnswer {
        request: request.request.clone(),
        decision,
        option: None,
        input: None,
        answers: BTreeMap::new(),
        message: None,
    }
}

/// The questions of a request and the answers so far.
#[derive(Debug)]
struct QuestionPrompt {
    questions: Vec<Question>,
    answers: BTreeMap<String, Vec<String>>,
    /// The index of the current question.
    at: usize,
    color: bool,
}

impl QuestionPrompt {
    pub fn new(questions: Vec<Question>, color: bool) -> Self {
        Self { questions, answers: BTreeMap::new(), at: 0, color }
    }

    pub fn is_secret(&self) -> bool {
        self.questions.get(self.at).is_some_and(|question| question.secret)
    }

    pub fn prompt(&self) -> String {
        let Some(question) = self.questions.get(self.at) else { return String::new() };
        let paint = |style, text: &str| paint(self.color, style, text);
        let count = self.questions.len();
        let number = if count > 1 { paint(DIM, &format!(" ({} of {count})", self.at + 1)) } else { String::new() };
        let header = question.header.as_deref().filter(|header| *header != question.question);
        let header = header.map(|header| paint(DIM, &format!("{}: ", sanitize_line(header)))).unwrap_or_default();
        let mut text = format!("{header}{}{number}\n", paint(BOLD, &reveal_hidden(&question.question)));
        for (choice, number) in question.choices.iter().zip(1..) {
            let about = choice.description.as_deref().map(|about| paint(DIM, &format!(" · {}", sanitize_line(about))));
            text += &format!("  [{number}] {}{}\n", sanitize_line(&choice.label), about.unwrap_or_default());
        }
        text + &paint(DIM, &answer_hint(question)) + "\n> "
    }

    pub fn line(&mut self, line: &str, request: &RequestOpened) -> PromptStep {
        let Some(question) = self.questions.get(self.at) else {
            return PromptStep::Done(plain_answer(request, RequestDecision::Decline));
        };
        let given = match parse_answer(question, line) {
            Ok(given) => given,
            Err(why) => return PromptStep::Again(format!("{why}\n")),
        };
        self.answers.insert(question.id.clone(), given);
        self.at += 1;
        if self.at < self.questions.len() {
            return PromptStep::Again(String::new());
        }
        let accept = request.options.iter().find(|option| option.kind == switchboard_event::OptionKind::AllowOnce);
        PromptStep::Done(RequestAnswer {
            option: accept.map(|option| option.id.clone()),
            answers: std::mem::take(&mut self.answers),
            ..plain_answer(request, RequestDecision::Allow)
        })
    }
}

fn answer_hint(question: &Question) -> String {
    let choices = match (question.choices.is_empty(), question.multiple) {
        (true, _) => "",
        (false, false) => "a number",
        (false, true) => "numbers, such as 1,2",
    };
    let own = if takes_free_text(question) { "your own words" } else { "" };
    let secret = if question.secret { "a secret" } else { own };
    let ways = [choices, secret].into_iter().filter(|way| !way.is_empty()).collect::<Vec<_>>().join(", or ");
    format!("{ways}; Ctrl-D declines")
}

/// A question without choices always takes free text.
fn takes_free_text(question: &Question) -> bool {
    question.free_text || question.choices.is_empty()
}

fn parse_answer(question: &Question, line: &str) -> Result<Vec<String>, String> {
    // A secret may begin or end with a space.
    let typed = if question.secret { line } else { line.trim() };
    if typed.is_empty() {
        return Err("please answer, or press Ctrl-D to decline".to_owned());
    }
    if let Some(choice) = find_choice(question, typed) {
        return Ok(vec![choice]);
    }
    if question.multiple && typed.contains([',', ' ']) {
        let parts = typed.split([',', ' ']).filter(|part| !part.is_empty());
        if let Some(mut chosen) = parts.map(|part| find_choice(question, part)).collect::<Option<Vec<_>>>() {
            let mut seen = std::collections::BTreeSet::new();
            chosen.retain(|label| seen.insert(label.clone()));
            return Ok(chosen);
        }
    }
    if takes_free_text(question) {
        return Ok(vec![typed.to_owned()]);
    }
    let last = question.choices.len();
    Err(format!("`{}` is not one of the choices, 1 to {last}", sanitize_line(typed)))
}

/// Returns the choice with a number or name.
fn find_choice(question: &Question, typed: &str) -> Option<String> {
    let number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_name = || question.choices.iter().find(|choice| choice.label.eq_ignore_ascii_case(typed));
    let by_number = number.and_then(|at| question.choices.get(at));
    by_number.or_else(by_name).map(|choice| choice.label.clone())
}
