//! Redaction of a document.

use super::{StepContent, TranscriptDocument, TranscriptStep, TranscriptToolCall, TranscriptTurn};
use crate::export::Redactor;

impl TranscriptDocument {
    pub fn redact(&mut self, redactor: &Redactor) {
        redact_in_place(redactor, &mut self.title);
        self.about.iter_mut().for_each(|(_, text)| redact_in_place(redactor, text));
        self.turns.iter_mut().for_each(|turn| turn.redact(redactor));
    }
}

impl TranscriptTurn {
    fn redact(&mut self, redactor: &Redactor) {
        self.prompt.iter_mut().chain(&mut self.problem).for_each(|text| redact_in_place(redactor, text));
        self.steps.iter_mut().for_each(|step| step.redact(redactor));
    }
}

impl TranscriptStep {
    fn redact(&mut self, redactor: &Redactor) {
        match &mut self.what {
            StepContent::Said(text) | StepContent::Thought(text) | StepContent::Note(text) => {
                redact_in_place(redactor, text)
            }
            StepContent::Did(did) => did.redact(redactor),
        }
        self.inner.iter_mut().for_each(|step| step.redact(redactor));
    }
}

impl TranscriptToolCall {
    fn redact(&mut self, redactor: &Redactor) {
        [&mut self.about, &mut self.output].into_iter().for_each(|text| redact_in_place(redactor, text));
        self.command.iter_mut().chain(&mut self.problem).for_each(|text| redact_in_place(redactor, text));
        // The keys in the input show which values are secret.
        if let Some(input) = &mut self.input {
            *input = redactor.redact_json(input).into_owned();
            redact_in_place(redactor, input);
        }
        for change in &mut self.changes {
            redact_in_place(redactor, &mut change.diff);
            change.before.iter_mut().chain(&mut change.after).for_each(|text| redact_in_place(redactor, text));
        }
    }
}

fn redact_in_place(redactor: &Redactor, text: &mut String) {
    if let std::borrow::Cow::Owned(without) = redactor.redact_text(text) {
        *text = without;
    }
}
