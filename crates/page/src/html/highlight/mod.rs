//! Code in colours: which language it is, and what each piece of a line is. The syntaxes are loaded when the first code
//! is shown, and each one's expressions when they are first needed.

mod language;
mod scopes;

use std::sync::LazyLock;

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

pub(super) use language::Language;
use scopes::Classes;

use super::writer::Writer;

/// Longer lines are not highlighted: no person wrote them.
const LINE: usize = 2_000;

/// The HTML of a text is not highlighted any further beyond this: each token costs more than it shows.
const WRITTEN: usize = 1 << 20;

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// A piece of a line: how many bytes it has, and its class.
pub(super) type Token = (usize, Option<&'static str>);

/// Highlights one line after the other.
pub(super) struct Highlighter {
    syntax: &'static SyntaxReference,
    state: ParseState,
    stack: ScopeStack,
    classes: Classes,
    line: String,
}

impl Highlighter {
    pub(super) fn new(language: Language) -> Self {
        let Language(syntax) = language;
        Self {
            syntax,
            state: ParseState::new(syntax),
            stack: ScopeStack::new(),
            classes: Classes::default(),
            line: String::new(),
        }
    }

    /// What follows is not behind what came before.
    pub(super) fn restart(&mut self) {
        self.state = ParseState::new(self.syntax);
        self.stack = ScopeStack::new();
    }

    /// The pieces of the next line, which are all of it. The line is given without its end.
    pub(super) fn tokens(&mut self, line: &str) -> Vec<Token> {
        if line.len() > LINE {
            self.restart();
            return vec![(line.len(), None)];
        }
        self.line.clear();
        self.line.push_str(line);
        self.line.push('\n');
        let Ok(changes) = self.state.parse_line(&self.line, &SYNTAXES) else {
            self.restart();
            return vec![(line.len(), None)];
        };
        self.pieces(line.len(), &changes)
    }

    fn pieces(&mut self, length: usize, changes: &[(usize, syntect::parsing::ScopeStackOp)]) -> Vec<Token> {
        let (mut tokens, mut done) = (Vec::<Token>::new(), 0);
        for (at, change) in changes {
            let at = (*at).min(length);
            self.piece(&mut tokens, at.saturating_sub(done));
            done = done.max(at);
            if self.stack.apply(change).is_err() {
                self.stack = ScopeStack::new();
            }
        }
        self.piece(&mut tokens, length - done);
        tokens
    }

    fn piece(&mut self, tokens: &mut Vec<Token>, length: usize) {
        if length == 0 {
            return;
        }
        let class = self.classes.of(&self.stack);
        match tokens.last_mut() {
            Some((last, same)) if *same == class => *last += length,
            _ => tokens.push((length, class)),
        }
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

    pub(super) fn tokens(&mut self, line: &str, tokens: &[Token]) {
        let mut rest = line;
        for (length, class) in tokens {
            // A syntax that splits a character would be wrong about all of the line.
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
