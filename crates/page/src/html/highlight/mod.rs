//! Syntax highlighting: a lexer that knows the comments, strings, numbers and keywords of each language and guesses the
//! rest. It is not a parser: it takes a few microseconds per line, where grammars made of regular expressions take 0.5
//! to 2 milliseconds. That matters for a page full of diffs.

mod language;
mod languages;
mod lexer;
mod markup;
mod words;

pub(super) use language::Language;
use lexer::OpenSpan;

use super::writer::HtmlWriter;

/// Longer lines are not highlighted: they are generated.
const MAX_HIGHLIGHTED_LINE_BYTES: usize = 2_000;

/// Beyond this size, the HTML of a text is not highlighted any further.
const MAX_HIGHLIGHTED_HTML_BYTES: usize = 1 << 20;

/// A token: its length in bytes and its class.
pub(super) type HighlightToken = (usize, Option<&'static str>);

/// Highlights lines in order.
pub(super) struct Highlighter {
    language: Language,
    /// The span that is open at the end of the last line.
    open: Option<OpenSpan>,
}

impl Highlighter {
    pub(super) fn new(language: Language) -> Self {
        Self { language, open: None }
    }

    /// Resets the state: the next line does not follow the last one.
    pub(super) fn restart(&mut self) {
        self.open = None;
    }

    /// Returns the tokens of the next line, without its line end. They cover the whole line.
    pub(super) fn tokens(&mut self, line: &str) -> Vec<HighlightToken> {
        if line.len() > MAX_HIGHLIGHTED_LINE_BYTES {
            self.restart();
            return vec![(line.len(), None)];
        }
        lexer::line(self.language.0, line, &mut self.open)
    }
}

impl HtmlWriter {
    /// Writes a line of code without its line end.
    pub(super) fn code_line(&mut self, line: &str, highlighter: Option<&mut Highlighter>) {
        match highlighter {
            Some(highlighter) if self.len() < MAX_HIGHLIGHTED_HTML_BYTES => {
                let tokens = highlighter.tokens(line);
                self.tokens(line, &tokens);
            }
            _ => self.text(line),
        }
    }

    /// Writes the tokens of a line.
    pub(super) fn tokens(&mut self, line: &str, tokens: &[HighlightToken]) {
        let mut rest = line;
        for (length, class) in tokens {
            let Some((piece, behind)) = rest.split_at_checked(*length) else { break };
            self.piece(piece, *class);
            rest = behind;
        }
        self.text(rest);
    }

    /// Writes text with an optional class.
    pub(super) fn piece(&mut self, text: &str, class: Option<&str>) {
        let Some(class) = class else { return self.text(text) };
        self.open("span", class);
        self.text(text);
        self.close("span");
    }
}
