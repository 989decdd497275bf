//! Removes secrets from exported data: keys, tokens, passwords, private keys. Secrets are recognized by their shape and
//! by the name of a value. Everything else stays byte for byte.

mod heuristics;
mod json;
mod named_values;
mod patterns;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::HashSet,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use json::PrivateKeyScanner;
use parking_lot::Mutex;
use patterns::{PatternMatch, PrefilterMatches, RedactionPrefilter, SECRET_PATTERNS};
use regex::{Captures, Regex};

use crate::LogsError;

/// Removes secrets from texts and counts them.
pub struct Redactor {
    marks: RedactionPrefilter,
    rules: Vec<Regex>,
    escapes: Regex,
    armour: PrivateKeyScanner,
    clean: CleanTextCache,
    count: AtomicU64,
}

impl Redactor {
    /// Compiles all patterns.
    ///
    /// # Errors
    /// Never with the built-in patterns.
    pub fn new() -> Result<Self, LogsError> {
        let broken = |error: regex::Error| LogsError::Regex(error.to_string());
        let rules: Result<_, _> = SECRET_PATTERNS.iter().map(|rule| Regex::new(rule.pattern)).collect();
        Ok(Self {
            marks: RedactionPrefilter::new().map_err(|error| LogsError::Regex(error.to_string()))?,
            rules: rules.map_err(broken)?,
            escapes: Regex::new(ESCAPE_PATTERN).map_err(broken)?,
            armour: PrivateKeyScanner::new().map_err(broken)?,
            clean: CleanTextCache::default(),
            count: AtomicU64::new(0),
        })
    }

    /// Returns the number of secrets removed so far.
    #[must_use]
    pub fn redaction_count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    #[must_use]
    pub fn redact_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.replace_spans(text, self.find_spans(text))
    }

    /// Finds the secrets in a text.
    fn find_spans(&self, text: &str) -> Vec<SecretSpan> {
        let met = self.marks.find_marks(text);
        let mut cuts = Vec::new();
        self.find_by_pattern(text, &met, &mut cuts);
        if met.has_pattern_mark()
            && let Some(shadow) = mask_escapes(text, &self.escapes)
        {
            self.find_by_pattern(&shadow, &met, &mut cuts);
        }
        find_by_name(text, &met, &mut cuts);
        cuts
    }

    /// Finds secrets by their shape.
    fn find_by_pattern(&self, text: &str, met: &PrefilterMatches, cuts: &mut Vec<SecretSpan>) {
        for ((number, rule), regex) in SECRET_PATTERNS
            .iter()
            .enumerate()
            .zip(&self.rules)
            .filter(|((number, _), _)| met.may_match_pattern(*number))
        {
            for captures in regex.captures_iter(text) {
                let Some((place, found)) = pattern_match(&captures) else { continue };
                if (rule.is_secret)(&found) {
                    cuts.push(SecretSpan { place, number, name: rule.name });
                }
            }
        }
    }

    /// Replaces the given spans.
    fn replace_spans<'a>(&self, text: &'a str, cuts: Vec<SecretSpan>) -> Cow<'a, str> {
        if cuts.is_empty() {
            return Cow::Borrowed(text);
        }
        let cuts = merge_overlapping(cuts);
        self.add_to_count(cuts.len());
        Cow::Owned(splice_marks(text, &cuts))
    }

    fn add_to_count(&self, secrets: usize) {
        self.count.fetch_add(secrets as u64, Ordering::Relaxed);
    }

    /// Redacts a value that has a name, as in a JSON object.
    #[must_use]
    pub fn redact_value<'a>(&self, key: &str, value: &'a str) -> Cow<'a, str> {
        if self.is_secret_value(key, value) { Cow::Owned(redaction_mark("secret")) } else { self.redact_text(value) }
    }

    /// Returns whether the name marks the value as secret, and counts it.
    fn is_secret_value(&self, key: &str, value: &str) -> bool {
        let is = self.marks.has_any(key) && heuristics::is_secret_string(key, value);
        self.add_to_count(usize::from(is));
        is
    }
}

