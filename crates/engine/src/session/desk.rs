//! The requests that are open in a session: who may answer, and what an answer must be.

use std::collections::{BTreeMap, HashMap};

use switchboard_agents::{Abilities, Answer, Decision};
use switchboard_event::{About, Id, OptionKind, RequestOpened};

use super::session_approvals::ApprovalKey;
use crate::CommandError;

/// The open requests.
#[derive(Default)]
pub struct Desk {
    open: HashMap<Id, Open>,
}

struct Open {
    about: About,
    /// The options that the agent offered, and what each means.
    options: BTreeMap<String, OptionKind>,
    /// The questions, and whether one may be answered in own words.
    questions: BTreeMap<String, Choices>,
    /// It may be allowed this once only.
    requires_person: bool,
    /// What a yes for the session allows.
    keys: Vec<ApprovalKey>,
    /// An answer is on its way to the agent.
    answered: bool,
}

struct Choices {
    labels: Vec<String>,
    free_text: bool,
}

impl Desk {
    /// The agent asks.
    pub fn opened(&mut self, request: &RequestOpened, keys: Vec<ApprovalKey>) {
        let questions = request.questions.iter().map(|question| {
            let labels = question.choices.iter().map(|choice| choice.label.clone()).collect();
            (question.id.clone(), Choices { labels, free_text: question.free_text || question.choices.is_empty() })
        });
        let options = request.options.iter().map(|option| (option.id.clone(), option.kind)).collect();
        let (about, requires_person) = (request.about, request.requires_person);
        let open = Open { about, options, questions: questions.collect(), requires_person, keys, answered: false };
        self.open.insert(request.request.clone(), open);
    }

    /// The request needs no answer any more.
    pub fn resolved(&mut self, request: &Id) {
        self.open.remove(request);
    }

    /// Somebody must answer before the agent goes on.
    pub fn is_waiting(&self) -> bool {
        self.open.values().any(|open| !open.answered)
    }

    /// Takes an answer if it makes sense; the first one counts. Returns what it allows for the rest of the session.
    pub fn take(&mut self, answer: &Answer, abilities: &Abilities) -> Result<Vec<ApprovalKey>, CommandError> {
        let open = self.open.get_mut(&answer.request).filter(|open| !open.answered).ok_or(CommandError::NotOpen)?;
        check(open, answer, abilities)?;
        open.answered = true;
        Ok(if open.is_for_session(answer) { std::mem::take(&mut open.keys) } else { Vec::new() })
    }
}

impl Open {
    /// Returns whether an answer allows more than this one request. Another input says nothing about the one that was
    /// asked for.
    fn is_for_session(&self, answer: &Answer) -> bool {
        let option = answer.option.as_ref().and_then(|option| self.options.get(option));
        let lasts = matches!(option, Some(OptionKind::AllowSession | OptionKind::AllowAlways));
        let is_yes = matches!(answer.decision, Decision::Allow | Decision::AllowSession);
        is_yes && answer.input.is_none() && (lasts || answer.decision == Decision::AllowSession)
    }
}

fn check(open: &Open, answer: &Answer, abilities: &Abilities) -> Result<(), CommandError> {
    let bad = |text: String| Err(CommandError::BadAnswer(text));
    let allowed = matches!(answer.decision, Decision::Allow | Decision::AllowSession);
    if answer.input.is_some() && !abilities.changed_input {
        return bad("this agent does not take another input than the one it asked for".to_owned());
    }
    if open.requires_person && answer.decision == Decision::AllowSession {
        return bad("this request is for a person each time, and can be allowed only once".to_owned());
    }
    if let Some(option) = &answer.option {
        match open.options.get(option) {
            None => return bad(format!("there is no option `{option}`")),
            Some(kind) if is_yes(*kind) != allowed => return bad(format!("`{option}` means the opposite")),
            Some(_) => {}
        }
    }
    if !allowed {
        return Ok(());
    }
    for (question, chosen) in &answer.answers {
        let Some(choices) = open.questions.get(question) else {
            return bad(format!("there is no question `{question}`"));
        };
        if let Some(other) = chosen.iter().find(|text| !choices.free_text && !choices.labels.contains(text)) {
            return bad(format!("`{other}` is not among the answers to `{question}`"));
        }
    }
    if open.about == About::Question && open.questions.keys().any(|question| !answer.answers.contains_key(question)) {
        return bad("not all questions are answered".to_owned());
    }
    Ok(())
}

