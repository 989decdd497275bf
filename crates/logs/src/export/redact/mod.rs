//! Removes secrets from exported data: keys, tokens, passwords, private keys. Secrets are recognized by their shape and
//! by the name of a value. Everything else stays byte for byte.

mod armour;
mod cookies;
mod json;
mod judge;
mod marks;
mod named;
mod names;
mod piece;
mod rules;
mod seen;
mod shadow;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use regex::{Captures, Regex};

use crate::LogsError;
use armour::PrivateKeyScanner;
use marks::{PrefilterMatches, RedactionPrefilter};
use rules::{PatternMatch, SECRET_PATTERNS};
use seen::CleanTextCache;

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
            escapes: Regex::new(shadow::ESCAPE_PATTERN).map_err(broken)?,
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
            && let Some(shadow) = shadow::mask_escapes(text, &self.escapes)
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
        let is = self.marks.has_any(key) && judge::is_secret_string(key, value);
        self.add_to_count(usize::from(is));
        is
    }
}

/// Finds secrets by their names.
fn find_by_name(text: &str, met: &PrefilterMatches, cuts: &mut Vec<SecretSpan>) {
    for word in &met.words {
        if let Some((place, found)) = named::find_named_value(text, word.clone())
            && judge::is_named_secret(&found)
        {
            cuts.push(SecretSpan { place, number: SECRET_PATTERNS.len(), name: "secret" });
        }
    }
    for word in &met.cookies {
        if let Some((name, start)) = named::find_header(text, word.clone())
            && cookies::is_cookie_header(name)
        {
            push_cookie_spans(text, start, cuts);
        }
    }
}

fn push_cookie_spans(text: &str, start: usize, cuts: &mut Vec<SecretSpan>) {
    let places = cookies::find_cookie_secrets(text, start).into_iter();
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
