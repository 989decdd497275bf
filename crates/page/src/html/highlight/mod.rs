//! Code in colours: which language it is, and what each piece of a line is. A lexer that knows comments, strings, numbers
//! and keywords of each language, and guesses the rest by how it is written. It is no parser: it takes a few microseconds
//! a line, whatever the line is, where grammars made of regular expressions take half a millisecond to two. That counts
//! when a page of diffs must be there at once.

mod language;
mod languages;
mod lexer;
mod markup;
mod words;

pub(super) use language::Language;
use lexer::Until;

use super::writer::Writer;

/// Longer lines are not highlighted: no person wrote them.
const LINE: usize = 2_000;

/// The HTML of a text is not highlighted any further beyond this: each token costs more than it shows.
const WRITTEN: usize = 1 << 20;

/// A piece of a line: how many bytes it has, and its class.
pub(super) type Token = (usize, Option<&'static str>);

/// Highlights one line after the other.
pub(super) struct Highlighter {
    language: Language,
    /// What is open at the end of the last line.
    open: Option<Until>,
}

impl Highlighter {
    pub(super) fn new(language: Language) -> Self {
        Self { language, open: None }
    }

    /// What follows is not behind what came before.
    pub(super) fn restart(&mut self) {
        self.open = None;
    }

    /// The pieces of the next line, which are all of it. The line is given without its end.
    pub(super) fn tokens(&mut self, line: &str) -> Vec<Token> {
        if line.len() > LINE {
            self.restart();
            return vec![(line.len(), None)];
        }
        lexer::line(self.language.0, line, &mut self.open)
    }
}

impl Writer {
    /// A line of code, without its end.
    pub(super) fn code_line(&mut self, line: &str, highlighter: Option<&mut Highlighter>) {
        match highlighter {
            Some(highlighter) if self.len() < WRITTEN => {
                let tokens = highlighter.tokens(line);
                self.tokens(line, &tokens);
            }
            _ => self.text(line),
        }
    }

    /// A line as its pieces.
    pub(super) fn tokens(&mut self, line: &str, tokens: &[Token]) {
        let mut rest = line;
        for (length, class) in tokens {
            let Some((piece, behind)) = rest.split_at_checked(*length) else { break };
            self.piece(piece, *class);
            rest = behind;
        }
        self.text(rest);
    }

    /// A piece of text with a class, or without.
    pub(super) fn piece(&mut self, text: &str, class: Option<&str>) {
        let Some(class) = class else { return self.text(text) };
        self.open("span", class);
        self.text(text);
        self.close("span");
    }
}
