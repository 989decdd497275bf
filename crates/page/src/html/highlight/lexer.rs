//! Splits a line of code into tokens.

use super::{
    HighlightToken,
    language::{LanguageRules, StringSyntax, SyntaxShape},
    markup,
    words::{self, WordContext},
};

/// A comment or string that is open until its end, possibly some lines later.
#[derive(Clone, Copy)]
pub(super) struct OpenSpan {
    close: &'static str,
    escapes: bool,
    /// It may span several lines.
    is_long: bool,
    class: &'static str,
}

/// Returns the tokens of a line and updates the span that is open at its end.
pub(super) fn line(rules: &'static LanguageRules, text: &str, open: &mut Option<OpenSpan>) -> Vec<HighlightToken> {
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

pub(super) struct LineLexer<'a> {
    pub(super) rules: &'static LanguageRules,
    text: &'a str,
    at: usize,
    tokens: Vec<HighlightToken>,
    open: Option<OpenSpan>,
    /// Between `<` and `>` of an element.
    pub(super) in_tag: bool,
}

impl<'a> LineLexer<'a> {
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the text before the current position in the line.
    pub(super) fn before(&self) -> &'a str {
        self.text.get(..self.at).unwrap_or_default()
    }

    /// Adds the next bytes as a token of a class.
    pub(super) fn take(&mut self, length: usize, class: Option<&'static str>) {
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
        if self.comment(rest) || self.rules.shape == SyntaxShape::Markup && markup::next(self) || self.string(rest) {
            return;
        }
        match rest.chars().next() {
            Some(c) if c.is_ascii_digit() => self.take(number(rest), Some("hl-number")),
            Some(c) if words::begins(c) => self.word(rest),
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
        if words::begins(quote.open.chars().next().unwrap_or('"')) && self.before().ends_with(words::continues) {
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
        let length = rest.find(|c| !(words::continues(c) || dashes && c == '-')).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(length);
        let around = WordContext { before: self.before(), behind };
        self.take(length, words::class(self.rules, word, &around));
    }

    /// Lexes `@decorator`, `$variable`, `#[attribute]`, `'lifetime`.
    fn marked(&mut self, rest: &str) {
        let (mark, name) = rest.split_at(1);
        let length = name.find(|c| !words::continues(c)).unwrap_or(name.len());
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
