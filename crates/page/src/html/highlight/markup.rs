//! Elements: their names, their attributes, and the values of those.

use super::{lexer::Lexer, words};

/// The next piece; `false` if it is one that any language has.
pub(super) fn next(lexer: &mut Lexer<'_>) -> bool {
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

/// Text up to the next element.
fn text(lexer: &mut Lexer<'_>, rest: &str) -> bool {
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

/// How long the name is that the text begins with.
fn name(text: &str) -> usize {
    text.find(|c| !words::continues(c) && !matches!(c, '-' | ':' | '.' | '@')).unwrap_or(text.len())
}
