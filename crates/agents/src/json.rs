//! Lenient views of JSON: a record is looked at, never converted. A field that is missing, `null` or of another
//! type than expected is simply not there, so no native record can make a reader fail; text that serde_json
//! refuses elsewhere (lone surrogates, deep nesting, duplicate keys) can be looked at like any other.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, de::Visitor};
use serde_json::value::RawValue;

use crate::{
    plain,
    split::{elements, escaped, fields},
    walk::Walk,
};

/// One JSON value, verbatim. Its text is known to be valid JSON.
#[derive(Clone, Copy)]
pub struct Json<'a>(&'a str);

impl<'a> Json<'a> {
    /// Looks at a text, if it is JSON.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut walk = Walk::new(text);
        let value = walk.value();
        walk.is_over().then_some(Self(value))
    }

    /// The text with 0 for what fields of these names hold, as deep as records have any; nothing if it is not JSON.
    #[must_use]
    pub fn shortened(text: &str, names: &[&str]) -> Option<String> {
        let (mut walk, mut short) = (Walk::new(text), String::new());
        shorten(&mut walk, names, DEEPEST, &mut short);
        walk.is_over().then_some(short)
    }

    /// Looks at a value that is known to be JSON.
    #[must_use]
    pub fn of(raw: &'a RawValue) -> Self {
        Self(raw.get())
    }

    /// Looks at a part of what is known to be JSON.
    pub(crate) fn known(part: &'a str) -> Self {
        Self(part)
    }

    /// The value as it was written, to keep.
    #[must_use]
    pub fn to_raw(self) -> Box<RawValue> {
        RawValue::from_string(self.0.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    /// The text as it was written.
    #[must_use]
    pub fn text(self) -> &'a str {
        self.0
    }

    /// Its fields; none if it is not an object.
    #[must_use]
    pub fn object(self) -> Object<'a> {
        if !self.is_object() {
            return Object::default();
        }
        let mut object = Object(Vec::with_capacity(8));
        for (key, value) in fields(self.0) {
            object.0.push((Json(key).str().unwrap_or_default(), value));
        }
        object
    }

    /// Its elements; none if it is not an array.
    #[must_use]
    pub fn array(self) -> Vec<Self> {
        elements(self.0).map(Self).collect()
    }

    /// Its text, if it is a string. Half of a surrogate pair becomes U+FFFD.
    #[must_use]
    pub fn str(self) -> Option<Cow<'a, str>> {
        let inner = self.0.get(1..self.0.len().checked_sub(1)?).filter(|_| self.0.starts_with('"'))?;
        if !escaped(inner.as_bytes()) {
            return Some(Cow::Borrowed(inner));
        }
        let mut text = String::with_capacity(inner.len());
        match unescape(inner, &mut text) {
            true => {
                // Where everything is escaped, most of that room is not used.
                text.shrink_to(text.len() * 2);
                Some(Cow::Owned(text))
            }
            false => serde_json::from_str::<Lossy>(self.text()).ok().map(|lossy| Cow::Owned(lossy.0)),
        }
    }

    /// Adds its text to another, if it is a string: what [`Self::str`] gives, without a copy in between.
    pub fn append_to(self, out: &mut String) {
        let Some(inner) = self.0.get(1..self.0.len().saturating_sub(1)).filter(|_| self.0.starts_with('"')) else {
            return;
        };
        let start = out.len();
        if !unescape(inner, out) {
            out.truncate(start);
            out.push_str(&self.str().unwrap_or_default());
        }
    }

    /// Its value, if it is a whole number that is not negative.
    #[must_use]
    pub fn u64(self) -> Option<u64> {
        self.text().parse().ok().or_else(|| self.f64().filter(|f| *f >= 0.0 && f.fract() == 0.0).map(saturate))
    }

    /// Its value, if it is a whole number.
    #[must_use]
    pub fn i64(self) -> Option<i64> {
        self.text().parse().ok()
    }

    /// Its value, if it is a number.
    #[must_use]
    pub fn f64(self) -> Option<f64> {
        let first = self.text().bytes().next()?;
        (first == b'-' || first.is_ascii_digit())
            .then(|| self.text().parse().ok())
            .flatten()
            .filter(|f: &f64| f.is_finite())
    }

    /// Its value, if it is `true` or `false`.
    #[must_use]
    pub fn bool(self) -> Option<bool> {
        self.text().parse().ok()
    }

    /// It is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.text() == "null"
    }

    /// It is an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        self.text().starts_with('{')
    }

    /// The text of a string, the JSON of anything else: for showing.
    #[must_use]
    pub fn display(self) -> Cow<'a, str> {
        self.str().unwrap_or(Cow::Borrowed(self.text()))
    }
}

/// How deep a record is shortened.
const DEEPEST: usize = 8;

