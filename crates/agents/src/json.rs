//! Lenient views of JSON: a record is inspected, never converted. A field that is missing, `null` or of an unexpected
//! type counts as absent, so no native record can make a reader fail; text that serde_json rejects elsewhere (lone
//! surrogates, deep nesting, duplicate keys) is accepted.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, de::Visitor};
use serde_json::value::RawValue;

use crate::{
    split::{self, has_escapes, split_elements, split_fields},
    walk::JsonWalker,
};

/// One JSON value, verbatim. Its text is known to be valid JSON.
#[derive(Clone, Copy)]
pub struct JsonView<'a>(&'a str);

impl<'a> JsonView<'a> {
    /// Parses a text; `None` if it is not JSON.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut walk = JsonWalker::new(text);
        let value = walk.take_value();
        walk.is_complete().then_some(Self(value))
    }

    /// Returns the text with 0 as the value of all fields with these names, up to the depth that records have; `None`
    /// if it is not JSON.
    #[must_use]
    pub fn shorten_fields(text: &str, names: &[&str]) -> Option<String> {
        let (mut walk, mut short) = (JsonWalker::new(text), String::new());
        write_shortened(&mut walk, names, MAX_SHORTEN_DEPTH, &mut short);
        walk.is_complete().then_some(short)
    }

    #[must_use]
    pub fn from_raw(raw: &'a RawValue) -> Self {
        Self(raw.get())
    }

    /// Wraps a part of a valid JSON text.
    pub(crate) fn from_valid_text(part: &'a str) -> Self {
        Self(part)
    }

    /// Copies the value verbatim.
    #[must_use]
    pub fn to_raw(self) -> Box<RawValue> {
        RawValue::from_string(self.0.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    /// The verbatim text.
    #[must_use]
    pub fn raw_text(self) -> &'a str {
        self.0
    }

    /// The fields; none if it is not an object.
    #[must_use]
    pub fn as_object(self) -> JsonObject<'a> {
        if !self.is_object() {
            return JsonObject::default();
        }
        let mut object = JsonObject(Vec::with_capacity(8));
        for (key, value) in split_fields(self.0) {
            object.0.push((JsonView(key).as_str().unwrap_or_default(), value));
        }
        object
    }

    /// The elements; none if it is not an array.
    #[must_use]
    pub fn as_array(self) -> Vec<Self> {
        split_elements(self.0).map(Self).collect()
    }

    /// The text of a string. Half of a surrogate pair becomes U+FFFD.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let inner = self.0.get(1..self.0.len().checked_sub(1)?).filter(|_| self.0.starts_with('"'))?;
        if !has_escapes(inner.as_bytes()) {
            return Some(Cow::Borrowed(inner));
        }
        let mut text = String::with_capacity(inner.len());
        match unescape_string(inner, &mut text) {
            true => {
                // If everything is escaped, most of that capacity is unused.
                text.shrink_to(text.len() * 2);
                Some(Cow::Owned(text))
            }
            false => serde_json::from_str::<LossyString>(self.raw_text()).ok().map(|lossy| Cow::Owned(lossy.0)),
        }
    }

    /// Appends the text of a string, as [`Self::str`] returns it, without an intermediate copy.
    pub fn append_to(self, out: &mut String) {
        let Some(inner) = self.0.get(1..self.0.len().saturating_sub(1)).filter(|_| self.0.starts_with('"')) else {
            return;
        };
        let start = out.len();
        if !unescape_string(inner, out) {
            out.truncate(start);
            out.push_str(&self.as_str().unwrap_or_default());
        }
    }

    /// The value of a non-negative integer.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        self.raw_text()
            .parse()
            .ok()
            .or_else(|| self.as_f64().filter(|f| *f >= 0.0 && f.fract() == 0.0).map(saturating_u64))
    }

    /// The value of an integer.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        self.raw_text().parse().ok()
    }

    /// The value of a number.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        let first = self.raw_text().bytes().next()?;
        (first == b'-' || first.is_ascii_digit())
            .then(|| self.raw_text().parse().ok())
            .flatten()
            .filter(|f: &f64| f.is_finite())
    }

    /// The value of `true` or `false`.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        self.raw_text().parse().ok()
    }

    #[must_use]
    pub fn is_null(self) -> bool {
        self.raw_text() == "null"
    }

    #[must_use]
    pub fn is_object(self) -> bool {
        self.raw_text().starts_with('{')
    }

    /// The text of a string, or the JSON of any other value, for display.
    #[must_use]
    pub fn display_text(self) -> Cow<'a, str> {
        self.as_str().unwrap_or(Cow::Borrowed(self.raw_text()))
    }
}

