//! Syntax highlighting: a lexer that knows the comments, strings, numbers and keywords of each language and guesses the
//! rest. It is not a parser: it takes a few microseconds per line, where grammars made of regular expressions take 0.5
//! to 2 milliseconds. That matters for a page full of diffs.

use super::languages::{LanguageRules, StringSyntax, SyntaxShape};
use super::writer::HtmlWriter;

pub(super) use super::languages::Language;

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
        lex_line(self.language.0, line, &mut self.open)
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

/// A comment or string that is open until its end, possibly some lines later.
#[derive(Clone, Copy)]
struct OpenSpan {
    close: &'static str,
    escapes: bool,
    /// It may span several lines.
    is_long: bool,
    class: &'static str,
}

/// Returns the tokens of a line and updates the span that is open at its end.
fn lex_line(rules: &'static LanguageRules, text: &str, open: &mut Option<OpenSpan>) -> Vec<HighlightToken> {
    if rules.shape == SyntaxShape::Diff {
        return vec![(text.len(), of_diff(text))];
    }
    let mut lexer = LineLexer { rules, text, at: 0, tokens: Vec::new(), open: open.take(), in_tag: false };
    while !lexer.rest().is_empty() {
        lexer.next();
    }
    *open = lexer.open.filter(|open| open.is_long);
    lexer.tokens
}

fn of_diff(text: &str) -> Option<&'static str> {
    match text.bytes().next()? {
        _ if text.starts_with("+++") || text.starts_with("---") => Some("hl-comment"),
        b'+' => Some("hl-inserted"),
        b'-' => Some("hl-deleted"),
        b'@' | b'd' | b'i' => Some("hl-comment"),
        _ => None,
    }
}

struct LineLexer<'a> {
    pub(crate) rules: &'static LanguageRules,
    text: &'a str,
    at: usize,
    tokens: Vec<HighlightToken>,
    open: Option<OpenSpan>,
    /// Between `<` and `>` of an element.
    pub(crate) in_tag: bool,
}

