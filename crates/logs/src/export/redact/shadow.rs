//! Masks escapes in a text with spaces, preserving its length in bytes. In JSON within text, `\nKEY` is a line that
//! begins with a key; in colored output a key follows `ESC[32m`, in a URL `%3D`. Patterns that need a word boundary
//! find one in the mask.

/// Escapes of JSON, shells and programs, escaped once or repeatedly; ANSI colors; percent-encoding.
pub const ESCAPE_PATTERN: &str = concat!(
    r"(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))\[[0-9;?]*[A-Za-z]",
    r"|\\+(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[0-7]{3}|[nrtbfv])",
    r"|%[0-9A-Fa-f]{2}"
);

/// Returns the masked text, or `None` if it has no escapes.
pub fn mask_escapes(text: &str, escapes: &regex::Regex) -> Option<String> {
    memchr::memchr3(b'\\', b'\x1b', b'%', text.as_bytes())?;
    let (mut out, mut at) = (String::new(), 0);
    for found in escapes.find_iter(text) {
        out.push_str(text.get(at..found.start()).unwrap_or_default());
        out.extend(std::iter::repeat_n(' ', found.len() - 1));
        out.push(if is_line_break(found.as_str()) { '\n' } else { ' ' });
        at = found.end();
    }
    out.push_str(text.get(at..)?);
    (at > 0).then_some(out)
}

/// The next line is another command or header.
fn is_line_break(escape: &str) -> bool {
    let plain = ["n", "r", "0a", "0A", "0d", "0D", "012", "015"];
    plain.iter().any(|end| escape.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::{ESCAPE_PATTERN, mask_escapes};

    #[test]
    fn a_shadow_is_as_long_as_its_text() {
        let escapes = regex::Regex::new(ESCAPE_PATTERN).unwrap();
        for (text, shadow) in [
            (r"é\na", Some("é \na")),
            (r"a\\\\nb\tc", Some("a    \nb  c")),
            (r#"\"a\\"#, None),
            (r"\u0020a\u000ab", Some("      a     \nb")),
            ("\x1b[1;32mgreen\x1b[0m", Some("       green    ")),
            (r"\u001b[1mb", Some("         b")),
            ("a%3Db 5 % of", Some("a   b 5 % of")),
            ("plain", None),
        ] {
            assert_eq!(mask_escapes(text, &escapes).as_deref(), shadow, "{text}");
            assert!(shadow.is_none_or(|shadow| shadow.len() == text.len()));
        }
    }
}
