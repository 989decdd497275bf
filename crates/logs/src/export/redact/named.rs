//! Finds values with a name: `NAME=value`, `"name": "value"`, `name: value`, `--name value`, `?name=value`, also within
//! quoted text. It locates the name, the assignment and the end of the value; whether the value is secret is decided
//! elsewhere.

use std::ops::Range;

/// Longer values are not passwords.
const MAX_VALUE_BYTES: usize = 4_096;

/// Maximum number of backslashes before a quote in text that was quoted repeatedly.
const MAX_BACKSLASHES: usize = 15;

/// HTTP authentication schemes.
const AUTH_SCHEMES: &[&str] = &["bearer", "basic", "digest", "token", "apikey"];

/// How a value is assigned to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignmentStyle {
    /// `NAME=value`, as in an environment.
    Set,
    /// `--name value`
    Option,
    /// `--name=value`
    Given,
    /// `?name=value`, `&name=value`
    Query,
    /// `name=value`
    Tight,
    /// `name = value`, `name := value`
    Loose,
    /// `name: value`
    Colon,
    /// `name == "value"`, `name => "value"`
    Compared,
}

#[derive(Debug)]
pub struct NamedValue<'a> {
    pub key: &'a str,
    pub value: &'a str,
    pub way: AssignmentStyle,
    pub quoted: bool,
    /// The text after the value.
    pub after: &'a str,
}

/// Returns the value assigned to the name that contains `word`, with its position.
pub fn find_named_value(text: &str, word: Range<usize>) -> Option<(Range<usize>, NamedValue<'_>)> {
    let name = expand_name(text, word);
    let (way, start) = find_assignment(text, &name)?;
    let (quoted, place) = match opening_quote(text, start) {
        Some((mark, depth, begin)) => (true, quoted_range(text, mark, depth, begin)?),
        None => (false, bare_range(text, start, way)),
    };
    let part = |place: Range<usize>| text.get(place).unwrap_or_default();
    let after = part(place.end..text.len());
    Some((place.clone(), NamedValue { key: part(name), value: part(place), way, quoted, after }))
}

/// Returns the header name that contains `word`, and where its value begins.
pub fn find_header(text: &str, word: Range<usize>) -> Option<(&str, usize)> {
    let name = expand_name(text, word);
    let (_, start) = find_assignment(text, &name)?;
    let start = opening_quote(text, start).map_or(start, |(_, _, begin)| begin);
    Some((text.get(name)?, start))
}

/// Extends a word to the whole name around it.
fn expand_name(text: &str, word: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let is_left = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let is_right = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let before = bytes.get(..word.start).unwrap_or_default().iter().rev().take_while(|byte| is_left(byte)).count();
    let behind = bytes.get(word.end..).unwrap_or_default().iter().take_while(|byte| is_right(byte)).count();
    word.start - before..word.end + behind
}

/// Returns how a name is assigned a value, and where the value begins.
fn find_assignment(text: &str, name: &Range<usize>) -> Option<(AssignmentStyle, usize)> {
    let (bytes, key) = (text.as_bytes(), text.get(name.clone())?);
    // The closing quote of the name, and a bracket: `env["NAME"] = …`.
    let mut at = name.end + run_length(bytes, name.end, b"\\").min(MAX_BACKSLASHES);
    at += usize::from(matches!(bytes.get(at), Some(b'"' | b'\'')));
    at += usize::from(matches!(bytes.get(at), Some(b']')));
    let blanks = run_length(bytes, at, b" \t");
    let signs = at + blanks;
    let many = run_length(bytes, signs, b":=>");
    let value = signs + many;
    let value = value + run_length(bytes, value, b" \t");
    let before = name.start.checked_sub(1).and_then(|before| bytes.get(before));
    let way = match bytes.get(signs..signs + many)? {
        b"" if key.starts_with("--") && blanks > 0 => AssignmentStyle::Option,
        b"=" if key.starts_with("--") => AssignmentStyle::Given,
        b"=" if matches!(before, Some(b'?' | b'&')) => AssignmentStyle::Query,
        b"=" if value == at + 1 && is_env_name(key) => AssignmentStyle::Set,
        b"=" if value == at + 1 => AssignmentStyle::Tight,
        b"=" | b":=" => AssignmentStyle::Loose,
        b":" => AssignmentStyle::Colon,
        b"==" | b"===" | b"=>" => AssignmentStyle::Compared,
        _ => return None,
    };
    Some((way, value))
}

/// Returns the length of the run of these bytes at `at`.
fn run_length(bytes: &[u8], at: usize, of: &[u8]) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|byte| of.contains(byte)).count()
}