impl<'a> LineLexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the text before the current position in the line.
    fn before(&self) -> &'a str {
        self.text.get(..self.at).unwrap_or_default()
    }

    /// Adds the next bytes as a token of a class.
    fn take(&mut self, length: usize, class: Option<&'static str>) {
        let length = length.min(self.text.len() - self.at);
        self.at += length;
        match self.tokens.last_mut() {
            Some((last, same)) if *same == class => *last += length,
            _ if length > 0 => self.tokens.push((length, class)),
            _ => {}
        }
    }

    fn next(&mut self) {
        if let Some(open) = self.open {
            return self.inside(open);
        }
        let rest = self.rest();
        if self.comment(rest) || self.rules.shape == SyntaxShape::Markup && next_markup_token(self) || self.string(rest)
        {
            return;
        }
        match rest.chars().next() {
            Some(c) if c.is_ascii_digit() => self.take(number(rest), Some("hl-number")),
            Some(c) if begins_word(c) => self.word(rest),
            Some('@' | '$' | '#' | '\'') => self.marked(rest),
            Some(c) if is_operator(c) => self.take(1, self.operator()),
            Some(c) => self.take(c.len_utf8(), None),
            None => {}
        }
    }

    fn operator(&self) -> Option<&'static str> {
        matches!(self.rules.shape, SyntaxShape::Code | SyntaxShape::AnyCase).then_some("hl-operator")
    }

    /// Continues an open span to its end or the end of the line.
    fn inside(&mut self, open: OpenSpan) {
        let rest = self.rest();
        let (mut from, bytes) = (0, rest.as_bytes());
        while from < bytes.len() {
            if bytes.get(from..).is_some_and(|bytes| bytes.starts_with(open.close.as_bytes())) {
                self.open = None;
                return self.take(from + open.close.len(), Some(open.class));
            }
            from += if open.escapes && bytes.get(from) == Some(&b'\\') { 2 } else { 1 };
        }
        self.take(rest.len(), Some(open.class));
    }

    fn comment(&mut self, rest: &str) -> bool {
        if let Some((begin, close)) = self.rules.blocks.iter().find(|(begin, _)| rest.starts_with(begin)) {
            self.begin(begin.len(), OpenSpan { close, escapes: false, is_long: true, class: "hl-comment" });
            return true;
        }
        // A hash within a word is not a comment: `$#`, `a#b`, a URL.
        let stands_alone = self.before().chars().next_back().is_none_or(|c| c.is_whitespace() || ";{})".contains(c));
        let begins = |mark: &&'static str| rest.starts_with(*mark) && (mark.len() > 1 || stands_alone);
        let is_comment = self.rules.comments.iter().any(begins) && !rest.starts_with("#[") && !self.in_address();
        if is_comment {
            self.take(rest.len(), Some("hl-comment"));
        }
        is_comment
    }

    /// Returns whether `//` follows a colon, as in a URL.
    fn in_address(&self) -> bool {
        self.rest().starts_with("//") && self.before().ends_with(':')
    }

    fn string(&mut self, rest: &str) -> bool {
        let Some(quote) = self.rules.strings.iter().find(|quote| rest.starts_with(quote.open)) else { return false };
        // `r"` and `b"` at the end of a word are not strings.
        if begins_word(quote.open.chars().next().unwrap_or('"')) && self.before().ends_with(continues_word) {
            return false;
        }
        let StringSyntax { open, close, escapes, is_long } = *quote;
        let class = if self.is_key(rest, open) { "hl-attribute" } else { "hl-string" };
        self.begin(open.len(), OpenSpan { close, escapes, is_long, class });
        true
    }

    /// Returns whether a string is a key, before a colon.
    fn is_key(&self, rest: &str, quote: &str) -> bool {
        let behind =
            || rest.get(quote.len()..)?.split_once(quote).map(|(_, behind)| behind.trim_start().starts_with(':'));
        self.rules.shape == SyntaxShape::Keys && behind() == Some(true)
    }

    fn begin(&mut self, length: usize, until: OpenSpan) {
        self.take(length, Some(until.class));
        self.open = Some(until);
        // A short string must not stay open at the end of the line.
        if self.rest().is_empty() && !until.is_long {
            self.open = None;
        }
    }

    fn word(&mut self, rest: &str) {
        let dashes = self.rules.shape == SyntaxShape::Keys;
        let length = rest.find(|c| !(continues_word(c) || dashes && c == '-')).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(length);
        let around = WordContext { before: self.before(), behind };
        self.take(length, word_class(self.rules, word, &around));
    }

    /// Lexes `@decorator`, `$variable`, `#[attribute]`, `'lifetime`.
    fn marked(&mut self, rest: &str) {
        let (mark, name) = rest.split_at(1);
        let length = name.find(|c| !continues_word(c)).unwrap_or(name.len());
        match mark {
            "#" if name.starts_with('[') || name.starts_with("![") => {
                self.take(rest.find(']').map_or(rest.len(), |end| end + 1), Some("hl-attribute"));
            }
            "'" => self.quoted(rest, length),
            "#" if self.rules.shape == SyntaxShape::Keys => self.take(1 + length, Some("hl-number")),
            "#" if length > 0 => self.take(1 + length, Some("hl-keyword")),
            _ if length == 0 => self.take(1, None),
            "@" => self.take(1 + length, Some("hl-attribute")),
            _ => self.take(1 + length, Some("hl-variable")),
        }
    }

    /// Lexes a character or a lifetime.
    fn quoted(&mut self, rest: &str, name: usize) {
        let inner = rest.get(1..).unwrap_or_default();
        let escaped = inner.strip_prefix('\\').and_then(|inner| inner.find('\'')).map(|end| end + 1);
        let plain = inner
            .chars()
            .next()
            .map(char::len_utf8)
            .filter(|length| inner.get(*length..).is_some_and(|c| c.starts_with('\'')));
        match escaped.filter(|end| *end < 12).or(plain) {
            Some(length) => self.take(length + 2, Some("hl-string")),
            None => self.take(1 + name, (name > 0).then_some("hl-variable")),
        }
    }
}

