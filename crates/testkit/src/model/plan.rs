//! Turns directives into an answer: selects the part of the script for this request.

use std::time::Duration;

use serde_json::Value;

use super::{
    answer::{AnswerEnd, AnswerPiece, AnswerTextChunk, ModelAnswer, ModelUsage, word_chunks},
    conversation::ConversationTurn,
    script::{PromptDirective, parse_directives},
};

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
