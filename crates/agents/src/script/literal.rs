//! Literals for texts that a line cannot contain directly: with line breaks, with control characters, or very long.
//! JSON strings in sequence, each with an optional repetition count: `"ab" * 3 "\n"`.

use serde_json::Deserializer;

/// Maximum size of a literal.
const LARGEST: usize = 16 << 20;

/// Parses a literal. Returns its text and the rest of the line.
pub fn literal(text: &str) -> Option<(String, &str)> {
    let (mut whole, mut rest) = piece(text)?;
    while let Some((more, after)) = piece(rest) {
        whole.push_str(&more);
        rest = after;
    }
    (whole.len() <= LARGEST).then_some((whole, rest))
}

/// Parses one string and its repetition count.
fn piece(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    if !text.starts_with('"') {
        return None;
    }
    let mut strings = Deserializer::from_str(text).into_iter::<String>();
    let string = strings.next()?.ok()?;
    let rest = text.get(strings.byte_offset()..)?.trim_start();
    let Some(times) = rest.strip_prefix('*') else { return Some((string, rest)) };
    let times = times.trim_start();
    let end = times.find(|c: char| !c.is_ascii_digit()).unwrap_or(times.len());
    let (digits, rest) = times.split_at_checked(end)?;
    let times: usize = digits.parse().ok()?;
    (string.len().checked_mul(times)? <= LARGEST).then(|| (string.repeat(times), rest.trim_start()))
}

#[cfg(test)]
mod tests {

    use super::literal;

    #[test]
    fn literals_are_read() {
        let read = |text| literal(text).map(|(text, rest)| (text, rest.to_owned()));
        let is = |text: &str, rest: &str| Some((text.to_owned(), rest.to_owned()));
        assert_eq!(read(r#""a\nb""#), is("a\nb", ""));
        assert_eq!(read(r#" "ab" * 3 "\u001b" exit 1"#), is("ababab\u{1b}", "exit 1"));
        assert_eq!(read(r#""a"*2"b""#), is("aab", ""));
        for wrong in ["", "words", "\"open", "\"a\" * x", "\"a\" * 999999999999", "\"ab\" * 16000000 \"ab\" * 16000000"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
