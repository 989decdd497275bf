//! Secrets in JSON: every string is looked at as the text that it stands for. What has none stays byte for byte, numbers
//! and doubled keys included, so nothing is parsed and written anew.

use std::borrow::Cow;

use super::Redactor;

impl Redactor {
    /// JSON without the secrets in its strings.
    #[must_use]
    pub fn json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        let (mut out, mut copied, mut at) = (String::new(), 0, 0);
        let mut key: Option<(String, usize)> = None;
        while let Some(start) = json.get(at..).and_then(|rest| rest.find('"')).map(|found| at + found) {
            let Some(end) = end_of_string(json, start) else { break };
            let (literal, after) = (json.get(start..end).unwrap_or_default(), json.get(end..).unwrap_or_default());
            at = end;
            let (text, is_read) = read(literal);
            if after.trim_start().starts_with(':') {
                key = Some((text.into_owned(), end));
                continue;
            }
            // Between a name and its value stands a colon and nothing else.
            let named = key.take().filter(|(_, end)| json.get(*end..start).is_some_and(|gap| gap.trim() == ":"));
            let clean = named.map_or_else(|| self.text(&text), |(key, _)| self.value(&key, &text));
            if clean != text {
                out.push_str(json.get(copied..start).unwrap_or_default());
                out.push_str(&written(&clean, is_read));
                copied = end;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(json);
        }
        out.push_str(json.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }
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
