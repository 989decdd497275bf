//! Texts in native records: which there are, and how one is changed without touching the rest of the record.

use std::{borrow::Cow, ops::Range};

use serde_json::value::RawValue;
use switchboard_event::{NativeBody, raw};

use super::COVER;

/// A text in a record.
#[derive(Debug, PartialEq, Eq)]
pub struct NativeText<'a> {
    /// The name that it stands under; elements of a list share the list's.
    pub name: &'a str,
    /// What it says.
    pub text: Cow<'a, str>,
    /// Where it stands in the record, with its quotes.
    place: Range<usize>,
}

/// A piece of text to be put in the place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    pub from: String,
    pub to: String,
}

/// All texts of a record, in order. A record that is not JSON is one text without a name.
pub fn texts(body: &NativeBody) -> Vec<NativeText<'_>> {
    match body {
        NativeBody::Json(json) => texts_of_json(json.get()),
        NativeBody::Text(text) => vec![NativeText { name: "", text: Cow::Borrowed(text), place: 0..text.len() }],
        NativeBody::Bytes(_) => Vec::new(),
    }
}

fn texts_of_json(json: &str) -> Vec<NativeText<'_>> {
    let (mut texts, mut name, mut at) = (Vec::new(), "", 0);
    while let Some(place) = next_string(json, at) {
        at = place.end;
        let quoted = json.get(place.clone()).unwrap_or_default();
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
        texts.push(NativeText { name, text, place });
    }
    texts
}

/// Where the next string stands, with its quotes.
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

/// Changes texts of a record, named by their number.
pub fn set_texts(body: &mut NativeBody, changed: &[(usize, String)]) {
    if changed.is_empty() {
        return;
    }
    let places: Vec<_> = texts(body).into_iter().map(|text| text.place).collect();
    match body {
        NativeBody::Text(text) => {
            if let Some((_, last)) = changed.last() {
                text.clone_from(last);
            }
        }
        NativeBody::Json(json) => {
            let mut record = json.get().to_owned();
            // From the end, so that the places before stay where they are.
            for (number, text) in changed.iter().rev() {
                if let Some(place) = places.get(*number) {
                    record.replace_range(place.clone(), raw(text).get());
                }
            }
            *json = RawValue::from_string(record).unwrap_or_else(|_| raw(COVER));
        }
        NativeBody::Bytes(_) => {}
    }
}

/// Replaces a piece of text wherever a record has it: in the texts that are nothing else, or else in the first that has
/// it in it. A record in which it cannot be found, because it says it in other words, is covered as a whole.
pub fn replace(body: &mut NativeBody, replacement: &Replacement) {
    let Replacement { from, to } = replacement;
    let known = texts(body);
    let equal = known.iter().enumerate().filter(|(_, known)| known.text == *from);
    let mut changed: Vec<_> = equal.map(|(number, _)| (number, to.clone())).collect();
    if changed.is_empty() {
        let found = known.iter().enumerate().find(|(_, known)| known.text.contains(from.as_str()));
        changed.extend(found.map(|(number, known)| (number, known.text.replacen(from, to, 1))));
    }
    if changed.is_empty() {
        *body = NativeBody::Json(raw(COVER));
    } else {
        set_texts(body, &changed);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use switchboard_event::NativeBody;

    use super::{Replacement, replace, texts};

    fn json(text: &str) -> NativeBody {
        NativeBody::Json(RawValue::from_string(text.to_owned()).unwrap())
    }

    fn shown(body: &NativeBody) -> String {
        body.to_wire().0.get().to_owned()
    }

    #[test]
    fn texts_are_found_with_their_names() {
        let body = json(r#"{"a":"x","b" : {"c":["y\n\"z\"",1,""]},"d\\":"\\","n":null}"#);
        let found: Vec<_> =
            texts(&body).into_iter().map(|text| (text.name.to_owned(), text.text.into_owned())).collect();
        let expected = [("a", "x"), ("c", "y\n\"z\""), ("c", ""), ("d\\\\", "\\")];
        assert_eq!(found, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }

    #[test]
    fn a_piece_is_replaced_and_the_rest_is_verbatim() {
        let check = |record: &str, from: &str, to: &str, expected: &str| {
            let mut body = json(record);
            replace(&mut body, &Replacement { from: from.to_owned(), to: to.to_owned() });
            assert_eq!(shown(&body), expected);
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
        replace(&mut text, &Replacement { from: "sec".to_owned(), to: "***".to_owned() });
        assert_eq!(shown(&text), "\"a ***\"");
    }
}
