//! Splits valid JSON one level deep, without looking inside. Much faster than parsing, which the text has been through
//! when the record was read. Never fails; text that is not JSON gives fewer parts or none.

use std::iter;

use crate::plain;

/// Returns the fields of an object: each key as a JSON string, and the text of its value.
pub fn split_fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut at = content_start(text, b'{');
    iter::from_fn(move || Some((next_value(text, &mut at, b',')?, next_value(text, &mut at, b':')?)))
}

/// Returns the elements of an array, each as its text.
pub fn split_elements(text: &str) -> impl Iterator<Item = &str> {
    let mut at = content_start(text, b'[');
    iter::from_fn(move || next_value(text, &mut at, b','))
}

/// Returns where the content begins if the text begins with the bracket; otherwise its end.
fn content_start(text: &str, bracket: u8) -> usize {
    if text.as_bytes().first() == Some(&bracket) { 1 } else { text.len() }
}

/// Skips whitespace and separators.
fn skip_separators(bytes: &[u8], at: &mut usize, separator: u8) {
    while *at < bytes.len() && (bytes[*at] == separator || matches!(bytes[*at], b' ' | b'\t' | b'\r' | b'\n')) {
        *at += 1;
    }
}

/// Returns the next value, after a separator if there is one; `None` at a closing bracket.
#[inline]
fn next_value<'a>(text: &'a str, at: &mut usize, separator: u8) -> Option<&'a str> {
    let bytes = text.as_bytes();
    skip_separators(bytes, at, separator);
    let start = *at;
    let end = match bytes.get(start)? {
        b'}' | b']' => return None,
        b'"' => string_end(bytes, start + 1),
        b'{' | b'[' => nested_end(bytes, start),
        _ => scalar_end(bytes, start),
    };
    *at = end;
    text.get(start..end).filter(|value| !value.is_empty())
}

/// Returns the position after the closing quote of a string whose content begins at `from`.
pub fn string_end(bytes: &[u8], from: usize) -> usize {
    // Most strings are short and without escapes. In the others, quotes are rarer than escapes.
    let mut at = plain::find_mark(bytes, from);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        match if rest.first() == Some(&b'"') { Some(0) } else { memchr::memchr(b'"', rest) } {
            Some(length) => at += length,
            None => return bytes.len(),
        }
        let before = bytes.get(from..at).unwrap_or_default();
        // A backslash escapes the one after it.
        let escapes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
        at += 1;
        if escapes.is_multiple_of(2) {
            return at;
        }
    }
}

pub fn has_escapes(bytes: &[u8]) -> bool {
    let mut at = 0;
    while let Some(word) = bytes.get(at..at + 8).and_then(|chunk| chunk.first_chunk()) {
        if match_byte(u64::from_le_bytes(*word), b'\\') != 0 {
            return true;
        }
        at += 8;
    }
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            return true;
        }
        at += 1;
    }
    false
}

/// Sets the highest bit of the lowest byte that equals `byte`; zero if there is none.
const fn match_byte(word: u64, byte: u8) -> u64 {
    let zero = word ^ (0x0101_0101_0101_0101 * byte as u64);
    zero.wrapping_sub(0x0101_0101_0101_0101) & !zero & 0x8080_8080_8080_8080
}

/// Returns the position after the bracket that closes the one at `at`.
fn nested_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while at < bytes.len() {
        at = next_mark(bytes, at);
        let Some(&byte) = bytes.get(at) else { break };
        at += 1;
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    bytes.len()
}

/// Finds the next quote or bracket, eight bytes at a time: most of a record is neither.
fn next_mark(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = bytes.get(at..at + 8).and_then(|chunk| chunk.first_chunk()) {
        let word = u64::from_le_bytes(*word);
        // `[` and `]` are `{` and `}` without one bit.
        let braces = word | 0x2020_2020_2020_2020;
        let found = match_byte(word, b'"') | match_byte(braces, b'{') | match_byte(braces, b'}');
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at
}

fn scalar_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && !matches!(bytes[at], b',' | b'}' | b']' | b':' | b' ' | b'\t' | b'\r' | b'\n') {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::{split_elements, split_fields};
    use crate::walk::tests::any_json;

    #[test]
    fn takes_apart_one_level() {
        let text = r#" {"a" : {"x":[1,"}"]} ,"b\"":"\\","c":-1.5e3,"d":[ ],"e":null}"#.trim();
        let got: Vec<_> = split_fields(text).collect();
        let want = [
            (r#""a""#, r#"{"x":[1,"}"]}"#),
            (r#""b\"""#, r#""\\""#),
            (r#""c""#, "-1.5e3"),
            (r#""d""#, "[ ]"),
            (r#""e""#, "null"),
        ];
        assert_eq!(got, want);
        assert_eq!(split_elements(r#"[1 , "a,b", [2,3],{} ]"#).collect::<Vec<_>>(), ["1", r#""a,b""#, "[2,3]", "{}"]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_parser(value in any_json(), pretty: bool) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            if value.is_object() {
                let want: std::collections::BTreeMap<String, &RawValue> = serde_json::from_str(&text).unwrap();
                let got: std::collections::BTreeMap<String, &str> =
                    split_fields(&text).map(|(key, value)| (serde_json::from_str(key).unwrap(), value)).collect();
                prop_assert!(want.iter().map(|(k, v)| (k.as_str(), v.get())).eq(got.iter().map(|(k, v)| (k.as_str(), *v))));
            }
            if value.is_array() {
                let want: Vec<&RawValue> = serde_json::from_str(&text).unwrap();
                prop_assert!(want.iter().map(|v| v.get()).eq(split_elements(&text)));
            }
        }

        #[test]
        fn ends_on_any_text(text in ".*") {
            prop_assert!(split_fields(&text).count() <= text.len());
            prop_assert!(split_elements(&text).count() <= text.len());
        }
    }
}
