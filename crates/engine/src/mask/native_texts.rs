//! Finds texts in native records, and replaces them without touching the rest of the record.

use std::{borrow::Cow, ops::Range};

use serde_json::value::RawValue;
use switchboard_event::{NativeBody, to_raw_json};

use super::MASK;

#[derive(Debug, PartialEq, Eq)]
pub struct NativeText<'a> {
    /// The key of the text; elements of a list share the key of the list.
    pub name: &'a str,
    pub text: Cow<'a, str>,
    /// The range of the text in the record, with its quotes.
    range: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    pub from: String,
    pub to: String,
}

/// Returns all texts of a record, in order. A record that is not JSON is one text without a name.
pub fn native_texts(body: &NativeBody) -> Vec<NativeText<'_>> {
    match body {
        NativeBody::Json(json) => json_texts(json.get()),
        NativeBody::Text(text) => vec![NativeText { name: "", text: Cow::Borrowed(text), range: 0..text.len() }],
        NativeBody::Bytes(_) => Vec::new(),
    }
}

fn json_texts(json: &str) -> Vec<NativeText<'_>> {
    let (mut texts, mut name, mut at) = (Vec::new(), "", 0);
    while let Some(range) = next_string(json, at) {
        at = range.end;
        let quoted = json.get(range.clone()).unwrap_or_default();
        let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        let is_name = json.get(at..).unwrap_or_default().trim_start().starts_with(':');
        if is_name {
            name = inner;
            continue;
        }
        let text = if inner.contains('\\') {
            Cow::Owned(serde_json::from_str::<String>(quoted).unwrap_or_default())
        } else {
            Cow::Borrowed(inner)
        };
        texts.push(NativeText { name, text, range });
    }
    texts
}

/// Returns the range of the next string, with its quotes.
fn next_string(json: &str, from: usize) -> Option<Range<usize>> {
    let bytes = json.as_bytes();
    let start = from + memchr::memchr(b'"', bytes.get(from..)?)?;
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes.get(at)? {
            b'"' => return Some(start..at + 1),
            _ => at += 2,
        }
    }
}

/// Replaces texts of a record, given by their indexes.
pub fn set_texts(body: &mut NativeBody, changed: &[(usize, String)]) {
    if changed.is_empty() {
        return;
    }
    let ranges: Vec<_> = native_texts(body).into_iter().map(|text| text.range).collect();
    match body {
        NativeBody::Text(text) => {
            if let Some((_, last)) = changed.last() {
                text.clone_from(last);
            }
        }
        NativeBody::Json(json) => {
            let mut record = json.get().to_owned();
            // From the end, so that earlier ranges stay valid.
            for (number, text) in changed.iter().rev() {
                if let Some(range) = ranges.get(*number) {
                    record.replace_range(range.clone(), to_raw_json(text).get());
                }
            }
            *json = RawValue::from_string(record).unwrap_or_else(|_| to_raw_json(MASK));
        }
        NativeBody::Bytes(_) => {}
    }
}

/// Replaces a piece of text in a record: in all texts equal to it, or otherwise in the first that contains it. A record
/// in which it cannot be found, because it is written differently, is masked as a whole.
pub fn replace_text(body: &mut NativeBody, replacement: &Replacement) {
    let Replacement { from, to } = replacement;
    let known = native_texts(body);
    let equal = known.iter().enumerate().filter(|(_, known)| known.text == *from);
    let mut changed: Vec<_> = equal.map(|(number, _)| (number, to.clone())).collect();
    if changed.is_empty() {
        let found = known.iter().enumerate().find(|(_, known)| known.text.contains(from.as_str()));
        changed.extend(found.map(|(number, known)| (number, known.text.replacen(from, to, 1))));
    }
    if changed.is_empty() {
        *body = NativeBody::Json(to_raw_json(MASK));
    } else {
        set_texts(body, &changed);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use switchboard_event::NativeBody;

    use super::{Replacement, native_texts, replace_text};

    fn json_body(text: &str) -> NativeBody {
        NativeBody::Json(RawValue::from_string(text.to_owned()).unwrap())
    }

    fn to_text(body: &NativeBody) -> String {
        body.to_wire().0.get().to_owned()
    }

    #[test]
    fn texts_are_found_with_their_names() {
        let body = json_body(r#"{"a":"x","b" : {"c":["y\n\"z\"",1,""]},"d\\":"\\","n":null}"#);
        let found: Vec<_> =
            native_texts(&body).into_iter().map(|text| (text.name.to_owned(), text.text.into_owned())).collect();
        let expected = [("a", "x"), ("c", "y\n\"z\""), ("c", ""), ("d\\\\", "\\")];
        assert_eq!(found, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }

    #[test]
    fn a_piece_is_replaced_and_the_rest_is_verbatim() {
        let check = |record: &str, from: &str, to: &str, expected: &str| {
            let mut body = json_body(record);
            replace_text(&mut body, &Replacement { from: from.to_owned(), to: to.to_owned() });
            assert_eq!(to_text(&body), expected);
        };
        check(
            r#"{"n": 1.50, "delta":"sec","of":"section"}"#,
            "sec",
            "***",
            r#"{"n": 1.50, "delta":"***","of":"section"}"#,
        );
        check(r#"{"delta":"a\nsec"}"#, "\nsec", "", r#"{"delta":"a"}"#);
        check(r#"{"a":"x","b":"x"}"#, "x", "\"", r#"{"a":"\"","b":"\""}"#);
        check(r#"{"other":"words"}"#, "sec", "", r#""***""#);
        let mut text = NativeBody::Text("a sec".to_owned());
        replace_text(&mut text, &Replacement { from: "sec".to_owned(), to: "***".to_owned() });
        assert_eq!(to_text(&text), "\"a ***\"");
    }
}