/// Finds secrets by their names.
fn find_by_name(text: &str, met: &PrefilterMatches, cuts: &mut Vec<SecretSpan>) {
    for word in &met.words {
        if let Some((place, found)) = named_values::find_named_value(text, word.clone())
            && heuristics::is_named_secret(&found)
        {
            cuts.push(SecretSpan { place, number: SECRET_PATTERNS.len(), name: "secret" });
        }
    }
    for word in &met.cookies {
        if let Some((name, start)) = named_values::find_header(text, word.clone())
            && named_values::is_cookie_header(name)
        {
            push_cookie_spans(text, start, cuts);
        }
    }
}

fn push_cookie_spans(text: &str, start: usize, cuts: &mut Vec<SecretSpan>) {
    let places = named_values::find_cookie_secrets(text, start).into_iter();
    cuts.extend(places.map(|place| SecretSpan { place, number: SECRET_PATTERNS.len(), name: "cookie" }));
}

/// A secret part of a text.
struct SecretSpan {
    place: Range<usize>,
    /// Index of the pattern that matched.
    number: usize,
    name: &'static str,
}

/// Sorts spans and merges those that overlap. Patterns with a fixed prefix come first in the table and determine the
/// label.
fn merge_overlapping(mut cuts: Vec<SecretSpan>) -> Vec<SecretSpan> {
    cuts.sort_by_key(|cut| (cut.place.start, cut.number));
    let mut out: Vec<SecretSpan> = Vec::with_capacity(cuts.len());
    for cut in cuts {
        match out.last_mut().filter(|last| cut.place.start < last.place.end) {
            Some(last) => {
                last.place.end = last.place.end.max(cut.place.end);
                if cut.number < last.number {
                    (last.number, last.name) = (cut.number, cut.name);
                }
            }
            None => out.push(cut),
        }
    }
    out
}

/// Returns the capture that may be secret, with its position.
fn pattern_match<'a>(captures: &Captures<'a>) -> Option<(Range<usize>, PatternMatch<'a>)> {
    let secret = captures.name("s").or_else(|| captures.get(0))?;
    let key = captures.name("k").map_or("", |part| part.as_str());
    Some((secret.range(), PatternMatch { key, value: secret.as_str() }))
}

