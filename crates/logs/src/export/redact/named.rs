//! Values that are given a name: `NAME=value`, `"name": "value"`, `name: value`, `--name value`, `?name=value`, also within
//! text that is itself quoted. Where the name is, what stands between, how far the value goes. Whether the value is
//! secret is the judge's business.

use std::ops::Range;

/// A value so long is no password.
const LONGEST: usize = 4_096;

/// Quotation marks in text that was quoted several times have so many backslashes before them.
const MOST_BACKSLASHES: usize = 15;

/// Words before what lets somebody in.
const SCHEMES: &[&str] = &["bearer", "basic", "digest", "token", "apikey"];

/// How a value is given its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
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

/// A value and its name.
#[derive(Debug)]
pub struct Named<'a> {
    pub key: &'a str,
    pub value: &'a str,
    pub way: Way,
    /// It stands in quotation marks.
    pub quoted: bool,
    /// What comes behind it.
    pub after: &'a str,
}

/// The value that a name with this word in it is given, and where it is.
pub fn named(text: &str, word: Range<usize>) -> Option<(Range<usize>, Named<'_>)> {
    let name = name(text, word);
    let (way, start) = between(text, &name)?;
    let (quoted, place) = match quote(text, start) {
        Some((mark, depth, begin)) => (true, quoted(text, mark, depth, begin)?),
        None => (false, word_at(text, start, way)),
    };
    let part = |place: Range<usize>| text.get(place).unwrap_or_default();
    let after = part(place.end..text.len());
    Some((place.clone(), Named { key: part(name), value: part(place), way, quoted, after }))
}

/// The name of a header with this word in it, and where its value begins.
pub fn header(text: &str, word: Range<usize>) -> Option<(&str, usize)> {
    let name = name(text, word);
    let (_, start) = between(text, &name)?;
    let start = quote(text, start).map_or(start, |(_, _, begin)| begin);
    Some((text.get(name)?, start))
}

/// The whole name around a word of it.
fn name(text: &str, word: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let is_left = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let is_right = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let before = bytes.get(..word.start).unwrap_or_default().iter().rev().take_while(|byte| is_left(byte)).count();
    let behind = bytes.get(word.end..).unwrap_or_default().iter().take_while(|byte| is_right(byte)).count();
    word.start - before..word.end + behind
}

/// How a name is given a value, and where that begins.
fn between(text: &str, name: &Range<usize>) -> Option<(Way, usize)> {
    let (bytes, key) = (text.as_bytes(), text.get(name.clone())?);
    // The name's own quotation mark, and a bracket: `env["NAME"] = …`.
    let mut at = name.end + run(bytes, name.end, b"\\").min(MOST_BACKSLASHES);
    at += usize::from(matches!(bytes.get(at), Some(b'"' | b'\'')));
    at += usize::from(matches!(bytes.get(at), Some(b']')));
    let blanks = run(bytes, at, b" \t");
    let signs = at + blanks;
    let many = run(bytes, signs, b":=>");
    let value = signs + many;
    let value = value + run(bytes, value, b" \t");
    let before = name.start.checked_sub(1).and_then(|before| bytes.get(before));
    let way = match bytes.get(signs..signs + many)? {
        b"" if key.starts_with("--") && blanks > 0 => Way::Option,
        b"=" if key.starts_with("--") => Way::Given,
        b"=" if matches!(before, Some(b'?' | b'&')) => Way::Query,
        b"=" if value == at + 1 && is_capital(key) => Way::Set,
        b"=" if value == at + 1 => Way::Tight,
        b"=" | b":=" => Way::Loose,
        b":" => Way::Colon,
        b"==" | b"===" | b"=>" => Way::Compared,
        _ => return None,
    };
    Some((way, value))
}

/// How many of these bytes stand here.
fn run(bytes: &[u8], at: usize, of: &[u8]) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|byte| of.contains(byte)).count()
}

