//! Secrets taken out of what leaves the machine: keys, tokens, passwords, private keys. By their shape, and by the names
//! that they are given. What is no secret stays as it is, to the byte.

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
use armour::Armour;
use marks::{Marks, Met};
use rules::{Found, RULES};
use seen::Seen;

/// Takes secrets out of texts, and counts them.
pub struct Redactor {
    marks: Marks,
    rules: Vec<Regex>,
    escapes: Regex,
    armour: Armour,
    clean: Seen,
    count: AtomicU64,
}

impl Redactor {
    /// One that knows all shapes.
    ///
    /// # Errors
    /// Never with the shapes that are in the table.
    pub fn new() -> Result<Self, LogsError> {
        let broken = |error: regex::Error| LogsError::Regex(error.to_string());
        let rules: Result<_, _> = RULES.iter().map(|rule| Regex::new(rule.pattern)).collect();
        Ok(Self {
            marks: Marks::new().map_err(|error| LogsError::Regex(error.to_string()))?,
            rules: rules.map_err(broken)?,
            escapes: Regex::new(shadow::ESCAPES).map_err(broken)?,
            armour: Armour::new().map_err(broken)?,
            clean: Seen::default(),
            count: AtomicU64::new(0),
        })
    }

    /// How many secrets were taken out so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The text without its secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.cut(text, self.cuts(text))
    }

    /// Where its secrets are.
    fn cuts(&self, text: &str) -> Vec<Cut> {
        let met = self.marks.met(text);
        let mut cuts = Vec::new();
        self.look(text, &met, &mut cuts);
        if met.any()
            && let Some(shadow) = shadow::of(text, &self.escapes)
        {
            self.look(&shadow, &met, &mut cuts);
        }
        look_for_named(text, &met, &mut cuts);
        cuts
    }

    /// Where secrets are that are known by their shape.
    fn look(&self, text: &str, met: &Met, cuts: &mut Vec<Cut>) {
        for ((number, rule), regex) in
            RULES.iter().enumerate().zip(&self.rules).filter(|((number, _), _)| met.has(*number))
        {
            for captures in regex.captures_iter(text) {
                let Some((place, found)) = found(&captures) else { continue };
                if (rule.is_secret)(&found) {
                    cuts.push(Cut { place, number, name: rule.name });
                }
            }
        }
    }

    /// The text without what is cut out.
    fn cut<'a>(&self, text: &'a str, cuts: Vec<Cut>) -> Cow<'a, str> {
        if cuts.is_empty() {
            return Cow::Borrowed(text);
        }
        let cuts = together(cuts);
        self.counted(cuts.len());
        Cow::Owned(without(text, &cuts))
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
        let is = self.marks.has_any(key) && judge::is_secret_string(key, value);
        self.counted(usize::from(is));
        is
    }
}

/// Where secrets are that are known by their names.
fn look_for_named(text: &str, met: &Met, cuts: &mut Vec<Cut>) {
    for word in &met.words {
        if let Some((place, found)) = named::named(text, word.clone())
            && judge::is_named_secret(&found)
        {
            cuts.push(Cut { place, number: RULES.len(), name: "secret" });
        }
    }
    for word in &met.cookies {
        if let Some((name, start)) = named::header(text, word.clone())
            && cookies::is_cookie(name)
        {
            cut_cookies(text, start, cuts);
        }
    }
}

fn cut_cookies(text: &str, start: usize, cuts: &mut Vec<Cut>) {
    let places = cookies::secrets(text, start).into_iter();
    cuts.extend(places.map(|place| Cut { place, number: RULES.len(), name: "cookie" }));
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
fn found<'a>(captures: &Captures<'a>) -> Option<(Range<usize>, Found<'a>)> {
    let secret = captures.name("s").or_else(|| captures.get(0))?;
    let key = captures.name("k").map_or("", |part| part.as_str());
    Some((secret.range(), Found { key, value: secret.as_str() }))
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
