//! What a word is: a keyword, or by how it is written and what stands around it.

use super::language::{Rules, Shape};

/// What stands around a word, in its line.
pub(super) struct Around<'a> {
    pub(super) before: &'a str,
    pub(super) behind: &'a str,
}

/// A word may begin with it.
pub(super) fn begins(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// A word may go on with it.
pub(super) fn continues(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The class of a word.
pub(super) fn class(rules: &Rules, word: &str, around: &Around<'_>) -> Option<&'static str> {
    match rules.shape {
        Shape::Keys => value(rules, word, around),
        Shape::AnyCase if is_keyword(rules, &word.to_ascii_lowercase()) => Some("hl-keyword"),
        // A field that is called like a keyword is a field.
        Shape::Code if is_keyword(rules, word) && !around.before.ends_with('.') => Some(keyword(word)),
        Shape::Code | Shape::AnyCase => guessed(word, around),
        Shape::Markup | Shape::Diff => None,
    }
}

fn is_keyword(rules: &Rules, word: &str) -> bool {
    let known = rules.keywords.as_bytes();
    let is_end = |at: usize| known.get(at).is_none_or(u8::is_ascii_whitespace);
    memchr::memmem::find_iter(known, word).any(|at| (at == 0 || is_end(at - 1)) && is_end(at + word.len()))
}

/// Values have a colour of their own.
fn keyword(word: &str) -> &'static str {
    match word {
        "true" | "false" | "null" | "nil" | "None" | "True" | "False" | "undefined" | "nullptr" => "hl-constant",
        _ => "hl-keyword",
    }
}

/// A word among names and values.
fn value(rules: &Rules, word: &str, around: &Around<'_>) -> Option<&'static str> {
    let behind = around.behind.trim_start();
    let is_name = behind.starts_with(':') || behind.starts_with('=') || behind.starts_with('{');
    match word {
        _ if is_name => Some("hl-attribute"),
        _ if is_keyword(rules, word) => Some("hl-constant"),
        _ => None,
    }
}

/// Functions are called, types begin with a capital, constants are capitals.
fn guessed(word: &str, around: &Around<'_>) -> Option<&'static str> {
    let is_called =
        around.behind.starts_with('(') || around.behind.starts_with("!(") || around.behind.starts_with("::<");
    let has_small = word.chars().any(char::is_lowercase);
    let is_capital = word.chars().next().is_some_and(char::is_uppercase);
    match () {
        () if is_capital && !has_small && word.len() > 1 => Some("hl-constant"),
        () if is_capital => Some("hl-type"),
        () if is_called || around.before.ends_with("fn ") || around.before.ends_with("def ") => Some("hl-function"),
        () => None,
    }
}
