//! Several records on one line: a process died in the middle of a line, and another one appended to the file.

use serde::de::IgnoredAny;

use crate::{JsonView, split};

/// The maximum number of positions at which a record is tried after a broken one.
const MAX_CANDIDATES: usize = 4;

/// How far before the position of a parse error the next record can begin: after half of an escape `\u0000`, two bytes
/// of the record are taken for the rest of it.
const MAX_LOOK_BACK_BYTES: usize = 8;

/// The number of top-level keys that a nested object may share with the record around it by coincidence.
const MAX_COMMON_KEYS: usize = 2;

/// Splits a line that holds several records: complete objects, and torn beginnings of others. The pieces are the whole
/// line, in order. Empty for a line that is one record, or text.
///
/// Only for lines that are not JSON, since every other line is one record.
#[must_use]
pub fn split_joined_records(line: &[u8]) -> Vec<&[u8]> {
    split_line(line, true)
}

/// Returns whether a line without an end already consists of complete records. Records that a later byte could change
/// do not count.
#[must_use]
pub fn ends_with_record(line: &[u8]) -> bool {
    match scan_object(line) {
        ObjectScan::Complete(length) if is_blank(line.get(length..).unwrap_or_default()) => true,
        _ => split_line(line, false).last().is_some_and(|last| matches!(scan_object(last), ObjectScan::Complete(_))),
    }
}

fn split_line(line: &[u8], is_ended: bool) -> Vec<&[u8]> {
    let (mut pieces, mut rest, mut has_record) = (Vec::new(), line, false);
    while !is_blank(rest) {
        if !begins_object(rest) {
            return Vec::new();
        }
        let length = match scan_object(rest) {
            ObjectScan::Complete(length) => {
                has_record = true;
                let behind = rest.get(length..).unwrap_or_default();
                if is_blank(behind) { rest.len() } else { length }
            }
            ObjectScan::Broken(at) => match find_record_near(rest, at) {
                Some(start) => find_trailing_record(rest.get(..start).unwrap_or_default()).unwrap_or(start),
                None if has_record => rest.len(),
                None => return Vec::new(),
            },
            ObjectScan::Unfinished => match find_trailing_record(rest).filter(|_| is_ended) {
                Some(start) => start,
                None if has_record => rest.len(),
                None => return Vec::new(),
            },
        };
        let (piece, behind) = rest.split_at(length);
        pieces.push(piece);
        rest = behind;
    }
    if has_record && pieces.len() > 1 { pieces } else { Vec::new() }
}

enum ObjectScan {
    /// An object that ends before this position.
    Complete(usize),
    /// A syntax error at about this position.
    Broken(usize),
    /// The beginning of an object, without an error so far.
    Unfinished,
}

fn scan_object(bytes: &[u8]) -> ObjectScan {
    if !begins_object(bytes) {
        return ObjectScan::Broken(0);
    }
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => ObjectScan::Complete(values.byte_offset()),
        // The column counts bytes from 1, and there is only one line.
        Some(Err(error)) if !error.is_eof() => ObjectScan::Broken(error.column().saturating_sub(1)),
        _ => ObjectScan::Unfinished,
    }
}

/// Returns where the next complete record begins, near the syntax error or after it.
fn find_record_near(bytes: &[u8], broken_at: usize) -> Option<usize> {
    let is_start = |at: &usize| *at > 0 && bytes.get(*at) == Some(&b'{');
    let is_record = |at: &usize| is_complete_record(bytes.get(*at..).unwrap_or_default());
    let around = (broken_at.saturating_sub(MAX_LOOK_BACK_BYTES)..=broken_at).rev().filter(is_start);
    around.take(2).find(is_record).or_else(|| {
        let rest = bytes.get(broken_at..)?;
        let behind = memchr::memchr_iter(b'{', rest).map(|at| broken_at + at).filter(is_start);
        behind.take(MAX_CANDIDATES).find(is_record)
    })
}

fn is_complete_record(bytes: &[u8]) -> bool {
    matches!(scan_object(bytes), ObjectScan::Complete(length) if length > 2)
}

/// Returns where a record begins that follows a torn one without a syntax error: the tear is in place of a value, so
/// that the record looks like that value. Its keys tell it from a value: they are those of the torn record.
fn find_trailing_record(bytes: &[u8]) -> Option<usize> {
    let start = start_of_last_object(bytes)?;
    let (torn, last) = (bytes.get(..start)?, std::str::from_utf8(bytes.get(start..)?).ok()?);
    let keys_before = top_level_keys(torn);
    let last = JsonView::parse(last)?.as_object();
    let common = last.iter().filter(|(key, _)| keys_before.contains(&key.as_bytes())).count();
    (common > MAX_COMMON_KEYS.min(keys_before.len().saturating_sub(1))).then_some(start)
}

/// Returns the beginning of the object that ends with the line, if another object encloses it.
fn start_of_last_object(bytes: &[u8]) -> Option<usize> {
    let end = bytes.trim_ascii_end().len();
    let (mut open, mut last) = (Vec::new(), None);
    for_each_token(bytes, |at, sign| match sign {
        b'{' | b'[' => open.push(at),
        b'}' | b']' => last = open.pop().filter(|_| at + 1 == end && sign == b'}'),
        _ => {}
    });
    last.filter(|_| !open.is_empty())
}