fn is_yes(kind: OptionKind) -> bool {
    matches!(kind, OptionKind::AllowOnce | OptionKind::AllowSession | OptionKind::AllowAlways)
}

#[cfg(test)]
mod tests {
    use switchboard_agents::{Abilities, Answer, Decision};
    use switchboard_event::{About, Choice, Id, OptionKind, Question, RequestOpened, RequestOption};

    use super::Desk;

    fn question() -> RequestOpened {
        let choices = vec![Choice { label: "A".to_owned(), description: None }];
        let question = Question { id: "q".to_owned(), choices, ..Question::default() };
        RequestOpened {
            request: Id::from("r"),
            about: About::Question,
            questions: vec![question],
            ..RequestOpened::default()
        }
    }

    fn answer(decision: Decision, answers: &[(&str, &str)]) -> Answer {
        let answers = answers.iter().map(|(q, a)| ((*q).to_owned(), vec![(*a).to_owned()])).collect();
        Answer { request: Id::from("r"), decision, answers, ..Answer::default() }
    }

    #[test]
    fn the_first_answer_that_makes_sense_counts() {
        let mut desk = Desk::default();
        desk.opened(&question(), Vec::new());
        for (bad, why) in [
            (answer(Decision::Allow, &[]), "not all questions"),
            (answer(Decision::Allow, &[("q", "B")]), "not among"),
            (answer(Decision::Allow, &[("other", "A")]), "no question"),
        ] {
            let error = desk.take(&bad, &Abilities::NONE).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(desk.is_waiting(), "it stays open");
        }
        desk.take(&answer(Decision::Allow, &[("q", "A")]), &Abilities::NONE).unwrap();
        assert!(!desk.is_waiting());
        let second = desk.take(&answer(Decision::Decline, &[]), &Abilities::NONE).unwrap_err().to_string();
        assert!(second.contains("not open"), "{second}");
    }

    #[test]
    fn a_no_needs_no_answers_and_changed_input_needs_the_ability() {
        let mut desk = Desk::default();
        desk.opened(&question(), Vec::new());
        let changed = Answer { input: Some(switchboard_event::raw(&1)), ..answer(Decision::Allow, &[("q", "A")]) };
        assert!(desk.take(&changed, &Abilities::NONE).is_err());
        desk.take(&answer(Decision::Decline, &[]), &Abilities::NONE).unwrap();
    }

    #[test]
    fn what_is_for_a_person_is_not_allowed_for_the_session() {
        let mut desk = Desk::default();
        desk.opened(&RequestOpened { request: Id::from("r"), ..RequestOpened::default() }.for_a_person(), Vec::new());
        assert!(desk.take(&answer(Decision::AllowSession, &[]), &Abilities::NONE).is_err());
        desk.take(&answer(Decision::Allow, &[]), &Abilities::NONE).unwrap();
    }

    #[test]
    fn an_option_must_be_offered_and_mean_what_is_decided() {
        let option = |id: &str, kind| RequestOption { id: id.to_owned(), label: id.to_owned(), kind };
        let options = vec![option("once", OptionKind::AllowOnce), option("never", OptionKind::Reject)];
        let mut desk = Desk::default();
        desk.opened(&RequestOpened { request: Id::from("r"), options, ..RequestOpened::default() }, Vec::new());
        let choose = |decision, option: &str| Answer { option: Some(option.to_owned()), ..answer(decision, &[]) };
        for bad in [
            choose(Decision::Allow, "unheard of"),
            choose(Decision::Allow, "never"),
            choose(Decision::Decline, "once"),
            choose(Decision::Cancel, "once"),
        ] {
            assert!(desk.take(&bad, &Abilities::NONE).is_err(), "{bad:?}");
            assert!(desk.is_waiting(), "it stays open");
        }
        desk.take(&choose(Decision::Allow, "once"), &Abilities::NONE).unwrap();
    }
}
