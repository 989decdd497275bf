//! Secrets taken out of what leaves the machine: keys, tokens, passwords, private keys. By their shape, and by the names
//! that they are given. What is no secret stays as it is, to the byte.

mod armour;
mod json;
mod judge;
mod piece;
mod rules;
mod shadow;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use regex::{Captures, Regex, RegexSet};

use crate::LogsError;
use armour::Armour;
use rules::{Found, RULES};

/// Takes secrets out of texts, and counts them.
pub struct Redactor {
    any: RegexSet,
    rules: Vec<Regex>,
    escapes: Regex,
    armour: Armour,
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
        let (rules, escapes) = (rules.map_err(broken)?, Regex::new(shadow::ESCAPES).map_err(broken)?);
        Ok(Self { any, rules, escapes, armour: Armour::new().map_err(broken)?, count: AtomicU64::new(0) })
    }

    /// How many secrets were taken out so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The text without its secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut cuts = Vec::new();
        self.look(text, &mut cuts);
        if let Some(shadow) = shadow::of(text, &self.escapes) {
            self.look(&shadow, &mut cuts);
        }
        if cuts.is_empty() {
            return Cow::Borrowed(text);
        }
        let cuts = together(cuts);
        self.counted(cuts.len());
        Cow::Owned(without(text, &cuts))
    }

    /// Where secrets are.
    fn look(&self, text: &str, cuts: &mut Vec<Cut>) {
        for number in self.any.matches(text) {
            let (Some(rule), Some(regex)) = (RULES.get(number), self.rules.get(number)) else { continue };
            for captures in regex.captures_iter(text) {
                let Some((place, found)) = found(text, &captures) else { continue };
                if (rule.is_secret)(&found) {
                    cuts.push(Cut { place, number, name: rule.name });
                }
            }
        }
    }

    fn counted(&self, secrets: usize) {
        self.count.fetch_add(secrets as u64, Ordering::Relaxed);
    }

    /// A value that was given a name, as in a JSON object.
    #[must_use]
    pub fn value<'a>(&self, key: &str, value: &'a str) -> Cow<'a, str> {
        if self.is_named(key, value) { Cow::Owned(mark("secret")) } else { self.text(value) }
    }

    /// The name says that the value is secret; then it is counted.
    fn is_named(&self, key: &str, value: &str) -> bool {
        let found = Found { key, value, quoted: true, after: "" };
        let is = !value.contains(char::is_whitespace) && judge::is_telling(key) && judge::is_named_secret(&found);
        self.counted(usize::from(is));
        is
    }
}

/// A part of a text that is secret.
struct Cut {
    place: Range<usize>,
    /// The rule that says so.
    number: usize,
    name: &'static str,
}

/// Cuts in order, those that overlap made into one. Rules with a sure mark come first, and know best what it is.
fn together(mut cuts: Vec<Cut>) -> Vec<Cut> {
    cuts.sort_by_key(|cut| (cut.place.start, cut.number));
    let mut out: Vec<Cut> = Vec::with_capacity(cuts.len());
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

/// What of a match may be secret, and where it is.
fn found<'a>(text: &'a str, captures: &Captures<'a>) -> Option<(Range<usize>, Found<'a>)> {
    let secret = captures.name("s").or_else(|| captures.get(0))?;
    let part = |name| captures.name(name).map_or("", |part| part.as_str());
    let after = text.get(secret.end()..).unwrap_or_default();
    let found = Found { key: part("k"), value: secret.as_str(), quoted: !part("q").is_empty(), after };
    Some((secret.range(), found))
}

fn without(text: &str, cuts: &[Cut]) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for Cut { place, name, .. } in cuts {
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
