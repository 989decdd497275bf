//! From directives to the answer: which part of a script is for this request, and what it comes to.

use std::time::Duration;

use serde_json::Value;

use super::{
    answer::{Answer, Bit, End, Piece, Usage, chunks},
    conversation::Turn,
    script::{Directive, parse},
};

/// What the model does with a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// It answers.
    Answer(Answer),
    /// It fails with an HTTP status.
    Fail(u16),
}

/// What a prompt without directives is answered with.
const GREETING: &str = "Hello from the scripted model.";

/// What is said before a tool is called, if the prompt says nothing.
const BEFORE_A_CALL: &str = "I will use a tool. ";

/// How many chunks there are to wait between, if the prompt gives no text.
const MANY: usize = 100;

/// What to do at this point of a turn. `tried` says how often this very request was made before; `id` makes the ids of
/// calls.
pub fn plan(turn: &Turn, tried: usize, id: impl Fn() -> String) -> Plan {
    let directives = parse(&turn.prompt);
    let step = directives.split(|directive| *directive == Directive::Then).nth(turn.step).unwrap_or_default();
    if let Some(status) = step.iter().find_map(|directive| failure(directive, tried)) {
        return Plan::Fail(status);
    }
    let mut draft = Draft::default();
    step.iter().for_each(|directive| draft.follow(directive, &id));
    Plan::Answer(draft.finish(turn))
}

/// The status that a directive asks for, if it still does.
fn failure(directive: &Directive, tried: usize) -> Option<u16> {
    match directive {
        Directive::Error { status, times } if times.is_none_or(|times| tried < times) => Some(*status),
        _ => None,
    }
}

/// An answer that is being put together.
#[derive(Default)]
struct Draft {
    pieces: Vec<Piece>,
    pace: Duration,
    end: End,
    cut: bool,
    empty: bool,
}

impl Draft {
    fn follow(&mut self, directive: &Directive, id: &impl Fn() -> String) {
        match directive {
            Directive::Text(words) => self.say(words),
            Directive::Think(words) => self.pieces.push(Piece::Think(words.clone())),
            Directive::Tool { name, input } => self.call(id(), name, input),
            Directive::Slow(count) => self.say(&many(*count)),
            Directive::Sleep(pace) => self.pace = *pace,
            Directive::Hold => self.hold(),
            Directive::Cut => self.cut = true,
            Directive::Empty => self.empty = true,
            Directive::Refuse => self.end = End::Refusal,
            Directive::Length => self.end = End::Length,
            Directive::Bad(words) => self.say(&format!("The scripted model cannot read this: {words}")),
            Directive::Error { .. } | Directive::Then => {}
        }
    }

    /// Texts that follow each other are one text.
    fn say(&mut self, words: &str) {
        let new = chunks(words).map(|chunk| Bit::Say(chunk.to_owned()));
        match self.pieces.last_mut() {
            Some(Piece::Text(bits)) => {
                separate(bits);
                bits.extend(new);
            }
            _ => self.pieces.push(Piece::Text(new.collect())),
        }
    }

    fn hold(&mut self) {
        if !matches!(self.pieces.last(), Some(Piece::Text(_))) {
            self.say("Wait. ");
        }
        if let Some(Piece::Text(bits)) = self.pieces.last_mut() {
            separate(bits);
            bits.push(Bit::Hold);
        }
    }

    fn call(&mut self, id: String, name: &str, input: &Value) {
        if !self.pieces.iter().any(|piece| matches!(piece, Piece::Text(_) | Piece::Tool { .. })) {
            self.say(BEFORE_A_CALL);
        }
        self.pieces.push(Piece::Tool { id, name: name.to_owned(), input: input.clone() });
    }

    fn finish(mut self, turn: &Turn) -> Answer {
        let speaks = self.pieces.iter().any(|piece| !matches!(piece, Piece::Think(_)));
        if !speaks && !self.empty {
            self.say(&self.fitting(turn));
        }
        let thinks = self.pieces.iter().any(|piece| matches!(piece, Piece::Think(_)));
        let usage = Usage::of(turn.step, thinks);
        Answer { pieces: self.pieces, end: self.end, usage, pace: self.pace, cut: self.cut }
    }

    /// What fits, where the prompt does not say what to say.
    fn fitting(&self, turn: &Turn) -> String {
        match (self.end, turn.results.as_slice()) {
            (End::Refusal, _) => "I cannot help with that.".to_owned(),
            _ if !self.pace.is_zero() => many(MANY),
            (_, []) => GREETING.to_owned(),
            (_, results) => format!("Done: {}", results.join("; ")),
        }
    }
}

/// Ends what was said with a space, if something was.
fn separate(bits: &mut [Bit]) {
    if let Some(Bit::Say(said)) = bits.last_mut()
        && !said.ends_with(char::is_whitespace)
    {
        said.push(' ');
    }
}

fn many(count: usize) -> String {
    (1..=count).map(|number| format!("word{number} ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(prompt: &str, step: usize, results: &[&str]) -> Plan {
        let results = results.iter().map(|&result| result.to_owned()).collect();
        plan(&Turn { prompt: prompt.to_owned(), step, results }, 0, || "call_1".to_owned())
    }

    fn words(plan: &Plan) -> String {
        match plan {
            Plan::Answer(answer) => answer.words(),
            Plan::Fail(status) => format!("error {status}"),
        }
    }

    #[test]
    fn tools_are_called_and_their_results_are_told() {
        let prompt = "[[tool shell {\"command\":\"ls\"}]] go";
        let Plan::Answer(answer) = at(prompt, 0, &[]) else { panic!("an error") };
        assert!(answer.calls() && answer.words() == BEFORE_A_CALL);
        assert_eq!(words(&at(prompt, 1, &["a.txt", "b.txt"])), "Done: a.txt; b.txt");
    }

    #[test]
    fn a_script_has_steps() {
        let prompt = "[[tool a {}]] [[then]] [[text second]] [[tool b {}]] [[then]] [[text third]]";
        assert_eq!(words(&at(prompt, 1, &["one"])), "second");
        assert_eq!(words(&at(prompt, 2, &["two"])), "third");
        assert_eq!(words(&at(prompt, 3, &["three"])), "Done: three");
    }

    #[test]
    fn an_error_may_go_away() {
        let turn = Turn { prompt: "[[error 500 1]] [[text fine]]".to_owned(), ..Turn::default() };
        let tried = |times| words(&plan(&turn, times, String::new));
        assert_eq!([tried(0), tried(1)], ["error 500", "fine"]);
    }

    #[test]
    fn a_text_may_stop_in_the_middle() {
        let Plan::Answer(answer) = at("[[text a b]] [[hold]] [[text c]]", 0, &[]) else { panic!("an error") };
        let say = |text: &str| Bit::Say(text.to_owned());
        assert_eq!(answer.pieces, [Piece::Text(vec![say("a "), say("b "), Bit::Hold, say("c")])]);
    }

    #[test]
    fn there_is_always_something_to_say_unless_nothing_is_asked_for() {
        assert_eq!(words(&at("hello", 0, &[])), GREETING);
        assert_eq!(words(&at("[[empty]]", 0, &[])), "");
        assert_eq!(words(&at("[[sleep 0.1]]", 0, &[])).split_whitespace().count(), MANY);
        assert!(words(&at("[[sleep x]]", 0, &[])).contains("cannot read"));
    }
}
