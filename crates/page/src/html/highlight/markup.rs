//! Lexes markup: elements, attributes and their values.

use super::{lexer::LineLexer, words};

/// Lexes the next token; returns `false` if it is not specific to markup.
pub(super) fn next(lexer: &mut LineLexer<'_>) -> bool {
    let rest = lexer.rest();
    if !lexer.in_tag {
        return text(lexer, rest);
    }
    match rest.chars().next() {
        Some('>') => {
            lexer.in_tag = false;
            lexer.take(1, Some("hl-tag"));
        }
        Some(c) if words::begins(c) || c == ':' || c == '@' => {
            lexer.take(name(rest), Some("hl-attribute"));
        }
        Some('"' | '\'') => return false,
        Some(c) => lexer.take(c.len_utf8(), None),
        None => return false,
    }
    true
}

/// Lexes text up to the next element.
fn text(lexer: &mut LineLexer<'_>, rest: &str) -> bool {
    match rest.find('<') {
        Some(0) => {
            let inner = rest.trim_start_matches(['<', '/', '!', '?']);
            let mark = rest.len() - inner.len();
            lexer.in_tag = inner.starts_with(words::begins);
            lexer.take(mark + if lexer.in_tag { name(inner) } else { 0 }, lexer.in_tag.then_some("hl-tag"));
        }
        Some(next) => lexer.take(next, None),
        None => lexer.take(rest.len(), None),
    }
    true
}

/// Returns the length of the name at the start of a text.
fn name(text: &str) -> usize {
    text.find(|c| !words::continues(c) && !matches!(c, '-' | ':' | '.' | '@')).unwrap_or(text.len())
}