/// The depth up to which a record is shortened.
const MAX_SHORTEN_DEPTH: usize = 8;

/// Writes the value at the walker's position, without the long fields.
fn write_shortened(walk: &mut JsonWalker<'_>, long: &[&str], depth: usize, short: &mut String) {
    if depth > 0 && walk.starts_with(b'{') {
        let mut next = '{';
        walk.walk_object(|key, walk| {
            short.push(std::mem::replace(&mut next, ','));
            short.extend(["\"", key, "\":"]);
            match long.contains(&key) {
                true => short.push_str(if walk.take_value() == "null" { "null" } else { "0" }),
                false => write_shortened(walk, long, depth - 1, short),
            }
        });
        short.push_str(if next == '{' { "{}" } else { "}" });
    } else if depth > 0 && walk.starts_with(b'[') {
        let mut next = '[';
        walk.walk_array(|walk| {
            short.push(std::mem::replace(&mut next, ','));
            write_shortened(walk, long, depth - 1, short);
        });
        short.push_str(if next == '[' { "[]" } else { "]" });
    } else {
        short.push_str(walk.take_value());
    }
}

/// Writes the text of a JSON string. Returns false if it needs the slow path: half of a surrogate pair, or an invalid
/// escape.
fn unescape_string(inner: &str, out: &mut String) -> bool {
    let (bytes, mut from) = (inner.as_bytes(), 0);
    loop {
        let at = split::find_mark(bytes, from);
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
            Some(b'u') => {
                match parse_hex_unit(inner, from).and_then(|first| decode_escaped_char(first, inner, &mut from)) {
                    Some(char) => out.push(char),
                    None => return false,
                }
            }
            _ => return false,
        }
    }
}

/// Parses the four digits of an escape.
fn parse_hex_unit(inner: &str, at: usize) -> Option<u32> {
    let digits = inner.get(at..at + 4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

/// Decodes the character of one escape, or of the two that make a surrogate pair.
fn decode_escaped_char(first: u32, inner: &str, from: &mut usize) -> Option<char> {
    *from += 4;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    inner.get(*from..*from + 2).filter(|begin| *begin == "\\u")?;
    let second = parse_hex_unit(inner, *from + 2).filter(|second| (0xdc00..0xe000).contains(second))?;
    *from += 6;
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate, and that is wanted")]
fn saturating_u64(number: f64) -> u64 {
    number as u64
}

/// The fields of a JSON object in order, duplicates included.
#[derive(Default)]
pub struct JsonObject<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'a> JsonObject<'a> {
    /// Adds a field: its key as written, without its quotes, and the JSON of its value.
    pub(crate) fn push(&mut self, key: &'a str, value: &'a str) {
        let key = match has_escapes(key.as_bytes()) {
            true => Cow::Owned(JsonView(&format!("\"{key}\"")).as_str().unwrap_or_default().into_owned()),
            false => Cow::Borrowed(key),
        };
        self.0.push((key, value));
    }

    /// A field that is present and not `null`. Of duplicates, the first.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<JsonView<'a>> {
        self.0.iter().find(|(k, v)| k == key && *v != "null").map(|(_, v)| JsonView(v))
    }

    /// Returns whether the field is present, even if it is `null`.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.iter().any(|(k, _)| k == key)
    }

    /// Returns whether there are no fields, or the value was not an object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, JsonView<'a>)> {
        self.0.iter().map(|(k, v)| (k.as_ref(), JsonView(v)))
    }

    #[must_use]
    pub fn get_str(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.as_str()
    }

    #[must_use]
    pub fn get_string(&self, key: &str) -> Option<String> {
        self.get_str(key).map(Cow::into_owned)
    }

    #[must_use]
    pub fn get_non_empty(&self, key: &str) -> Option<String> {
        self.get_string(key).filter(|s| !s.is_empty())
    }

    /// Returns whether a field is this string.
    #[must_use]
    pub fn str_equals(&self, key: &str, text: &str) -> bool {
        self.get_str(key).is_some_and(|s| s == text)
    }

    #[must_use]
    pub fn get_u64(&self, key: &str) -> Option<u64> {
        self.get(key)?.as_u64()
    }

    /// A number; 0 if the field is missing.
    #[must_use]
    pub fn get_count(&self, key: &str) -> u64 {
        self.get_u64(key).unwrap_or(0)
    }

    /// A number as an exit code or another small integer.
    #[must_use]
    pub fn get_i32(&self, key: &str) -> Option<i32> {
        self.get(key)?.as_i64()?.try_into().ok()
    }

    #[must_use]
    pub fn get_http_status(&self, key: &str) -> Option<u16> {
        self.get_u64(key)?.try_into().ok()
    }

    #[must_use]
    pub fn get_f64(&self, key: &str) -> Option<f64> {
        self.get(key)?.as_f64()
    }

    /// Returns whether a field is `true`.
    #[must_use]
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).and_then(JsonView::as_bool).unwrap_or(false)
    }

    /// The fields of an object; none if the field is not one.
    #[must_use]
    pub fn get_object(&self, key: &str) -> Self {
        self.get(key).map(JsonView::as_object).unwrap_or_default()
    }

    /// The elements of an array; none if the field is not one.
    #[must_use]
    pub fn get_array(&self, key: &str) -> Vec<JsonView<'a>> {
        self.get(key).map(JsonView::as_array).unwrap_or_default()
    }

    /// The strings of an array.
    #[must_use]
    pub fn get_strings(&self, key: &str) -> Vec<String> {
        self.get_array(key).into_iter().filter_map(|v| v.as_str().map(Cow::into_owned)).collect()
    }

    #[must_use]
    pub fn get_raw(&self, key: &str) -> Option<Box<RawValue>> {
        self.get(key).map(JsonView::to_raw)
    }
}

