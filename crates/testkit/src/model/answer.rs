//! The model's answer to one request, independent of the API.

use std::time::Duration;

use serde_json::Value;

use super::{
    conversation::ConversationTurn,
    script::{PromptDirective, parse_directives},
};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAnswer {
    pub pieces: Vec<AnswerPiece>,
    pub end: AnswerEnd,
    pub usage: ModelUsage,
    /// Pause between chunks.
    pub pace: Duration,
    /// The connection breaks in the middle.
    pub cut: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AnswerPiece {
    Think(String),
    /// Text, in the chunks in which it is sent.
    Text(Vec<AnswerTextChunk>),
    Tool {
        /// Unique among all calls of this model.
        id: String,
        name: String,
        /// A string is the input of a free-form tool.
        input: Value,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerTextChunk {
    Say(String),
    /// Waits until the test releases it.
    Hold,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerEnd {
    /// Complete, or waiting for tool results.
    #[default]
    Done,
    /// Token limit.
    Length,
    Refusal,
}

/// Tokens of an answer, independent of how an API counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelUsage {
    /// Without tokens read from or written to the cache.
    pub input: u64,
    pub cache_read: u64,
    /// Zero for APIs that do not report it.
    pub cache_write: u64,
    /// Includes reasoning.
    pub output: u64,
    pub reasoning: u64,
}

impl ModelUsage {
    /// Returns the usage of request number `step` of a turn, from 0. It grows with every step, so that a sum, a last
    /// value and a doubled one can be distinguished.
    #[must_use]
    fn for_step(step: usize, thinks: bool) -> Self {
        let step = u64::try_from(step).unwrap_or(0);
        let reasoning = if thinks { 7 } else { 0 };
        Self { input: 100 + 10 * step, cache_read: 40, cache_write: 0, output: 20 + 3 * step + reasoning, reasoning }
    }
}

impl ModelAnswer {
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let pieces = vec![AnswerPiece::Text(vec![AnswerTextChunk::Say(text.to_owned())])];
        Self { pieces, usage: ModelUsage::for_step(0, false), ..Self::default() }
    }

    /// Returns the text without reasoning.
    #[must_use]
    pub fn joined_text(&self) -> String {
        self.pieces.iter().filter_map(AnswerPiece::joined_text).collect()
    }

    #[must_use]
    pub fn has_tool_calls(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, AnswerPiece::Tool { .. }))
    }
}

impl AnswerPiece {
    #[must_use]
    pub fn joined_text(&self) -> Option<String> {
        match self {
            Self::Text(bits) => Some(bits.iter().filter_map(AnswerTextChunk::chunk_text).collect()),
            Self::Think(_) | Self::Tool { .. } => None,
        }
    }
}

impl AnswerTextChunk {
    #[must_use]
    fn chunk_text(&self) -> Option<&str> {
        match self {
            Self::Say(text) => Some(text),
            Self::Hold => None,
        }
    }
}