/// Writes the value that a walk is at, without what is long.
fn shorten(walk: &mut Walk<'_>, long: &[&str], depth: usize, short: &mut String) {
    if depth > 0 && walk.is(b'{') {
        let mut next = '{';
        walk.object(|key, walk| {
            short.push(std::mem::replace(&mut next, ','));
            short.extend(["\"", key, "\":"]);
            match long.contains(&key) {
                true => short.push_str(if walk.value() == "null" { "null" } else { "0" }),
                false => shorten(walk, long, depth - 1, short),
            }
        });
        short.push_str(if next == '{' { "{}" } else { "}" });
    } else if depth > 0 && walk.is(b'[') {
        let mut next = '[';
        walk.array(|walk| {
            short.push(std::mem::replace(&mut next, ','));
            shorten(walk, long, depth - 1, short);
        });
        short.push_str(if next == '[' { "[]" } else { "]" });
    } else {
        short.push_str(walk.value());
    }
}

/// Writes the text of a JSON string; false where it takes a closer look: at half of a surrogate pair, or at what is none.
fn unescape(inner: &str, out: &mut String) -> bool {
    let (bytes, mut from) = (inner.as_bytes(), 0);
    loop {
        let at = plain::end(bytes, from);
        out.push_str(inner.get(from..at).unwrap_or_default());
        match bytes.get(at) {
            Some(b'\\') => {}
            Some(_) => return false,
            None => return true,
        }
        from = at + 2;
        match bytes.get(at + 1) {
            Some(b'n') => out.push('\n'),
            Some(b't') => out.push('\t'),
            Some(b'r') => out.push('\r'),
            Some(b'b') => out.push('\u{8}'),
            Some(b'f') => out.push('\u{c}'),
            Some(same @ (b'"' | b'\\' | b'/')) => out.push(char::from(*same)),
            Some(b'u') => match unit(inner, from).and_then(|first| whole(first, inner, &mut from)) {
                Some(char) => out.push(char),
                None => return false,
            },
            _ => return false,
        }
    }
}

/// The four digits of an escape.
fn unit(inner: &str, at: usize) -> Option<u32> {
    let digits = inner.get(at..at + 4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

/// The character of one escape, or of the two that make a pair.
fn whole(first: u32, inner: &str, from: &mut usize) -> Option<char> {
    *from += 4;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    inner.get(*from..*from + 2).filter(|begin| *begin == "\\u")?;
    let second = unit(inner, *from + 2).filter(|second| (0xdc00..0xe000).contains(second))?;
    *from += 6;
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate, and that is wanted")]
fn saturate(number: f64) -> u64 {
    number as u64
}

/// The fields of a JSON object, in their order, duplicates included.
#[derive(Default)]
pub struct Object<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Object<'a> {
    /// Adds a field: its key as it is written, without its quotes, and the JSON of its value.
    pub(crate) fn push(&mut self, key: &'a str, value: &'a str) {
        let key = match escaped(key.as_bytes()) {
            true => Cow::Owned(Json(&format!("\"{key}\"")).str().unwrap_or_default().into_owned()),
            false => Cow::Borrowed(key),
        };
        self.0.push((key, value));
    }

    /// A field that is there and not `null`. Of duplicates, the first.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Json<'a>> {
        self.0.iter().find(|(k, v)| k == key && *v != "null").map(|(_, v)| Json(v))
    }

    /// The field is there, be it `null`.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(k, _)| k == key)
    }

    /// There are no fields, or it was no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All fields in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Json<'a>)> {
        self.0.iter().map(|(k, v)| (k.as_ref(), Json(v)))
    }

    /// A field's text.
    #[must_use]
    pub fn str(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.str()
    }

    /// A field's text, to keep.
    #[must_use]
    pub fn string(&self, key: &str) -> Option<String> {
        self.str(key).map(Cow::into_owned)
    }

    /// A field's text that is not empty, to keep.
    #[must_use]
    pub fn filled(&self, key: &str) -> Option<String> {
        self.string(key).filter(|s| !s.is_empty())
    }

    /// A field's text compared.
    #[must_use]
    pub fn is(&self, key: &str, text: &str) -> bool {
        self.str(key).is_some_and(|s| s == text)
    }

    /// A field's number.
    #[must_use]
    pub fn u64(&self, key: &str) -> Option<u64> {
        self.get(key)?.u64()
    }

    /// A field's number, 0 if it is not there.
    #[must_use]
    pub fn count(&self, key: &str) -> u64 {
        self.u64(key).unwrap_or(0)
    }

    /// A field's number as an exit code or another small integer.
    #[must_use]
    pub fn i32(&self, key: &str) -> Option<i32> {
        self.get(key)?.i64()?.try_into().ok()
    }

    /// A field's number as an HTTP status.
    #[must_use]
    pub fn status(&self, key: &str) -> Option<u16> {
        self.u64(key)?.try_into().ok()
    }

    /// A field's number.
    #[must_use]
    pub fn f64(&self, key: &str) -> Option<f64> {
        self.get(key)?.f64()
    }

    /// A field that is `true`.
    #[must_use]
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).and_then(Json::bool).unwrap_or(false)
    }

    /// The fields of a field; none if it is no object.
    #[must_use]
    pub fn object(&self, key: &str) -> Self {
        self.get(key).map(Json::object).unwrap_or_default()
    }

    /// The elements of a field; none if it is no array.
    #[must_use]
    pub fn array(&self, key: &str) -> Vec<Json<'a>> {
        self.get(key).map(Json::array).unwrap_or_default()
    }

    /// The texts of a field that is an array of strings.
    #[must_use]
    pub fn strings(&self, key: &str) -> Vec<String> {
        self.array(key).into_iter().filter_map(|v| v.str().map(Cow::into_owned)).collect()
    }

    /// A field, to keep as it was written.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<Box<RawValue>> {
        self.get(key).map(Json::to_raw)
    }
}

struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(TextOfBytes).map(|text| Self(text.into_owned()))
    }
}

/// serde_json gives strings as bytes without checking surrogates.
struct TextOfBytes;

impl<'de> Visitor<'de> for TextOfBytes {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(String::from_utf8_lossy(bytes))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Json;

    fn json(text: &str) -> Json<'_> {
        Json::parse(text).unwrap()
    }

    #[test]
    fn what_is_not_as_expected_is_not_there() {
        let object = json(r#"{"n":"7","s":7,"o":[],"a":{},"z":null,"b":"true"}"#).object();
        assert_eq!(object.u64("n"), None);
        assert_eq!(object.str("s"), None);
        assert!(object.object("o").is_empty() && object.array("a").is_empty());
        assert!(object.get("z").is_none() && object.has("z"));
        assert!(!object.is_true("b"));
    }

    #[test]
    fn what_serde_json_refuses_can_be_looked_at() {
        assert_eq!(json(r#"{"a":"x\ud800y"}"#).object().str("a").unwrap(), "x\u{fffd}\u{fffd}\u{fffd}y");
        assert_eq!(json(r#"{"\udc00":1,"b":2}"#).object().u64("b"), Some(2));
        assert_eq!(json(r#"{"id":"first","id":"second"}"#).object().str("id").unwrap(), "first");
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(json(&deep).array().len(), 1);
    }

    /// What is read, and what is appended.
    fn both(text: &str) -> [String; 2] {
        let mut out = "before ".to_owned();
        json(text).append_to(&mut out);
        let appended = out.strip_prefix("before ").unwrap().to_owned();
        [json(text).str().unwrap_or_default().into_owned(), appended]
    }

    #[test]
    fn half_of_a_pair_is_replaced() {
        for (text, expected) in [
            (r#""a\"\\\/\n\t\r\b\f\u00e9\ud83d\ude00z""#, "a\"\\/\n\t\r\u{8}\u{c}é😀z"),
            (r#""x\ud800y""#, "x\u{fffd}\u{fffd}\u{fffd}y"),
            (r#""\ud800\u0041""#, "\u{fffd}\u{fffd}\u{fffd}A"),
            (r#""\udc00\n""#, "\u{fffd}\u{fffd}\u{fffd}\n"),
            (r#""""#, ""),
            ("7", ""),
        ] {
            assert_eq!(both(text), [expected, expected], "{text}");
        }
    }

    proptest! {
        #[test]
        fn strings_are_read_as_a_parser_reads_them(string in ".*|[a\n\t\"\\\\]{0,60}") {
            let units = string.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            for text in [serde_json::to_string(&string).unwrap(), format!("\"{units}\"")] {
                prop_assert_eq!(both(&text), [string.clone(), string.clone()]);
            }
        }
    }

    #[test]
    fn what_is_long_can_be_left_out() {
        let short = |text| Json::shortened(text, &["b", "d"]);
        let long = r#" {"a":1, "b":{"a":2},"c\"":[ {"b":[]},{ }, [] , "x"],"d":null } "#;
        assert_eq!(short(long).as_deref(), Some(r#"{"a":1,"b":0,"c\"":[{"b":0},{},[],"x"],"d":null}"#));
        assert_eq!((short(" 7 ").as_deref(), short(r#"{"a":1"#)), (Some("7"), None));
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(short(&deep).as_deref(), Some(&*deep));
    }

    #[test]
    fn numbers() {
        assert_eq!(json("3.0").u64(), Some(3));
        assert_eq!(json("-3").u64(), None);
        assert_eq!(json("1e30").u64(), Some(u64::MAX));
        assert_eq!(json("-3").i64(), Some(-3));
    }
}
