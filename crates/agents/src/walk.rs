//! Goes through JSON once, from its beginning to its end, and checks on the way that it is JSON. Whoever walks takes the
//! values that matter and moves over the rest, so that a record is looked at once, however deep its parts are.

use crate::plain;

/// A way through a text. Where the text is not JSON the way ends, and [`Self::is_over`] is never true.
pub struct Walk<'a> {
    text: &'a str,
    at: usize,
    broken: bool,
}

impl<'a> Walk<'a> {
    /// At the beginning.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, broken: false }
    }

    /// All of the text was JSON, and the way is at its end.
    pub fn is_over(&mut self) -> bool {
        self.blank();
        !self.broken && self.at == self.text.len()
    }

    /// The value here begins so.
    pub fn is(&mut self, first: u8) -> bool {
        self.blank();
        self.byte() == Some(first)
    }

    /// Moves over the value here, and gives it.
    pub fn value(&mut self) -> &'a str {
        self.blank();
        let from = self.at;
        self.skip();
        self.since(from)
    }

    /// Goes through the object here: `each` is given every key as it is written, without its quotes, and is to move over
    /// its value; one that it leaves is moved over. Gives the object, or the value that is here instead.
    pub fn object(&mut self, mut each: impl FnMut(&'a str, &mut Self)) -> &'a str {
        if !self.is(b'{') {
            return self.value();
        }
        let from = self.at;
        self.at += 1;
        if !self.closes(b'}') {
            loop {
                let key = self.key();
                let before = self.at;
                each(key, self);
                if self.at == before {
                    self.skip();
                }
                if !self.goes_on(b'}') {
                    break;
                }
            }
        }
        self.since(from)
    }

    /// Goes through the array here, element by element, like [`Self::object`].
    pub fn array(&mut self, mut each: impl FnMut(&mut Self)) -> &'a str {
        if !self.is(b'[') {
            return self.value();
        }
        let from = self.at;
        self.at += 1;
        if !self.closes(b']') {
            loop {
                let before = self.at;
                each(self);
                if self.at == before {
                    self.skip();
                }
                if !self.goes_on(b']') {
                    break;
                }
            }
        }
        self.since(from)
    }

    /// Moves over the value here.
    fn skip(&mut self) {
        let mut open = Brackets::default();
        loop {
            self.blank();
            match self.byte() {
                Some(b'"') => self.string(),
                Some(b'{') => {
                    self.at += 1;
                    if !self.closes(b'}') {
                        open.push(true);
                        self.key();
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    if !self.closes(b']') {
                        open.push(false);
                        continue;
                    }
                }
                _ => self.scalar(),
            }
            // A value is over, and perhaps what it was the last one of.
            loop {
                let Some(is_object) = open.last() else { return };
                if self.goes_on(if is_object { b'}' } else { b']' }) {
                    if is_object {
                        self.key();
                    }
                    break;
                }
                open.pop();
            }
        }
    }

    /// After a bracket was opened: it is closed at once.
    fn closes(&mut self, bracket: u8) -> bool {
        self.blank();
        let closes = self.byte() == Some(bracket);
        self.at += usize::from(closes);
        closes
    }

    /// After a value: another one follows. If not, the bracket is closed.
    fn goes_on(&mut self, bracket: u8) -> bool {
        self.blank();
        match self.byte() {
            Some(b',') => {
                self.at += 1;
                true
            }
            Some(byte) if byte == bracket => {
                self.at += 1;
                false
            }
            _ => {
                self.fail();
                false
            }
        }
    }

    /// Moves over a key and the colon behind it, and gives it without its quotes.
    fn key(&mut self) -> &'a str {
        self.blank();
        if self.byte() != Some(b'"') {
            self.fail();
            return "";
        }
        let from = self.at + 1;
        self.string();
        let key = self.text.get(from..self.at.saturating_sub(1)).unwrap_or_default();
        self.blank();
        match self.byte() {
            Some(b':') => self.at += 1,
            _ => self.fail(),
        }
        key
    }

    /// Moves over the string here.
    fn string(&mut self) {
        match plain::string_end(self.text.as_bytes(), self.at + 1) {
            Some(end) => self.at = end,
            None => self.fail(),
        }
    }

    /// Moves over a number or a word.
    fn scalar(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let length = match rest {
            [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..] => 4,
            [b'f', b'a', b'l', b's', b'e', ..] => 5,
            _ => number(rest),
        };
        match length {
            0 => self.fail(),
            length => self.at += length,
        }
    }

    /// Moves over white space.
    fn blank(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn since(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// It is not JSON: there is nothing more to see.
    fn fail(&mut self) {
        self.broken = true;
        self.at = self.text.len();
    }
}

/// How long the number is that the bytes begin with.
fn number(bytes: &[u8]) -> usize {
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len())
    };
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    match (bytes.get(at), digits(at)) {
        (_, 0) => return 0,
        // What follows a zero is no digit.
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

/// Brackets that are open, the last 64 of them without memory of their own.
#[derive(Default)]
struct Brackets {
    /// One bit each, the last one lowest: an object or not.
    last: u64,
    count: u32,
    before: Vec<u64>,
}

impl Brackets {
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

    use super::Walk;

    /// What a walk takes for JSON.
    fn whole(text: &str) -> Option<&str> {
        let mut walk = Walk::new(text);
        let value = walk.value();
        walk.is_over().then_some(value)
    }

    fn check(text: &str) {
        let expected = serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get);
        assert_eq!(whole(text), expected, "{text}");
    }

    #[test]
    fn nothing_is_no_json() {
        check("");
        check("\u{feff}{}");
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
            check(text);
        }
    }

    #[test]
    fn brackets_may_be_as_deep_as_they_like() {
        for depth in [63, 64, 65, 127, 128, 129, 5000] {
            let (open, close) = ("[{\"a\":".repeat(depth), "}]".repeat(depth));
            check(&format!("{open}1{close}"));
            check(&format!("{open}1{}", "]}".repeat(depth)));
            check(&format!("{open}1{}", "}]".repeat(depth - 1)));
        }
    }

    #[test]
    fn takes_what_is_asked_for_and_moves_over_the_rest() {
        let text = r#" {"a":1 , "b" : {"c":[ 2, {"d":3} ],"e":"x"}, "f":[], "g":{} } "#;
        let mut walk = Walk::new(text);
        let (mut keys, mut elements, mut found) = (Vec::new(), Vec::new(), Vec::new());
        walk.object(|key, walk| {
            keys.push(key);
            match key {
                "b" => {
                    found.push(walk.object(|key, walk| {
                        if key == "c" {
                            found_in(walk, &mut elements);
                        }
                    }));
                }
                "f" => found.push(walk.array(|_| {})),
                "g" => found.push(walk.object(|_, _| {})),
                _ => {}
            }
        });
        assert!(walk.is_over());
        assert_eq!(keys, ["a", "b", "f", "g"]);
        assert_eq!(elements, ["2", r#"{"d":3}"#]);
        assert_eq!(found, [r#"{"c":[ 2, {"d":3} ],"e":"x"}"#, "[]", "{}"]);
    }

    fn found_in<'a>(walk: &mut Walk<'a>, elements: &mut Vec<&'a str>) {
        walk.array(|walk| elements.push(walk.value()));
    }

    #[test]
    fn what_is_something_else_is_moved_over() {
        let mut walk = Walk::new("[1,{\"a\":2}]");
        assert_eq!(walk.object(|_, _| panic!("it is no object")), "[1,{\"a\":2}]");
        assert!(walk.is_over());
    }

    /// Any JSON.
    pub fn json() -> impl Strategy<Value = serde_json::Value> {
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
        fn agrees_with_a_parser(value in json(), pretty: bool) {
            check(&if pretty { format!("{value:#}") } else { value.to_string() });
        }

        /// One character is taken away, doubled or replaced: most of what comes out is no longer JSON, some is.
        #[test]
        fn agrees_with_a_parser_on_what_is_torn(value in json(), place: prop::sample::Index, how in 0..4, with in "[\\[\\]{}:,\"\\\\0-9a-fu.eE+ \n-]") {
            let text = value.to_string();
            let at = text.char_indices().nth(place.index(text.chars().count())).unwrap().0;
            let (before, after) = text.split_at(at);
            let rest: String = after.chars().skip(1).collect();
            check(&match how {
                0 => format!("{before}{rest}"),
                1 => format!("{before}{with}{after}"),
                2 => format!("{before}{with}{rest}"),
                _ => before.to_owned(),
            });
        }
    }
}