/// Returns the length of the number at the start of a text.
fn number(text: &str) -> usize {
    let mut length = 0;
    for (at, c) in text.char_indices() {
        let is_point =
            c == '.' && text.get(at + 1..).is_some_and(|behind| behind.starts_with(|c: char| c.is_ascii_digit()));
        if !c.is_ascii_alphanumeric() && c != '_' && !is_point {
            break;
        }
        length = at + c.len_utf8();
    }
    length
}

fn is_operator(c: char) -> bool {
    matches!(c, '+' | '-' | '*' | '/' | '=' | '<' | '>' | '!' | '&' | '|' | '^' | '%' | '~' | '?')
}

/// Lexes the next token; returns `false` if it is not specific to markup.
fn next_markup_token(lexer: &mut LineLexer<'_>) -> bool {
    let rest = lexer.rest();
    if !lexer.in_tag {
        return markup_text(lexer, rest);
    }
    match rest.chars().next() {
        Some('>') => {
            lexer.in_tag = false;
            lexer.take(1, Some("hl-tag"));
        }
        Some(c) if begins_word(c) || c == ':' || c == '@' => {
            lexer.take(markup_name(rest), Some("hl-attribute"));
        }
        Some('"' | '\'') => return false,
        Some(c) => lexer.take(c.len_utf8(), None),
        None => return false,
    }
    true
}

/// Lexes text up to the next element.
fn markup_text(lexer: &mut LineLexer<'_>, rest: &str) -> bool {
    match rest.find('<') {
        Some(0) => {
            let inner = rest.trim_start_matches(['<', '/', '!', '?']);
            let mark = rest.len() - inner.len();
            lexer.in_tag = inner.starts_with(begins_word);
            lexer.take(mark + if lexer.in_tag { markup_name(inner) } else { 0 }, lexer.in_tag.then_some("hl-tag"));
        }
        Some(next) => lexer.take(next, None),
        None => lexer.take(rest.len(), None),
    }
    true
}

/// Returns the length of the name at the start of a text.
fn markup_name(text: &str) -> usize {
    text.find(|c| !continues_word(c) && !matches!(c, '-' | ':' | '.' | '@')).unwrap_or(text.len())
}

/// The text around a word in its line.
struct WordContext<'a> {
    pub(crate) before: &'a str,
    pub(crate) behind: &'a str,
}

fn begins_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word_class(rules: &LanguageRules, word: &str, around: &WordContext<'_>) -> Option<&'static str> {
    match rules.shape {
        SyntaxShape::Keys => value_class(rules, word, around),
        SyntaxShape::AnyCase if is_keyword(rules, &word.to_ascii_lowercase()) => Some("hl-keyword"),
        // A field with the name of a keyword is not a keyword.
        SyntaxShape::Code if is_keyword(rules, word) && !around.before.ends_with('.') => Some(keyword_class(word)),
        SyntaxShape::Code | SyntaxShape::AnyCase => guess_class(word, around),
        SyntaxShape::Markup | SyntaxShape::Diff => None,
    }
}

fn is_keyword(rules: &LanguageRules, word: &str) -> bool {
    let known = rules.keywords.as_bytes();
    let is_end = |at: usize| known.get(at).is_none_or(u8::is_ascii_whitespace);
    memchr::memmem::find_iter(known, word).any(|at| (at == 0 || is_end(at - 1)) && is_end(at + word.len()))
}

/// Returns the class of a keyword; constants have their own.
fn keyword_class(word: &str) -> &'static str {
    match word {
        "true" | "false" | "null" | "nil" | "None" | "True" | "False" | "undefined" | "nullptr" => "hl-constant",
        _ => "hl-keyword",
    }
}

/// Returns the class of a word in a language of names and values.
fn value_class(rules: &LanguageRules, word: &str, around: &WordContext<'_>) -> Option<&'static str> {
    let behind = around.behind.trim_start();
    let is_name = behind.starts_with(':') || behind.starts_with('=') || behind.starts_with('{');
    match word {
        _ if is_name => Some("hl-attribute"),
        _ if is_keyword(rules, word) => Some("hl-constant"),
        _ => None,
    }
}

/// Guesses the class: functions are called, types start with a capital, constants are all capitals.
fn guess_class(word: &str, around: &WordContext<'_>) -> Option<&'static str> {
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
