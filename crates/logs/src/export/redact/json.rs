//! Secrets in JSON: every string is looked at as the text that it stands for, and JSON within it as JSON. What has none
//! stays byte for byte, numbers and doubled keys included, so nothing is parsed and written anew.

use std::borrow::Cow;

use memchr::memchr;
use serde::de::IgnoredAny;
use xxhash_rust::xxh3::xxh3_128;

use super::{Redactor, armour::Place, cookies, cut_cookies, mark};

/// JSON within JSON within JSON is looked into so deep.
const DEEPEST: usize = 6;

/// A name so short is no key.
const SHORTEST_KEY: usize = 16;

/// A string so long is worth remembering.
const LONG: usize = 64;

/// What says what the next string is.
struct Name<'a> {
    name: Cow<'a, str>,
    /// What has to stand between them: a colon behind the name of a field, a comma behind an option.
    gap: &'static str,
}

impl<'a> Name<'a> {
    fn of(text: Cow<'a, str>, is_key: bool) -> Option<Self> {
        let is_option = text.starts_with("--") && !text.contains([' ', '=']);
        let gap = if is_key { ":" } else { "," };
        (is_key || is_option).then_some(Self { name: text, gap })
    }
}

impl Redactor {
    /// JSON without the secrets in its strings.
    #[must_use]
    pub fn json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        self.json_in(json, 0)
    }

    fn json_in<'a>(&self, json: &'a str, depth: usize) -> Cow<'a, str> {
        let (mut out, mut copied, mut last) = (String::new(), 0, 0);
        let (mut key, mut place) = (None::<Name<'_>>, Place::Outside);
        while let Some(start) =
            json.as_bytes().get(last..).and_then(|rest| memchr(b'"', rest)).map(|found| last + found)
        {
            let Some(end) = end_of_string(json, start) else { break };
            let (literal, after) = (json.get(start..end).unwrap_or_default(), json.get(end..).unwrap_or_default());
            let gap = json.get(last..start).unwrap_or_default().trim();
            last = end;
            let (text, is_read) = read(literal);
            let is_key = after.trim_start().starts_with(':');
            let named = key.take().filter(|name| gap == name.gap);
            // Between lines of an array stands a comma.
            if gap != "," {
                place = Place::Outside;
            }
            let clean = match named {
                _ if is_key => self.name(&text),
                Some(Name { name, .. }) if self.is_named(&name, &text) => Cow::Owned(mark("secret")),
                Some(Name { name, .. }) if cookies::is_cookie(&name) => self.cookies(&text),
                _ => self.string(&text, &mut place, depth),
            };
            if let Cow::Owned(clean) = clean {
                out.push_str(json.get(copied..start).unwrap_or_default());
                out.push_str(&written(&clean, is_read));
                copied = end;
            }
            key = Name::of(text, is_key);
        }
        if copied == 0 {
            return Cow::Borrowed(json);
        }
        out.push_str(json.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    fn name<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.len() < SHORTEST_KEY { Cow::Borrowed(text) } else { self.text(text) }
    }

    /// The value of a cookie's header.
    fn cookies<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut cuts = self.cuts(text);
        cut_cookies(text, 0, &mut cuts);
        self.cut(text, cuts)
    }

    /// A string, which may be a line of a key that began in the one before it.
    fn string<'a>(&self, text: &'a str, place: &mut Place, depth: usize) -> Cow<'a, str> {
        // What is long is often told twice: as what was said, and in the agent's own record.
        let seen = (text.len() >= LONG && matches!(place, Place::Outside)).then(|| xxh3_128(text.as_bytes()));
        if seen.is_some_and(|seen| self.clean.has(seen)) {
            return Cow::Borrowed(text);
        }
        let clean = self.new_string(text, place, depth);
        // Less deep, more is looked into.
        if depth == 0 && matches!((&clean, &place), (Cow::Borrowed(_), Place::Outside)) {
            seen.into_iter().for_each(|seen| self.clean.add(seen));
        }
        clean
    }

    fn new_string<'a>(&self, text: &'a str, place: &mut Place, depth: usize) -> Cow<'a, str> {
        let is_first = matches!(place, Place::Begun);
        if let Some(rest) = self.armour.without(text, place) {
            self.counted(usize::from(is_first));
            self.armour.see(&rest, place);
            return Cow::Owned(self.text(&rest).into_owned());
        }
        self.armour.see(text, place);
        if depth < DEEPEST && is_json(text) { self.json_in(text, depth + 1) } else { self.text(text) }
    }
}

/// The text is an object or a list.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Where the string that begins here ends, its quotation mark included.
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

/// What a string stands for, and true. One that serde does not read (lone surrogates) is looked at as it is written.
fn read(literal: &str) -> (Cow<'_, str>, bool) {
    let inner = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains('\\') {
        return (Cow::Borrowed(inner), true);
    }
    let read = serde_json::from_str::<String>(literal);
    read.map_or((Cow::Borrowed(inner), false), |text| (Cow::Owned(text), true))
}

fn written(text: &str, is_read: bool) -> String {
    if is_read { serde_json::to_string(text).unwrap_or_default() } else { format!("\"{text}\"") }
}