/// Returns whether the name is written like an environment variable.
fn is_env_name(name: &str) -> bool {
    let name = name.trim_start_matches(['.', '-']);
    // After an escape, as in `\nNAME=`, the name appears to begin with a lowercase letter.
    let name = name.strip_prefix(['n', 'r', 't']).unwrap_or(name);
    !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Returns the quote at `at`, the number of backslashes before it, and the position after it.
fn opening_quote(text: &str, at: usize) -> Option<(u8, usize, usize)> {
    let bytes = text.as_bytes();
    let depth = run_length(bytes, at, b"\\");
    let mark = *bytes.get(at + depth).filter(|mark| b"\"'`".contains(mark))?;
    (depth <= MAX_BACKSLASHES).then_some((mark, depth, at + depth + 1))
}

/// Returns the quoted range: up to the next such quote that is not escaped more often. Returns `None` if the line ends
/// first.
fn quoted_range(text: &str, mark: u8, depth: usize, begin: usize) -> Option<Range<usize>> {
    let mut escapes = 0;
    for (at, byte) in text.bytes().enumerate().skip(begin).take(MAX_VALUE_BYTES) {
        match byte {
            b'\\' => escapes += 1,
            b'\n' => return None,
            _ if byte == mark && (escapes <= depth || depth == 0 && escapes % 2 == 0) => {
                return Some(begin..at - if depth == 0 { 0 } else { escapes });
            }
            _ => escapes = 0,
        }
    }
    None
}

fn bare_range(text: &str, start: usize, way: AssignmentStyle) -> Range<usize> {
    let begin = start + auth_scheme_len(text, start);
    let bytes = text.as_bytes();
    let ends = |at: usize, byte: u8| match byte {
        b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>' | b'(' | b')' => true,
        b'&' | b'#' if way == AssignmentStyle::Query => true,
        // Passwords may contain these characters; a separator is followed by whitespace or doubled.
        b'&' => is_separator(bytes, at),
        b',' | b';' | b'|' | b'{' | b'}' | b'[' | b']' => {
            !matches!(way, AssignmentStyle::Set | AssignmentStyle::Given) || is_separator(bytes, at)
        }
        _ => byte.is_ascii_whitespace(),
    };
    let end = text.bytes().enumerate().skip(begin).find(|(at, byte)| ends(*at, *byte));
    begin..end.map_or(text.len(), |(at, _)| at)
}

fn is_separator(bytes: &[u8], at: usize) -> bool {
    let next = at.checked_add(1).and_then(|next| bytes.get(next));
    next.is_none_or(|next| next.is_ascii_whitespace() || b"\"'`\\".contains(next) || Some(next) == bytes.get(at))
}

/// Returns the length of an authentication scheme such as `Bearer `.
fn auth_scheme_len(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let Some(word) = rest.split([' ', '\t']).next().filter(|word| word.len() < rest.len()) else { return 0 };
    let is_scheme = AUTH_SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme));
    if is_scheme { word.len() + run_length(rest.as_bytes(), word.len(), b" \t") } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{AssignmentStyle, find_named_value};

    #[test]
    fn a_value_is_found_with_its_name() {
        for (text, way, value) in [
            ("TOKEN=a&b,c;d", AssignmentStyle::Set, "a&b,c;d"),
            ("TOKEN=abc; ls", AssignmentStyle::Set, "abc"),
            ("TOKEN=abc&&ls", AssignmentStyle::Set, "abc"),
            ("export TOKEN='a b'", AssignmentStyle::Set, "a b"),
            (r"x\nTOKEN=abc\nY=1", AssignmentStyle::Set, "abc"),
            ("x?token=abc&y=1", AssignmentStyle::Query, "abc"),
            ("f(token=abc, y=1)", AssignmentStyle::Tight, "abc"),
            ("token := abc", AssignmentStyle::Loose, "abc"),
            ("env[\"token\"] = \"abc\"", AssignmentStyle::Loose, "abc"),
            ("run --token abc x", AssignmentStyle::Option, "abc"),
            ("run --token=abc x", AssignmentStyle::Given, "abc"),
            ("token: Bearer abc", AssignmentStyle::Colon, "abc"),
            (r#"{\"token\": \"a,b\", \"c\": 1}"#, AssignmentStyle::Colon, "a,b"),
            (r#"{"token":"a\"b"}"#, AssignmentStyle::Colon, r#"a\"b"#),
            (r#"\\\"token\\\":\\\"a\\\""#, AssignmentStyle::Colon, "a"),
            ("token == 'abc'", AssignmentStyle::Compared, "abc"),
        ] {
            let at = text.to_lowercase().find("token").unwrap();
            let (place, found) = find_named_value(text, at..at + 5).unwrap();
            assert_eq!((found.way, found.value, text.get(place)), (way, value, Some(value)), "{text}");
        }
        for text in ["token::abc", "the token is", "token", "token: \"abc\n\""] {
            let at = text.find("token").unwrap();
            assert!(find_named_value(text, at..at + 5).is_none(), "{text}");
        }
    }
}
