//! Questions, one after the other: numbered choices, several where that is allowed, own words where those are.

use std::collections::BTreeMap;

use switchboard_agents::{RequestAnswer, RequestDecision};
use switchboard_event::{Question, RequestOpened};

use super::{Step, answer};
use crate::view::{
    clean,
    paper::paint,
    style::{BOLD, DIM},
};

/// The questions of a request and the answers so far.
#[derive(Debug)]
pub struct Questions {
    questions: Vec<Question>,
    answers: BTreeMap<String, Vec<String>>,
    /// Which question is asked.
    at: usize,
    colour: bool,
}

impl Questions {
    pub fn new(questions: Vec<Question>, colour: bool) -> Self {
        Self { questions, answers: BTreeMap::new(), at: 0, colour }
    }

    pub fn is_secret(&self) -> bool {
        self.questions.get(self.at).is_some_and(|question| question.secret)
    }

    pub fn prompt(&self) -> String {
        let Some(question) = self.questions.get(self.at) else { return String::new() };
        let paint = |style, text: &str| paint(self.colour, style, text);
        let count = self.questions.len();
        let number = if count > 1 { paint(DIM, &format!(" ({} of {count})", self.at + 1)) } else { String::new() };
        let header = question.header.as_deref().filter(|header| *header != question.question);
        let header = header.map(|header| paint(DIM, &format!("{}: ", clean::line(header)))).unwrap_or_default();
        let mut text = format!("{header}{}{number}\n", paint(BOLD, &clean::exact(&question.question)));
        for (choice, number) in question.choices.iter().zip(1..) {
            let about = choice.description.as_deref().map(|about| paint(DIM, &format!(" · {}", clean::line(about))));
            text += &format!("  [{number}] {}{}\n", clean::line(&choice.label), about.unwrap_or_default());
        }
        text + &paint(DIM, &how(question)) + "\n> "
    }

    pub fn line(&mut self, line: &str, request: &RequestOpened) -> Step {
        let Some(question) = self.questions.get(self.at) else {
            return Step::Done(answer(request, RequestDecision::Decline));
        };
        let given = match given(question, line) {
            Ok(given) => given,
            Err(why) => return Step::Again(format!("{why}\n")),
        };
        self.answers.insert(question.id.clone(), given);
        self.at += 1;
        if self.at < self.questions.len() {
            return Step::Again(String::new());
        }
        let accept = request.options.iter().find(|option| option.kind == switchboard_event::OptionKind::AllowOnce);
        Step::Done(RequestAnswer {
            option: accept.map(|option| option.id.clone()),
            answers: std::mem::take(&mut self.answers),
            ..answer(request, RequestDecision::Allow)
        })
    }
}

/// How to answer.
fn how(question: &Question) -> String {
    let choices = match (question.choices.is_empty(), question.multiple) {
        (true, _) => "",
        (false, false) => "a number",
        (false, true) => "numbers, such as 1,2",
    };
    let own = if takes_words(question) { "your own words" } else { "" };
    let secret = if question.secret { "a secret" } else { own };
    let ways = [choices, secret].into_iter().filter(|way| !way.is_empty()).collect::<Vec<_>>().join(", or ");
    format!("{ways}; Ctrl-D declines")
}

/// A question without choices can only be answered in own words.
fn takes_words(question: &Question) -> bool {
    question.free_text || question.choices.is_empty()
}

/// The answers that a line gives.
fn given(question: &Question, line: &str) -> Result<Vec<String>, String> {
    // A secret may begin or end with a space.
    let typed = if question.secret { line } else { line.trim() };
    if typed.is_empty() {
        return Err("please answer, or press Ctrl-D to decline".to_owned());
    }
    if let Some(choice) = choice(question, typed) {
        return Ok(vec![choice]);
    }
    if question.multiple && typed.contains([',', ' ']) {
        let parts = typed.split([',', ' ']).filter(|part| !part.is_empty());
        if let Some(mut chosen) = parts.map(|part| choice(question, part)).collect::<Option<Vec<_>>>() {
            let mut seen = std::collections::BTreeSet::new();
            chosen.retain(|label| seen.insert(label.clone()));
            return Ok(chosen);
        }
    }
    if takes_words(question) {
        return Ok(vec![typed.to_owned()]);
    }
    let last = question.choices.len();
    Err(format!("`{}` is not one of the choices, 1 to {last}", clean::line(typed)))
}

/// The choice that is meant: by its number, or by its name.
fn choice(question: &Question, typed: &str) -> Option<String> {
    let number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_name = || question.choices.iter().find(|choice| choice.label.eq_ignore_ascii_case(typed));
    let by_number = number.and_then(|at| question.choices.get(at));
    by_number.or_else(by_name).map(|choice| choice.label.clone())
}