fn splice_marks(text: &str, cuts: &[SecretSpan]) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for SecretSpan { place, name, .. } in cuts {
        out.push_str(text.get(at..place.start).unwrap_or_default());
        out.push_str(&redaction_mark(name));
        at = place.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

fn redaction_mark(name: &str) -> String {
    format!("[redacted:{name}]")
}

/// The cache is cleared when it reaches this size.
const MAX_CACHED_TEXTS: usize = 1 << 16;

#[derive(Default)]
struct CleanTextCache(Mutex<HashSet<u128, foldhash::fast::FixedState>>);

impl CleanTextCache {
    /// Returns whether the text is known to be clean.
    pub fn contains(&self, text: u128) -> bool {
        self.0.lock().contains(&text)
    }

    pub fn insert(&self, text: u128) {
        let mut seen = self.0.lock();
        if seen.len() >= MAX_CACHED_TEXTS {
            seen.clear();
        }
        seen.insert(text);
    }
}

/// Marks a cut.
const ELLIPSIS: char = '…';

/// A run of at least this many letters and digits is a line of a key, or unreadable data.
const MIN_KEY_LINE_CHARS: usize = 60;

impl Redactor {
    /// Redacts an excerpt. A `…` at an end marks a cut.
    #[must_use]
    pub fn redact_excerpt(&self, text: &str) -> String {
        let cut_begin = text.strip_prefix(ELLIPSIS);
        let inner = cut_begin.unwrap_or(text);
        let cut_end = inner.strip_suffix(ELLIPSIS);
        let mut inner = cut_end.unwrap_or(inner);
        let mark_of = |is: bool| if is { "…" } else { "" };
        if cut_begin.is_some() {
            inner = strip_cut_head(inner);
        }
        if cut_end.is_some() {
            inner = strip_cut_tail(inner);
        }
        let inner = self.redact_key_lines(&self.redact_text(inner));
        format!("{}{inner}{}", mark_of(cut_begin.is_some()), mark_of(cut_end.is_some()))
    }

    /// Redacts lines from the middle of a key, without its BEGIN or END line.
    fn redact_key_lines(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(start) = rest.find(is_base64_char) {
            let (before, from) = rest.split_at(start);
            let (run, after) = from.split_at(from.find(|c| !is_base64_char(c)).unwrap_or(from.len()));
            let is_line = run.len() >= MIN_KEY_LINE_CHARS && heuristics::is_random(run);
            self.add_to_count(usize::from(is_line));
            out.push_str(before);
            out.push_str(&if is_line { redaction_mark("secret") } else { run.to_owned() });
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// Returns whether secrets can contain the character. Separators between names and values are excluded.
fn is_secret_char(c: char) -> bool {
    c.is_ascii_graphic() && !"\"'`\\,;&<>(){}[]|=:".contains(c)
}

fn is_base64_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '+' || c == '/'
}

/// Drops the remains at a cut at the beginning: of a path, the truncated component; of a name, its value too.
fn strip_cut_head(text: &str) -> &str {
    let is_glued = |c: char| is_secret_char(c) || "=:\"'\\".contains(c);
    let end_of = |text: &str| text.find(|c| !is_glued(c)).unwrap_or(text.len());
    let (mut run, mut rest) = text.split_at(end_of(text));
    if let Some(name) = run.find(['/', '.']).filter(|_| heuristics::is_code(run)) {
        return text.split_at(name).1;
    }
    // `…ization: Bearer KEY`: each word announces the next one.
    for _ in 0..3 {
        if !heuristics::may_end_name(run) {
            break;
        }
        let value = rest.trim_start();
        (run, rest) = value.split_at(end_of(value));
    }
    rest
}

/// Drops the remains at a cut at the end.
fn strip_cut_tail(text: &str) -> &str {
    let whole = text.trim_end_matches('=');
    let begin = whole.rfind(|c| !is_secret_char(c)).map_or(0, |at| at + whole.get(at..).map_or(1, first_char_len));
    let (rest, run) = whole.split_at(begin);
    match run.rfind(['/', '.']) {
        Some(name) if heuristics::is_code(run) && !announces_secret(rest) => whole.split_at(begin + name + 1).0,
        _ => rest,
    }
}

fn first_char_len(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

/// Returns whether the last words announce a secret.
fn announces_secret(text: &str) -> bool {
    let words = text.split_whitespace().rev().take(2);
    words.into_iter().any(heuristics::is_secret_name)
}

/// Escapes of JSON, shells and programs, escaped once or repeatedly; ANSI colors; percent-encoding.
const ESCAPE_PATTERN: &str = concat!(
    r"(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))\[[0-9;?]*[A-Za-z]",
    r"|\\+(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[0-7]{3}|[nrtbfv])",
    r"|%[0-9A-Fa-f]{2}"
);

/// Returns the masked text, or `None` if it has no escapes.
fn mask_escapes(text: &str, escapes: &Regex) -> Option<String> {
    memchr::memchr3(b'\\', b'\x1b', b'%', text.as_bytes())?;
    let (mut out, mut at) = (String::new(), 0);
    for found in escapes.find_iter(text) {
        out.push_str(text.get(at..found.start()).unwrap_or_default());
        out.extend(std::iter::repeat_n(' ', found.len() - 1));
        out.push(if is_line_break(found.as_str()) { '\n' } else { ' ' });
        at = found.end();
    }
    out.push_str(text.get(at..)?);
    (at > 0).then_some(out)
}

/// The next line is another command or header.
fn is_line_break(escape: &str) -> bool {
    let plain = ["n", "r", "0a", "0A", "0d", "0D", "012", "015"];
    plain.iter().any(|end| escape.ends_with(end))
}
