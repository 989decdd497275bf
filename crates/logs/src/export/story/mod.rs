//! A session as a document: turns with messages, reasoning and tool calls, and subagents within the call that started
//! them. It is built from events and rendered as pages.

mod build;
#[cfg(test)]
mod tests;

use switchboard_event::{Change, Timestamp, Usage};

use super::Redactor;

pub use build::TurnCounter;

/// A session from beginning to end.
#[derive(Clone, Debug, Default)]
pub struct TranscriptDocument {
    /// The session's title, or its first prompt.
    pub title: String,
    /// Details by name, in display order.
    pub about: Vec<(&'static str, String)>,
    pub turns: Vec<TranscriptTurn>,
    /// Total of all turns.
    pub usage: Usage,
}

/// A prompt and everything that followed it.
#[derive(Clone, Debug, Default)]
pub struct TranscriptTurn {
    /// Counts from 1; 0 is the part before the first prompt.
    pub number: u32,
    pub at: Option<Timestamp>,
    pub prompt: Option<String>,
    pub steps: Vec<TranscriptStep>,
    pub usage: Usage,
    pub duration_ms: Option<u64>,
    /// The reason, if the turn did not complete normally.
    pub problem: Option<String>,
}

/// A message, reasoning or a tool call.
#[derive(Clone, Debug)]
pub struct TranscriptStep {
    pub at: Timestamp,
    pub what: StepContent,
    /// The steps of a subagent.
    pub inner: Vec<TranscriptStep>,
}

/// The content of a step.
#[derive(Clone, Debug)]
pub enum StepContent {
    Said(String),
    Thought(String),
    Did(Box<TranscriptToolCall>),
    /// A notice.
    Note(String),
}

/// A tool call.
#[derive(Clone, Debug, Default)]
pub struct TranscriptToolCall {
    pub name: String,
    /// One-line summary.
    pub about: String,
    /// The command, if the tool ran one.
    pub command: Option<String>,
    /// The input as JSON, unless the other fields already show it.
    pub input: Option<String>,
    pub output: String,
    pub changes: Vec<Change>,
    /// The reason, if the call did not succeed.
    pub problem: Option<String>,
    /// The exit code, if it is not zero.
    pub exit_code: Option<i32>,
    pub duration_ms: Option<u64>,
}

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