/// Splits a text into the chunks in which it is sent: one word each, with its trailing space.
pub fn word_chunks(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

#[derive(Clone, Debug, PartialEq)]
pub enum AnswerPlan {
    Answer(ModelAnswer),
    Fail(u16),
}

/// The answer to a prompt without directives.
const DEFAULT_ANSWER: &str = "Hello from the scripted model.";

/// The text before a tool call, if the prompt has none.
const TEXT_BEFORE_CALL: &str = "I will use a tool. ";

/// Number of chunks, if the prompt has pauses but no text.
const DEFAULT_CHUNK_COUNT: usize = 100;

/// Plans the answer at this point of a turn. `tried` is the number of failed attempts of this request; `id` generates
/// call ids.
pub fn plan_answer(turn: &ConversationTurn, tried: usize, id: impl Fn() -> String) -> AnswerPlan {
    let directives = parse_directives(&turn.prompt);
    let step = directives.split(|directive| *directive == PromptDirective::Then).nth(turn.step).unwrap_or_default();
    if let Some(status) = step.iter().find_map(|directive| requested_status(directive, tried)) {
        return AnswerPlan::Fail(status);
    }
    let mut draft = AnswerDraft::default();
    step.iter().for_each(|directive| draft.apply_directive(directive, &id));
    AnswerPlan::Answer(draft.finish(turn))
}

/// Returns the HTTP status that a directive still requests.
fn requested_status(directive: &PromptDirective, tried: usize) -> Option<u16> {
    match directive {
        PromptDirective::Error { status, times } if times.is_none_or(|times| tried < times) => Some(*status),
        _ => None,
    }
}

#[derive(Default)]
struct AnswerDraft {
    pieces: Vec<AnswerPiece>,
    pace: Duration,
    end: AnswerEnd,
    cut: bool,
    empty: bool,
}

impl AnswerDraft {
    fn apply_directive(&mut self, directive: &PromptDirective, id: &impl Fn() -> String) {
        match directive {
            PromptDirective::Text(words) => self.push_text(words),
            PromptDirective::Think(words) => self.pieces.push(AnswerPiece::Think(words.clone())),
            PromptDirective::Tool { name, input } => self.push_call(id(), name, input),
            PromptDirective::Slow(count) => self.push_text(&numbered_words(*count)),
            PromptDirective::Sleep(pace) => self.pace = *pace,
            PromptDirective::Hold => self.push_hold(),
            PromptDirective::Cut => self.cut = true,
            PromptDirective::Empty => self.empty = true,
            PromptDirective::Refuse => self.end = AnswerEnd::Refusal,
            PromptDirective::Length => self.end = AnswerEnd::Length,
            PromptDirective::Bad(words) => self.push_text(&format!("The scripted model cannot read this: {words}")),
            PromptDirective::Error { .. } | PromptDirective::Then => {}
        }
    }

    /// Adjacent texts are joined.
    fn push_text(&mut self, words: &str) {
        let new = word_chunks(words).map(|chunk| AnswerTextChunk::Say(chunk.to_owned()));
        match self.pieces.last_mut() {
            Some(AnswerPiece::Text(bits)) => {
                end_with_space(bits);
                bits.extend(new);
            }
            _ => self.pieces.push(AnswerPiece::Text(new.collect())),
        }
    }

    fn push_hold(&mut self) {
        if !matches!(self.pieces.last(), Some(AnswerPiece::Text(_))) {
            self.push_text("Wait. ");
        }
        if let Some(AnswerPiece::Text(bits)) = self.pieces.last_mut() {
            end_with_space(bits);
            bits.push(AnswerTextChunk::Hold);
        }
    }

    fn push_call(&mut self, id: String, name: &str, input: &Value) {
        if !self.pieces.iter().any(|piece| matches!(piece, AnswerPiece::Text(_) | AnswerPiece::Tool { .. })) {
            self.push_text(TEXT_BEFORE_CALL);
        }
        self.pieces.push(AnswerPiece::Tool { id, name: name.to_owned(), input: input.clone() });
    }

    fn finish(mut self, turn: &ConversationTurn) -> ModelAnswer {
        let speaks = self.pieces.iter().any(|piece| !matches!(piece, AnswerPiece::Think(_)));
        if !speaks && !self.empty {
            self.push_text(&self.default_text(turn));
        }
        let thinks = self.pieces.iter().any(|piece| matches!(piece, AnswerPiece::Think(_)));
        let usage = ModelUsage::for_step(turn.step, thinks);
        ModelAnswer { pieces: self.pieces, end: self.end, usage, pace: self.pace, cut: self.cut }
    }

    /// Returns a suitable text if the prompt has none.
    fn default_text(&self, turn: &ConversationTurn) -> String {
        match (self.end, turn.results.as_slice()) {
            (AnswerEnd::Refusal, _) => "I cannot help with that.".to_owned(),
            _ if !self.pace.is_zero() => numbered_words(DEFAULT_CHUNK_COUNT),
            (_, []) => DEFAULT_ANSWER.to_owned(),
            (_, results) => format!("Done: {}", results.join("; ")),
        }
    }
}

/// Ends the text with a space, if there is any.
fn end_with_space(bits: &mut [AnswerTextChunk]) {
    if let Some(AnswerTextChunk::Say(said)) = bits.last_mut()
        && !said.ends_with(char::is_whitespace)
    {
        said.push(' ');
    }
}

fn numbered_words(count: usize) -> String {
    (1..=count).map(|number| format!("word{number} ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_at(prompt: &str, step: usize, results: &[&str]) -> AnswerPlan {
        let results = results.iter().map(|&result| result.to_owned()).collect();
        plan_answer(&ConversationTurn { prompt: prompt.to_owned(), step, results }, 0, || "call_1".to_owned())
    }

    fn plan_text(plan: &AnswerPlan) -> String {
        match plan {
            AnswerPlan::Answer(answer) => answer.joined_text(),
            AnswerPlan::Fail(status) => format!("error {status}"),
        }
    }

    #[test]
    fn tools_are_called_and_their_results_are_told() {
        let prompt = "[[tool shell {\"command\":\"ls\"}]] go";
        let AnswerPlan::Answer(answer) = plan_at(prompt, 0, &[]) else { panic!("an error") };
        assert!(answer.has_tool_calls() && answer.joined_text() == TEXT_BEFORE_CALL);
        assert_eq!(plan_text(&plan_at(prompt, 1, &["a.txt", "b.txt"])), "Done: a.txt; b.txt");
    }

    #[test]
    fn a_script_has_steps() {
        let prompt = "[[tool a {}]] [[then]] [[text second]] [[tool b {}]] [[then]] [[text third]]";
        assert_eq!(plan_text(&plan_at(prompt, 1, &["one"])), "second");
        assert_eq!(plan_text(&plan_at(prompt, 2, &["two"])), "third");
        assert_eq!(plan_text(&plan_at(prompt, 3, &["three"])), "Done: three");
    }

    #[test]
    fn an_error_may_go_away() {
        let turn =
            ConversationTurn { prompt: "[[error 500 1]] [[text fine]]".to_owned(), ..ConversationTurn::default() };
        let tried = |times| plan_text(&plan_answer(&turn, times, String::new));
        assert_eq!([tried(0), tried(1)], ["error 500", "fine"]);
    }

    #[test]
    fn a_text_may_stop_in_the_middle() {
        let AnswerPlan::Answer(answer) = plan_at("[[text a b]] [[hold]] [[text c]]", 0, &[]) else {
            panic!("an error")
        };
        let say = |text: &str| AnswerTextChunk::Say(text.to_owned());
        assert_eq!(answer.pieces, [AnswerPiece::Text(vec![say("a "), say("b "), AnswerTextChunk::Hold, say("c")])]);
    }

    #[test]
    fn there_is_always_something_to_say_unless_nothing_is_asked_for() {
        assert_eq!(plan_text(&plan_at("hello", 0, &[])), DEFAULT_ANSWER);
        assert_eq!(plan_text(&plan_at("[[empty]]", 0, &[])), "");
        assert_eq!(plan_text(&plan_at("[[sleep 0.1]]", 0, &[])).split_whitespace().count(), DEFAULT_CHUNK_COUNT);
        assert!(plan_text(&plan_at("[[sleep x]]", 0, &[])).contains("cannot read"));
    }
}
