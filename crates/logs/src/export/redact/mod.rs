//! Secrets taken out of what leaves the machine: keys, tokens, passwords, private keys. By their shape, and by the names
//! that they are given. What is no secret stays as it is, to the byte.

mod json;
mod judge;
mod rules;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use regex::{Captures, Regex, RegexSet};

use crate::LogsError;
use rules::{Found, RULES};

/// Takes secrets out of texts, and counts them.
pub struct Redactor {
    any: RegexSet,
    rules: Vec<Regex>,
    count: AtomicU64,
}

impl Redactor {
    /// One that knows all shapes.
    ///
    /// # Errors
    /// Never with the shapes that are in the table.
    pub fn new() -> Result<Self, LogsError> {
        let broken = |error: regex::Error| LogsError::Regex(error.to_string());
        let any = RegexSet::new(RULES.iter().map(|rule| rule.pattern)).map_err(broken)?;
        let rules: Result<_, _> = RULES.iter().map(|rule| Regex::new(rule.pattern)).collect();
        Ok(Self { any, rules: rules.map_err(broken)?, count: AtomicU64::new(0) })
    }

    /// How many secrets were taken out so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The text without its secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut cuts: Vec<(Range<usize>, &'static str)> = Vec::new();
        for number in self.any.matches(text) {
            let (Some(rule), Some(regex)) = (RULES.get(number), self.rules.get(number)) else { continue };
            for captures in regex.captures_iter(text) {
                let Some((place, found)) = found(text, &captures) else { continue };
                // Rules with a sure mark come first, and know best what it is.
                let is_cut = cuts.iter().any(|(cut, _)| cut.start < place.end && place.start < cut.end);
                if !is_cut && (rule.is_secret)(&found) {
                    cuts.push((place, rule.name));
                }
            }
        }
        if cuts.is_empty() {
            return Cow::Borrowed(text);
        }
        cuts.sort_by_key(|(place, _)| place.start);
        self.count.fetch_add(cuts.len() as u64, Ordering::Relaxed);
        Cow::Owned(without(text, &cuts))
    }

    /// A value that was given a name, as in a JSON object.
    #[must_use]
    pub fn value<'a>(&self, key: &str, value: &'a str) -> Cow<'a, str> {
        let found = Found { key, value, quoted: true, after: "" };
        if !value.contains(char::is_whitespace) && judge::is_telling(key) && judge::is_named_secret(&found) {
            self.count.fetch_add(1, Ordering::Relaxed);
            return Cow::Owned(mark("secret"));
        }
        self.text(value)
    }
}

/// What of a match may be secret, and where it is.
fn found<'a>(text: &'a str, captures: &Captures<'a>) -> Option<(Range<usize>, Found<'a>)> {
    let secret = captures.name("s").or_else(|| captures.get(0))?;
    let part = |name| captures.name(name).map_or("", |part| part.as_str());
    let after = text.get(secret.end()..).unwrap_or_default();
    let found = Found { key: part("k"), value: secret.as_str(), quoted: !part("q").is_empty(), after };
    Some((secret.range(), found))
}

fn without(text: &str, cuts: &[(Range<usize>, &'static str)]) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (place, name) in cuts {
        out.push_str(text.get(at..place.start).unwrap_or_default());
        out.push_str(&mark(name));
        at = place.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// What stands in place of a secret.
fn mark(name: &str) -> String {
    format!("[redacted:{name}]")
}