/// Returns the keys of a torn object, as far as they can be read.
fn top_level_keys(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut depth, mut string, mut keys) = (0_usize, 0..0, Vec::new());
    for_each_token(bytes, |at, sign| match sign {
        b'{' | b'[' => depth += 1,
        b'}' | b']' => depth = depth.saturating_sub(1),
        b'"' => string = at..split::string_end(bytes, at + 1),
        b':' if depth == 1 => keys.extend(bytes.get(string.start + 1..string.end.saturating_sub(1))),
        _ => {}
    });
    keys
}

/// Visits the structural characters of JSON: brackets, colons and commas, and the opening quote of each string.
fn for_each_token(bytes: &[u8], mut each: impl FnMut(usize, u8)) {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if matches!(byte, b'{' | b'}' | b'[' | b']' | b':' | b',' | b'"') {
            each(at, byte);
        }
        at = if byte == b'"' { split::string_end(bytes, at + 1) } else { at + 1 };
    }
}

fn begins_object(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !is_blank_byte(**byte)) == Some(&b'{')
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| is_blank_byte(*byte))
}

fn is_blank_byte(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests {

    use super::{ends_with_record, split_joined_records};

    fn split_pieces(line: &str) -> Vec<&str> {
        split_joined_records(line.as_bytes()).into_iter().map(|piece| std::str::from_utf8(piece).unwrap()).collect()
    }

    fn record_prefix(record: &str, length: usize) -> &str {
        record.get(..length).unwrap()
    }

    const FIRST: &str = r#"{"type":"assistant","uuid":"a1","message":{"id":"m\u00e9","content":[{"type":"text","text":"a \"{\" b\\"}],"usage":{"n":[1,-2.5e3,null,true]}},"timestamp":"t"}"#;

    const SECOND: &str = r#"{"type":"user","uuid":"u2","message":{"content":"go on {\"x\":1}"},"timestamp":"t"}"#;

    #[test]
    fn complete_records_are_told_apart() {
        assert_eq!(split_pieces(&format!("{FIRST}{SECOND}")), [FIRST, SECOND]);
        assert_eq!(
            split_pieces(&format!("{FIRST} {SECOND}{FIRST}\r")),
            [FIRST, &format!(" {SECOND}"), &format!("{FIRST}\r")]
        );
        let torn = record_prefix(SECOND, 30);
        assert_eq!(split_pieces(&format!("{FIRST}{torn}")), [FIRST, torn]);
    }

    #[test]
    fn a_record_behind_a_torn_one_is_found_wherever_that_was_torn() {
        for cut in (1..FIRST.len()).filter(|cut| FIRST.is_char_boundary(*cut)) {
            let torn = record_prefix(FIRST, cut);
            assert_eq!(split_pieces(&format!("{torn}{SECOND}")), [torn, SECOND], "{torn}");
            assert_eq!(split_pieces(&format!("{torn}{SECOND}{FIRST}")), [torn, SECOND, FIRST], "{torn}");
            assert_eq!(split_pieces(&format!("{SECOND}{torn}{SECOND}")), [SECOND, torn, SECOND], "{torn}");
        }
    }

    #[test]
    fn a_torn_character_is_no_hindrance() {
        let line = [b"{\"text\":\"h\xc3", SECOND.as_bytes()].concat();
        assert_eq!(split_joined_records(&line), [&b"{\"text\":\"h\xc3"[..], SECOND.as_bytes()]);
        let line = [b"{\"text\":\"h\0\0\0", SECOND.as_bytes()].concat();
        assert_eq!(split_joined_records(&line)[1], SECOND.as_bytes());
    }

    #[test]
    fn what_is_one_record_or_text_stays_whole() {
        for cut in 0..=FIRST.len() {
            let torn = record_prefix(FIRST, cut);
            assert!(split_pieces(torn).is_empty(), "a torn record has no records in it: {torn}");
        }
        for line in [
            "",
            "text",
            "12",
            r#"text {"a":1}"#,
            r#"{"a":1} and more"#,
            r#"{"a":1}}"#,
            r#"{call: {"a":1}}"#,
            r#"{"a":1},{"b":2}"#,
            r#"[{"a":1}]"#,
            "{}",
            "{{}",
        ] {
            assert!(split_pieces(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn a_line_without_an_end_ends_with_a_record_if_nothing_can_change_that() {
        assert!(ends_with_record(FIRST.as_bytes()));
        assert!(ends_with_record(format!("{FIRST}{SECOND}").as_bytes()));
        assert!(ends_with_record(format!("{}{SECOND}", record_prefix(FIRST, 70)).as_bytes()));
        for cut in 1..FIRST.len() {
            let torn = record_prefix(FIRST, cut);
            assert!(!ends_with_record(torn.as_bytes()), "{torn}");
        }
        // The record may be a value, with more to come.
        let open = format!("{{\"type\":{SECOND}");
        assert!(!split_pieces(&open).is_empty() && !ends_with_record(open.as_bytes()));
        assert!(!ends_with_record(b"12") && !ends_with_record(b""));
    }
}
