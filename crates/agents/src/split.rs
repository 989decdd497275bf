//! Splits valid JSON one level deep, without looking inside. Much faster than parsing, which the text has been through when the
//! record was read. Never fails; text that is not JSON gives fewer parts or none.

use std::iter;

use wide::u8x16;

/// The number of bytes examined at once.
const CHUNK_BYTES: usize = 16;

/// The number of bytes examined at once in long strings.
const WIDE_CHUNK_BYTES: usize = 64;

/// Returns the position after the closing quote of the string whose content begins at `from`; `None` if it is not a
/// valid string.
pub fn plain_string_end(bytes: &[u8], from: usize) -> Option<usize> {
    // Most strings are short and without escapes.
    let first = bytes.get(from..).and_then(|rest| rest.first_chunk()).map_or(0, |piece| mark_bits(*piece));
    let at = from + first.trailing_zeros() as usize;
    if first != 0 && bytes.get(at) == Some(&b'"') {
        return Some(at + 1);
    }
    long_string_end(bytes, from)
}

/// Like `string_end`, for strings with escapes: bytes are not examined again after each escape.
fn long_string_end(bytes: &[u8], mut from: usize) -> Option<usize> {
    while let Some(piece) = bytes.get(from..).and_then(|rest| rest.first_chunk()) {
        let (mut marks, mut next) = (wide_mark_bits(piece), WIDE_CHUNK_BYTES);
        while marks != 0 {
            let at = marks.trailing_zeros() as usize;
            match bytes.get(from + at) {
                Some(b'"') => return Some(from + at + 1),
                Some(b'\\') => next = at + escape_length(bytes, from + at)?,
                _ => return None,
            }
            // Skips the escape, which may end beyond the examined bytes.
            marks = u64::MAX.checked_shl(next as u32).map_or(0, |behind| marks & behind);
        }
        from += next.max(WIDE_CHUNK_BYTES);
    }
    last_string_end(bytes, from)
}

/// Like `string_end`, near the end of the bytes.
fn last_string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = find_mark(bytes, at);
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += escape_length(bytes, at)?,
            _ => return None,
        }
    }
}

/// Returns the length of the escape at a position; `None` if it is invalid.
fn escape_length(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit).then_some(6),
        _ => None,
    }
}

/// Returns a bit for each of many bytes that is a mark, the first byte lowest.
fn wide_mark_bits(piece: &[u8; WIDE_CHUNK_BYTES]) -> u64 {
    let (pieces, _) = piece.as_chunks();
    pieces.iter().rev().fold(0, |wide, piece| wide << CHUNK_BYTES | u64::from(mark_bits(*piece)))
}

/// Returns the position of the next quote, escape or control character; the end if there is none.
pub fn find_mark(bytes: &[u8], mut at: usize) -> usize {
    while let Some(piece) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        match mark_bits(*piece) {
            0 => at += CHUNK_BYTES,
            marks => return at + marks.trailing_zeros() as usize,
        }
    }
    find_mark_in_tail(bytes, at)
}

/// Like `find_mark`, where less than a chunk is left: earlier bytes are examined again.
fn find_mark_in_tail(bytes: &[u8], at: usize) -> usize {
    let is_left = at < bytes.len();
    match bytes.last_chunk().filter(|_| is_left) {
        Some(piece) => {
            let begin = bytes.len() - CHUNK_BYTES;
            let marks = mark_bits(*piece) >> (at - begin);
            if marks == 0 { bytes.len() } else { at + marks.trailing_zeros() as usize }
        }
        None => {
            let rest = bytes.get(at..).unwrap_or_default();
            at + rest.iter().position(|byte| is_mark(*byte)).unwrap_or(rest.len())
        }
    }
}

fn is_mark(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..b' ')
}

/// Returns a bit for each byte that is a mark, the first byte lowest.
fn mark_bits(piece: [u8; CHUNK_BYTES]) -> u32 {
    let bytes = u8x16::new(piece);
    let control = bytes.min(u8x16::splat(b' ' - 1)).simd_eq(bytes);
    (bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\')) | control).to_bitmask()
}

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
    let mut at = find_mark(bytes, from);
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

    use super::{find_mark, is_mark, last_string_end, plain_string_end, split_elements, split_fields};
    use crate::walk::tests::any_json;

    proptest! {
        #[test]
        fn strings_end_where_they_do_however_one_looks(
            pieces in proptest::collection::vec("[a-zä ]{0,40}|(\\\\[\"\\\\nu]){1,3}|\\\\u[0-9a-f]{3,4}|\\\\[x\n]|[\n\"]", 0..12),
            from in 0_usize..4,
        ) {
            let text = pieces.concat();
            prop_assert_eq!(plain_string_end(text.as_bytes(), from), last_string_end(text.as_bytes(), from));
            // Appends enough text that no string is near the end.
            let text = format!("{text}\"{}", " ".repeat(200));
            prop_assert_eq!(plain_string_end(text.as_bytes(), from), last_string_end(text.as_bytes(), from));
        }

        #[test]
        fn is_where_the_first_mark_is(bytes: Vec<u8>, plain in "[a-zäß\u{7f} ]{0,80}", from in 0_usize..90) {
            let bytes = [plain.as_bytes(), &bytes].concat();
            let rest = bytes.get(from..).unwrap_or_default();
            let expected = rest.iter().position(|byte| is_mark(*byte)).map_or(bytes.len().max(from), |at| from + at);
            prop_assert_eq!(find_mark(&bytes, from), expected);
        }
    }

    #[test]
    fn every_byte_is_plain_or_not() {
        for byte in 0..=u8::MAX {
            let (mut bytes, is_plain) = ([b'a'; 40], byte >= b' ' && byte != b'"' && byte != b'\\');
            bytes[20] = byte;
            assert_eq!(find_mark(&bytes, 1), if is_plain { 40 } else { 20 }, "{byte}");
        }
    }

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