struct LossyString(String);

impl<'de> Deserialize<'de> for LossyString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(LossyStringVisitor).map(|text| Self(text.into_owned()))
    }
}

/// serde_json passes strings as bytes without checking surrogates.
struct LossyStringVisitor;

impl<'de> Visitor<'de> for LossyStringVisitor {
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

    use super::JsonView;

    fn parse_json(text: &str) -> JsonView<'_> {
        JsonView::parse(text).unwrap()
    }

    #[test]
    fn what_is_not_as_expected_is_not_there() {
        let object = parse_json(r#"{"n":"7","s":7,"o":[],"a":{},"z":null,"b":"true"}"#).as_object();
        assert_eq!(object.get_u64("n"), None);
        assert_eq!(object.get_str("s"), None);
        assert!(object.get_object("o").is_empty() && object.get_array("a").is_empty());
        assert!(object.get("z").is_none() && object.contains_key("z"));
        assert!(!object.is_true("b"));
    }

    #[test]
    fn what_serde_json_refuses_can_be_looked_at() {
        assert_eq!(parse_json(r#"{"a":"x\ud800y"}"#).as_object().get_str("a").unwrap(), "x\u{fffd}\u{fffd}\u{fffd}y");
        assert_eq!(parse_json(r#"{"\udc00":1,"b":2}"#).as_object().get_u64("b"), Some(2));
        assert_eq!(parse_json(r#"{"id":"first","id":"second"}"#).as_object().get_str("id").unwrap(), "first");
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(parse_json(&deep).as_array().len(), 1);
    }

    /// Reads a string in both ways: as a value, and appended to another.
    fn read_and_append(text: &str) -> [String; 2] {
        let mut out = "before ".to_owned();
        parse_json(text).append_to(&mut out);
        let appended = out.strip_prefix("before ").unwrap().to_owned();
        [parse_json(text).as_str().unwrap_or_default().into_owned(), appended]
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
            assert_eq!(read_and_append(text), [expected, expected], "{text}");
        }
    }

    proptest! {
        #[test]
        fn strings_are_read_as_a_parser_reads_them(string in ".*|[a\n\t\"\\\\]{0,60}") {
            let units = string.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            for text in [serde_json::to_string(&string).unwrap(), format!("\"{units}\"")] {
                prop_assert_eq!(read_and_append(&text), [string.clone(), string.clone()]);
            }
        }
    }

    #[test]
    fn what_is_long_can_be_left_out() {
        let short = |text| JsonView::shorten_fields(text, &["b", "d"]);
        let long = r#" {"a":1, "b":{"a":2},"c\"":[ {"b":[]},{ }, [] , "x"],"d":null } "#;
        assert_eq!(short(long).as_deref(), Some(r#"{"a":1,"b":0,"c\"":[{"b":0},{},[],"x"],"d":null}"#));
        assert_eq!((short(" 7 ").as_deref(), short(r#"{"a":1"#)), (Some("7"), None));
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(short(&deep).as_deref(), Some(&*deep));
    }

    #[test]
    fn numbers() {
        assert_eq!(parse_json("3.0").as_u64(), Some(3));
        assert_eq!(parse_json("-3").as_u64(), None);
        assert_eq!(parse_json("1e30").as_u64(), Some(u64::MAX));
        assert_eq!(parse_json("-3").as_i64(), Some(-3));
    }
}
