//! Redacts secrets in JSON. Every string is checked in its unescaped form, and nested JSON as JSON. Everything else
//! stays byte for byte, including numbers and duplicate keys: nothing is parsed and serialized again.

use std::borrow::Cow;

use memchr::memchr;
use regex::Regex;
use serde::de::IgnoredAny;
use xxhash_rust::xxh3::xxh3_128;

use super::{Redactor, named_values, push_cookie_spans, redaction_mark};

/// Maximum nesting of JSON documents within strings.
const MAX_NESTED_JSON_DEPTH: usize = 6;

/// Shorter object keys are not checked for secrets.
const MIN_KEY_BYTES: usize = 16;

/// Shorter strings are not cached.
const MIN_CACHED_BYTES: usize = 64;

/// A name that describes the next string.
struct PrecedingName<'a> {
    name: Cow<'a, str>,
    /// The separator that must follow: a colon after an object key, a comma after a command-line option.
    gap: &'static str,
}

impl<'a> PrecedingName<'a> {
    fn from_string(text: Cow<'a, str>, is_key: bool) -> Option<Self> {
        let is_option = text.starts_with("--") && !text.contains([' ', '=']);
        let gap = if is_key { ":" } else { "," };
        (is_key || is_option).then_some(Self { name: text, gap })
    }
}

impl Redactor {
    #[must_use]
    pub fn redact_json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        self.redact_json_at(json, 0)
    }

    fn redact_json_at<'a>(&self, json: &'a str, depth: usize) -> Cow<'a, str> {
        let (mut out, mut copied, mut last) = (String::new(), 0, 0);
        let (mut key, mut place) = (None::<PrecedingName<'_>>, KeyScanState::Outside);
        while let Some(start) =
            json.as_bytes().get(last..).and_then(|rest| memchr(b'"', rest)).map(|found| last + found)
        {
            let Some(end) = end_of_string(json, start) else { break };
            let (literal, after) = (json.get(start..end).unwrap_or_default(), json.get(end..).unwrap_or_default());
            let gap = json.get(last..start).unwrap_or_default().trim();
            last = end;
            let (text, is_read) = unescape_literal(literal);
            let is_key = after.trim_start().starts_with(':');
            let named = key.take().filter(|name| gap == name.gap);
            // Array elements are separated by a comma.
            if gap != "," {
                place = KeyScanState::Outside;
            }
            let clean = match named {
                _ if is_key => self.redact_key(&text),
                Some(PrecedingName { name, .. }) if self.is_secret_value(&name, &text) => {
                    Cow::Owned(redaction_mark("secret"))
                }
                Some(PrecedingName { name, .. }) if named_values::is_cookie_header(&name) => self.redact_cookies(&text),
                _ => self.redact_string(&text, &mut place, depth),
            };
            if let Cow::Owned(clean) = clean {
                out.push_str(json.get(copied..start).unwrap_or_default());
                out.push_str(&escape_literal(&clean, is_read));
                copied = end;
            }
            key = PrecedingName::from_string(text, is_key);
        }
        if copied == 0 {
            return Cow::Borrowed(json);
        }
        out.push_str(json.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    fn redact_key<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.len() < MIN_KEY_BYTES { Cow::Borrowed(text) } else { self.redact_text(text) }
    }

    /// Redacts the value of a cookie header.
    fn redact_cookies<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut cuts = self.find_spans(text);
        push_cookie_spans(text, 0, &mut cuts);
        self.replace_spans(text, cuts)
    }

    /// Redacts a string, which may be a line of a key that began in an earlier string.
    fn redact_string<'a>(&self, text: &'a str, place: &mut KeyScanState, depth: usize) -> Cow<'a, str> {
        // Long texts often occur twice: in the event and in the agent's own record.
        let seen = (text.len() >= MIN_CACHED_BYTES && matches!(place, KeyScanState::Outside))
            .then(|| xxh3_128(text.as_bytes()));
        if seen.is_some_and(|seen| self.clean.contains(seen)) {
            return Cow::Borrowed(text);
        }
        let clean = self.redact_uncached(text, place, depth);
        // At greater depth fewer levels of nested JSON are checked.
        if depth == 0 && matches!((&clean, &place), (Cow::Borrowed(_), KeyScanState::Outside)) {
            seen.into_iter().for_each(|seen| self.clean.insert(seen));
        }
        clean
    }

    fn redact_uncached<'a>(&self, text: &'a str, place: &mut KeyScanState, depth: usize) -> Cow<'a, str> {
        let is_first = matches!(place, KeyScanState::Begun);
        if let Some(rest) = self.armour.strip_key_lines(text, place) {
            self.add_to_count(usize::from(is_first));
            self.armour.note_key_start(&rest, place);
            return Cow::Owned(self.redact_text(&rest).into_owned());
        }
        self.armour.note_key_start(text, place);
        if depth < MAX_NESTED_JSON_DEPTH && is_json(text) {
            self.redact_json_at(text, depth + 1)
        } else {
            self.redact_text(text)
        }
    }
}