/// As names of variables of an environment are.
fn is_capital(name: &str) -> bool {
    let name = name.trim_start_matches(['.', '-']);
    // Behind an escape, as in `\nNAME=`, the name seems to begin with a small letter.
    let name = name.strip_prefix(['n', 'r', 't']).unwrap_or(name);
    !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// The quotation mark that stands here, how many backslashes are before it, and where it ends.
fn quote(text: &str, at: usize) -> Option<(u8, usize, usize)> {
    let bytes = text.as_bytes();
    let depth = run(bytes, at, b"\\");
    let mark = *bytes.get(at + depth).filter(|mark| b"\"'`".contains(mark))?;
    (depth <= MOST_BACKSLASHES).then_some((mark, depth, at + depth + 1))
}

/// What stands in quotation marks: up to the next such mark that is not escaped more often. Nothing if the line ends
/// before.
fn quoted(text: &str, mark: u8, depth: usize, begin: usize) -> Option<Range<usize>> {
    let mut escapes = 0;
    for (at, byte) in text.bytes().enumerate().skip(begin).take(LONGEST) {
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

/// A value without quotation marks.
fn word_at(text: &str, start: usize, way: Way) -> Range<usize> {
    let begin = start + scheme(text, start);
    let bytes = text.as_bytes();
    let ends = |at: usize, byte: u8| match byte {
        b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>' | b'(' | b')' => true,
        b'&' | b'#' if way == Way::Query => true,
        // A password may have these in it; what parts it from something else has a blank behind it, or is doubled.
        b'&' => is_apart(bytes, at),
        b',' | b';' | b'|' | b'{' | b'}' | b'[' | b']' => !matches!(way, Way::Set | Way::Given) || is_apart(bytes, at),
        _ => byte.is_ascii_whitespace(),
    };
    let end = text.bytes().enumerate().skip(begin).find(|(at, byte)| ends(*at, *byte));
    begin..end.map_or(text.len(), |(at, _)| at)
}

fn is_apart(bytes: &[u8], at: usize) -> bool {
    let next = at.checked_add(1).and_then(|next| bytes.get(next));
    next.is_none_or(|next| next.is_ascii_whitespace() || b"\"'`\\".contains(next) || Some(next) == bytes.get(at))
}

/// The length of what says how somebody is let in: `Bearer `.
fn scheme(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let Some(word) = rest.split([' ', '\t']).next().filter(|word| word.len() < rest.len()) else { return 0 };
    let is_scheme = SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme));
    if is_scheme { word.len() + run(rest.as_bytes(), word.len(), b" \t") } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{Way, named};

    #[test]
    fn a_value_is_found_with_its_name() {
        for (text, way, value) in [
            ("TOKEN=a&b,c;d", Way::Set, "a&b,c;d"),
            ("TOKEN=abc; ls", Way::Set, "abc"),
            ("TOKEN=abc&&ls", Way::Set, "abc"),
            ("export TOKEN='a b'", Way::Set, "a b"),
            (r"x\nTOKEN=abc\nY=1", Way::Set, "abc"),
            ("x?token=abc&y=1", Way::Query, "abc"),
            ("f(token=abc, y=1)", Way::Tight, "abc"),
            ("token := abc", Way::Loose, "abc"),
            ("env[\"token\"] = \"abc\"", Way::Loose, "abc"),
            ("run --token abc x", Way::Option, "abc"),
            ("run --token=abc x", Way::Given, "abc"),
            ("token: Bearer abc", Way::Colon, "abc"),
            (r#"{\"token\": \"a,b\", \"c\": 1}"#, Way::Colon, "a,b"),
            (r#"{"token":"a\"b"}"#, Way::Colon, r#"a\"b"#),
            (r#"\\\"token\\\":\\\"a\\\""#, Way::Colon, "a"),
            ("token == 'abc'", Way::Compared, "abc"),
        ] {
            let at = text.to_lowercase().find("token").unwrap();
            let (place, found) = named(text, at..at + 5).unwrap();
            assert_eq!((found.way, found.value, text.get(place)), (way, value, Some(value)), "{text}");
        }
        for text in ["token::abc", "the token is", "token", "token: \"abc\n\""] {
            let at = text.find("token").unwrap();
            assert!(named(text, at..at + 5).is_none(), "{text}");
        }
    }
}
