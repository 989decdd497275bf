//! The shadow of a text: as long as it to the byte, with blanks where escapes are. In JSON within text, `\nKEY` is a line
//! that begins with a key; in coloured output a key follows `ESC[32m`, in an address `%3D`. A shape that needs a boundary
//! before it finds one there.

/// JSON's escapes and those of shells and programs, escaped once or several times; colours; percent signs of addresses.
pub const ESCAPES: &str = concat!(
    r"(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))\[[0-9;?]*[A-Za-z]",
    r"|\\+(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[0-7]{3}|[nrtbfv])",
    r"|%[0-9A-Fa-f]{2}"
);

/// The shadow, if there is anything in the text that it would show.
pub fn of(text: &str, escapes: &regex::Regex) -> Option<String> {
    memchr::memchr3(b'\\', b'\x1b', b'%', text.as_bytes())?;
    let (mut out, mut at) = (String::new(), 0);
    for found in escapes.find_iter(text) {
        out.push_str(text.get(at..found.start()).unwrap_or_default());
        out.extend(std::iter::repeat_n(' ', found.len() - 1));
        out.push(if ends_line(found.as_str()) { '\n' } else { ' ' });
        at = found.end();
    }
    out.push_str(text.get(at..)?);
    (at > 0).then_some(out)
}

/// What stands on the next line is another command, another header.
fn ends_line(escape: &str) -> bool {
    let plain = ["n", "r", "0a", "0A", "0d", "0D", "012", "015"];
    plain.iter().any(|end| escape.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::{ESCAPES, of};

    #[test]
    fn a_shadow_is_as_long_as_its_text() {
        let escapes = regex::Regex::new(ESCAPES).unwrap();
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
            assert_eq!(of(text, &escapes).as_deref(), shadow, "{text}");
            assert!(shadow.is_none_or(|shadow| shadow.len() == text.len()));
        }
    }
}
