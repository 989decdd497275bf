//! Classifies words: keywords by list, others by spelling and context.

use super::language::{LanguageRules, SyntaxShape};

/// The text around a word in its line.
pub(super) struct WordContext<'a> {
    pub(super) before: &'a str,
    pub(super) behind: &'a str,
}

pub(super) fn begins(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

pub(super) fn continues(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub(super) fn class(rules: &LanguageRules, word: &str, around: &WordContext<'_>) -> Option<&'static str> {
    match rules.shape {
        SyntaxShape::Keys => value(rules, word, around),
        SyntaxShape::AnyCase if is_keyword(rules, &word.to_ascii_lowercase()) => Some("hl-keyword"),
        // A field with the name of a keyword is not a keyword.
        SyntaxShape::Code if is_keyword(rules, word) && !around.before.ends_with('.') => Some(keyword(word)),
        SyntaxShape::Code | SyntaxShape::AnyCase => guessed(word, around),
        SyntaxShape::Markup | SyntaxShape::Diff => None,
    }
}

fn is_keyword(rules: &LanguageRules, word: &str) -> bool {
    let known = rules.keywords.as_bytes();
    let is_end = |at: usize| known.get(at).is_none_or(u8::is_ascii_whitespace);
    memchr::memmem::find_iter(known, word).any(|at| (at == 0 || is_end(at - 1)) && is_end(at + word.len()))
}

/// Returns the class of a keyword; constants have their own.
fn keyword(word: &str) -> &'static str {
    match word {
        "true" | "false" | "null" | "nil" | "None" | "True" | "False" | "undefined" | "nullptr" => "hl-constant",
        _ => "hl-keyword",
    }
}

/// Returns the class of a word in a language of names and values.
fn value(rules: &LanguageRules, word: &str, around: &WordContext<'_>) -> Option<&'static str> {
    let behind = around.behind.trim_start();
    let is_name = behind.starts_with(':') || behind.starts_with('=') || behind.starts_with('{');
    match word {
        _ if is_name => Some("hl-attribute"),
        _ if is_keyword(rules, word) => Some("hl-constant"),
        _ => None,
    }
}

/// Guesses the class: functions are called, types start with a capital, constants are all capitals.
fn guessed(word: &str, around: &WordContext<'_>) -> Option<&'static str> {
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