/// Returns whether the text is a JSON object or array.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Returns the end of the string literal at `start`, including the closing quote.
fn end_of_string(json: &str, start: usize) -> Option<usize> {
    let (mut at, bytes) = (start + 1, json.as_bytes());
    loop {
        let rest = bytes.get(at..)?;
        let found = memchr::memchr2(b'"', b'\\', rest)?;
        at += found + 1;
        match rest.get(found) {
            Some(b'"') => return Some(at),
            _ => at += 1,
        }
    }
}

/// Returns the unescaped string and `true`. A literal that serde rejects (lone surrogates) is returned as written, with
/// `false`.
fn unescape_literal(literal: &str) -> (Cow<'_, str>, bool) {
    let inner = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains('\\') {
        return (Cow::Borrowed(inner), true);
    }
    let read = serde_json::from_str::<String>(literal);
    read.map_or((Cow::Borrowed(inner), false), |text| (Cow::Owned(text), true))
}

fn escape_literal(text: &str, is_read: bool) -> String {
    if is_read { serde_json::to_string(text).unwrap_or_default() } else { format!("\"{text}\"") }
}

const BEGIN_PATTERN: &str = r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----";

const END_PATTERN: &str = r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----";

/// A line within a key, with the margin that editors and patches add.
const KEY_LINE_PATTERN: &str = r"^(?:[\s+<>|\-]|[0-9]{1,6}[→\t:|])*(?:[A-Za-z0-9+/=]{1,100}|(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):.*)?\s*$";

/// Detects keys that span several strings.
pub struct PrivateKeyScanner {
    begin: Regex,
    end: Regex,
    line: Regex,
}

/// Position relative to a private key.
#[derive(Default)]
enum KeyScanState {
    /// Not inside a key.
    #[default]
    Outside,
    /// After the BEGIN line; nothing was removed yet.
    Begun,
    /// Some lines were already removed.
    Within,
}

impl PrivateKeyScanner {
    /// Compiles the patterns.
    pub fn new() -> Result<Self, regex::Error> {
        Ok(Self {
            begin: Regex::new(BEGIN_PATTERN)?,
            end: Regex::new(END_PATTERN)?,
            line: Regex::new(KEY_LINE_PATTERN)?,
        })
    }

    /// Removes the part of a string that belongs to a key begun earlier. Returns `None` if there is none.
    fn strip_key_lines(&self, text: &str, place: &mut KeyScanState) -> Option<String> {
        if matches!(place, KeyScanState::Outside) {
            return None;
        }
        let rest = match self.end.find(text) {
            Some(end) => {
                *place = KeyScanState::Outside;
                text.get(end.start()..).filter(|_| end.start() > 0)?
            }
            None if self.line.is_match(text) => {
                *place = KeyScanState::Within;
                text.get(text.len()..).filter(|_| !text.trim().is_empty())?
            }
            None => {
                *place = KeyScanState::Outside;
                return None;
            }
        };
        // The margin of a patch line is not part of the key.
        let margin = text.strip_prefix(['+', '-', ' ']).map_or("", |line| text.strip_suffix(line).unwrap_or_default());
        let has_key = text.len() > margin.len() + rest.len();
        has_key.then(|| format!("{margin}{}{rest}", redaction_mark("private-key")))
    }

    /// Notes a key that begins in this string and does not end in it.
    fn note_key_start(&self, text: &str, place: &mut KeyScanState) {
        if !text.contains("-----BEGIN ") {
            return;
        }
        if let Some(begin) = self.begin.find_iter(text).last()
            && !self.end.is_match_at(text, begin.end())
        {
            *place = KeyScanState::Begun;
        }
    }
}
