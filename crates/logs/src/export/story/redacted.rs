//! A story without its secrets.

use super::{Did, Step, Story, Turn, What};
use crate::export::Redactor;

impl Story {
    /// Takes the secrets out of all texts.
    pub fn redact(&mut self, redactor: &Redactor) {
        clean(redactor, &mut self.title);
        self.about.iter_mut().for_each(|(_, text)| clean(redactor, text));
        self.turns.iter_mut().for_each(|turn| turn.redact(redactor));
    }
}

impl Turn {
    fn redact(&mut self, redactor: &Redactor) {
        self.prompt.iter_mut().chain(&mut self.problem).for_each(|text| clean(redactor, text));
        self.steps.iter_mut().for_each(|step| step.redact(redactor));
    }
}

impl Step {
    fn redact(&mut self, redactor: &Redactor) {
        match &mut self.what {
            What::Said(text) | What::Thought(text) | What::Note(text) => clean(redactor, text),
            What::Did(did) => did.redact(redactor),
        }
        self.inner.iter_mut().for_each(|step| step.redact(redactor));
    }
}

impl Did {
    fn redact(&mut self, redactor: &Redactor) {
        [&mut self.about, &mut self.output].into_iter().for_each(|text| clean(redactor, text));
        self.command.iter_mut().chain(&mut self.problem).for_each(|text| clean(redactor, text));
        // Names in it say what is secret.
        if let Some(input) = &mut self.input {
            *input = redactor.json(input).into_owned();
            clean(redactor, input);
        }
        for change in &mut self.changes {
            clean(redactor, &mut change.diff);
            change.before.iter_mut().chain(&mut change.after).for_each(|text| clean(redactor, text));
        }
    }
}

fn clean(redactor: &Redactor, text: &mut String) {
    if let std::borrow::Cow::Owned(without) = redactor.text(text) {
        *text = without;
    }
}
