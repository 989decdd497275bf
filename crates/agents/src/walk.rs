//! Walks through JSON once, from beginning to end, and validates it on the way. The caller takes the values that matter
//! and skips the rest, so that a record is examined once, at any depth.

use crate::split;

/// A position in a text. At a syntax error the walk ends, and [`Self::is_over`] is never true.
pub struct JsonWalker<'a> {
    text: &'a str,
    at: usize,
    broken: bool,
}

impl<'a> JsonWalker<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, broken: false }
    }

    /// Returns whether all of the text was JSON, and the walk is at its end.
    pub fn is_complete(&mut self) -> bool {
        self.skip_whitespace();
        !self.broken && self.at == self.text.len()
    }

    /// Returns whether the next value begins with this byte.
    pub fn starts_with(&mut self, first: u8) -> bool {
        self.skip_whitespace();
        self.peek_byte() == Some(first)
    }

    /// Skips the next value and returns it.
    pub fn take_value(&mut self) -> &'a str {
        self.skip_whitespace();
        let from = self.at;
        self.skip_value();
        self.text_since(from)
    }

    /// Walks through an object: `each` gets every key as written, without its quotes, and may consume its value;
    /// otherwise the value is skipped. Returns the object, or the value that is here instead.
    pub fn walk_object(&mut self, mut each: impl FnMut(&'a str, &mut Self)) -> &'a str {
        if !self.starts_with(b'{') {
            return self.take_value();
        }
        let from = self.at;
        self.at += 1;
        if !self.take_closing_bracket(b'}') {
            loop {
                let key = self.take_key();
                let before = self.at;
                each(key, self);
                if self.at == before {
                    self.skip_value();
                }
                if !self.take_comma(b'}') {
                    break;
                }
            }
        }
        self.text_since(from)
    }

    /// Walks through an array, element by element, like [`Self::object`].
    pub fn walk_array(&mut self, mut each: impl FnMut(&mut Self)) -> &'a str {
        if !self.starts_with(b'[') {
            return self.take_value();
        }
        let from = self.at;
        self.at += 1;
        if !self.take_closing_bracket(b']') {
            loop {
                let before = self.at;
                each(self);
                if self.at == before {
                    self.skip_value();
                }
                if !self.take_comma(b']') {
                    break;
                }
            }
        }
        self.text_since(from)
    }

    fn skip_value(&mut self) {
        let mut open = BracketStack::default();
        loop {
            self.skip_whitespace();
            match self.peek_byte() {
                Some(b'"') => self.skip_string(),
                Some(b'{') => {
                    self.at += 1;
                    if !self.take_closing_bracket(b'}') {
                        open.push(true);
                        self.take_key();
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    if !self.take_closing_bracket(b']') {
                        open.push(false);
                        continue;
                    }
                }
                _ => self.skip_scalar(),
            }
            // A value is over, and possibly the brackets around it.
            loop {
                let Some(is_object) = open.last() else { return };
                if self.take_comma(if is_object { b'}' } else { b']' }) {
                    if is_object {
                        self.take_key();
                    }
                    break;
                }
                open.pop();
            }
        }
    }

    /// Consumes a closing bracket directly after the opening one.
    fn take_closing_bracket(&mut self, bracket: u8) -> bool {
        self.skip_whitespace();
        let closes = self.peek_byte() == Some(bracket);
        self.at += usize::from(closes);
        closes
    }

    /// Consumes the comma after a value, or else the closing bracket; returns whether another value follows.
    fn take_comma(&mut self, bracket: u8) -> bool {
        self.skip_whitespace();
        match self.peek_byte() {
            Some(b',') => {
                self.at += 1;
                true
            }
            Some(byte) if byte == bracket => {
                self.at += 1;
                false
            }
            _ => {
                self.mark_invalid();
                false
            }
        }
    }

    /// Consumes a key and the colon after it, and returns it without its quotes.
    fn take_key(&mut self) -> &'a str {
        self.skip_whitespace();
        if self.peek_byte() != Some(b'"') {
            self.mark_invalid();
            return "";
        }
        let from = self.at + 1;
        self.skip_string();
        let key = self.text.get(from..self.at.saturating_sub(1)).unwrap_or_default();
        self.skip_whitespace();
        match self.peek_byte() {
            Some(b':') => self.at += 1,
            _ => self.mark_invalid(),
        }
        key
    }

    fn skip_string(&mut self) {
        match split::plain_string_end(self.text.as_bytes(), self.at + 1) {
            Some(end) => self.at = end,
            None => self.mark_invalid(),
        }
    }

    /// Skips a number, `true`, `false` or `null`.
    fn skip_scalar(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let length = match rest {
            [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..] => 4,
            [b'f', b'a', b'l', b's', b'e', ..] => 5,
            _ => number_length(rest),
        };
        match length {
            0 => self.mark_invalid(),
            length => self.at += length,
        }
    }

    fn skip_whitespace(&mut self) {
        while matches!(self.peek_byte(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek_byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn text_since(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// Ends the walk at a syntax error.
    fn mark_invalid(&mut self) {
        self.broken = true;
        self.at = self.text.len();
    }
}

/// Returns the length of the number that the bytes begin with.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len())
    };
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    match (bytes.get(at), digits(at)) {
        (_, 0) => return 0,
        // No digit may follow a leading zero.
        (Some(b'0'), _) => at += 1,
        (_, more) => at += more,
    }
    if bytes.get(at) == Some(&b'.') {
        match digits(at + 1) {
            0 => return 0,
            more => at += 1 + more,
        }
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        match digits(at) {
            0 => return 0,
            more => at += more,
        }
    }
    at
}

/// A stack of open brackets; the last 64 need no allocation.
#[derive(Default)]
struct BracketStack {
    /// One bit each, the last one lowest: set for an object.
    last: u64,
    count: u32,
    before: Vec<u64>,
}

impl BracketStack {
    fn push(&mut self, is_object: bool) {
        if self.count > 0 && self.count.is_multiple_of(u64::BITS) {
            self.before.push(self.last);
        }
        self.last = self.last << 1 | u64::from(is_object);
        self.count += 1;
    }

    fn last(&self) -> Option<bool> {
        (self.count > 0).then_some(self.last & 1 == 1)
    }

    fn pop(&mut self) {
        self.count -= 1;
        self.last >>= 1;
        if self.count > 0 && self.count.is_multiple_of(u64::BITS) {
            self.last = self.before.pop().unwrap_or_default();
        }
    }
}

#[cfg(test)]
pub mod tests {

    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::JsonWalker;

    fn parse_whole(text: &str) -> Option<&str> {
        let mut walk = JsonWalker::new(text);
        let value = walk.take_value();
        walk.is_complete().then_some(value)
    }

    fn check_against_serde(text: &str) {
        let expected = serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get);
        assert_eq!(parse_whole(text), expected, "{text}");
    }

    #[test]
    fn nothing_is_no_json() {
        check_against_serde("");
        check_against_serde("\u{feff}{}");
    }

    #[test]
    fn what_is_json_and_what_is_not() {
        for text in [
            " ",
            "{}",
            "[]",
            " [ ] ",
            "{ }",
            "[1,]",
            "[,1]",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{\"a\":}",
            "{a:1}",
            "[1 2]",
            "[}",
            "{]",
            "[[]",
            "[]]",
            "{} {}",
            "{}x",
            "null",
            "nul",
            "nulll",
            "true",
            "tru",
            "false",
            "-",
            "-1",
            "-01",
            "01",
            "1.",
            "1.5",
            ".5",
            "1e",
            "1e+",
            "1e+5",
            "1E-5",
            "0",
            "0.0",
            "-0",
            "+1",
            "1.5.5",
            "NaN",
            "\"",
            "\"a",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\ud800\"",
            "\"\\/\\b\\f\\n\\r\\t\"",
            "\"a\tb\"",
            "\"a\u{7f}é😀\"",
            "\"0123456789abcde\\n0123456789abcdef\"",
            "\"0123456789abcdef0123456789\nabcdef\"",
            "{\"a\":[1,{\"b\":[]}],\"c\":{\"d\":null}}",
            "{\"a\":[1,{\"b\":[}],\"c\":{\"d\":null}}",
        ] {
            check_against_serde(text);
        }
    }

    #[test]
    fn brackets_may_be_as_deep_as_they_like() {
        for depth in [63, 64, 65, 127, 128, 129, 5000] {
            let (open, close) = ("[{\"a\":".repeat(depth), "}]".repeat(depth));
            check_against_serde(&format!("{open}1{close}"));
            check_against_serde(&format!("{open}1{}", "]}".repeat(depth)));
            check_against_serde(&format!("{open}1{}", "}]".repeat(depth - 1)));
        }
    }

    #[test]
    fn takes_what_is_asked_for_and_moves_over_the_rest() {
        let text = r#" {"a":1 , "b" : {"c":[ 2, {"d":3} ],"e":"x"}, "f":[], "g":{} } "#;
        let mut walk = JsonWalker::new(text);
        let (mut keys, mut elements, mut found) = (Vec::new(), Vec::new(), Vec::new());
        walk.walk_object(|key, walk| {
            keys.push(key);
            match key {
                "b" => {
                    found.push(walk.walk_object(|key, walk| {
                        if key == "c" {
                            collect_elements(walk, &mut elements);
                        }
                    }));
                }
                "f" => found.push(walk.walk_array(|_| {})),
                "g" => found.push(walk.walk_object(|_, _| {})),
                _ => {}
            }
        });
        assert!(walk.is_complete());
        assert_eq!(keys, ["a", "b", "f", "g"]);
        assert_eq!(elements, ["2", r#"{"d":3}"#]);
        assert_eq!(found, [r#"{"c":[ 2, {"d":3} ],"e":"x"}"#, "[]", "{}"]);
    }

    fn collect_elements<'a>(walk: &mut JsonWalker<'a>, elements: &mut Vec<&'a str>) {
        walk.walk_array(|walk| elements.push(walk.take_value()));
    }

    #[test]
    fn what_is_something_else_is_moved_over() {
        let mut walk = JsonWalker::new("[1,{\"a\":2}]");
        assert_eq!(walk.walk_object(|_, _| panic!("it is no object")), "[1,{\"a\":2}]");
        assert!(walk.is_complete());
    }

    /// A strategy for any JSON.
    pub fn any_json() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
            "[a-z \\n\"\\\\]{20,60}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(".*", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_a_parser(value in any_json(), pretty: bool) {
            check_against_serde(&if pretty { format!("{value:#}") } else { value.to_string() });
        }

        /// One character is removed, doubled or replaced: most results are no longer JSON, some are.
        #[test]
        fn agrees_with_a_parser_on_what_is_torn(value in any_json(), place: prop::sample::Index, how in 0..4, with in "[\\[\\]{}:,\"\\\\0-9a-fu.eE+ \n-]") {
            let text = value.to_string();
            let at = text.char_indices().nth(place.index(text.chars().count())).unwrap().0;
            let (before, after) = text.split_at(at);
            let rest: String = after.chars().skip(1).collect();
            check_against_serde(&match how {
                0 => format!("{before}{rest}"),
                1 => format!("{before}{with}{after}"),
                2 => format!("{before}{with}{rest}"),
                _ => before.to_owned(),
            });
        }
    }
}
