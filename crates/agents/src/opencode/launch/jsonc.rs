//! JSON with comments and trailing commas, as allowed in OpenCode's configuration files.

use serde_json::Value;

/// Parses the text after removing comments and trailing commas.
pub fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(&bare(text)).ok()
}

/// Removes comments and trailing commas.
pub fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => {
                out.push(c);
                string(&mut rest, &mut out);
            }
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                rest.next();
                comment(&mut rest);
            }
            (']' | '}', _) => {
                out.truncate(without_comma(&out));
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

fn string(rest: &mut impl Iterator<Item = char>, out: &mut String) {
    while let Some(c) = rest.next() {
        out.push(c);
        match c {
            '"' => return,
            '\\' => out.extend(rest.next()),
            _ => {}
        }
    }
}

fn comment(rest: &mut impl Iterator<Item = char>) {
    let mut last = ' ';
    for c in rest {
        if (last, c) == ('*', '/') {
            return;
        }
        last = c;
    }
}

/// Returns the length of the text without a trailing comma.
fn without_comma(text: &str) -> usize {
    let trimmed = text.trim_end();
    trimmed.strip_suffix(',').map_or(text.len(), str::len)
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::parse;

    #[test]
    fn comments_and_trailing_commas_are_left_out() {
        let text = r#"{ // why
            "a": "// no comment, /* nor this */ \" ,}", /* one
            and another */ "b": [1, 2, ], "c": {"d": null,},
        }"#;
        let expected = json!({ "a": "// no comment, /* nor this */ \" ,}", "b": [1, 2], "c": { "d": null } });
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("\u{feff}{}"), Some(json!({})));
    }

    #[test]
    fn what_is_not_json_is_nothing() {
        for text in ["", "{", "{\"a\": \"", "{\"a\" /* ", "{,,}", "a"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
