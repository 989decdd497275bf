//! Classifies names by what they say about their value: a password, a key, several of them, or metadata about a secret.

use std::ops::Range;

use super::heuristics;

/// The kind of value that a name denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// Possibly chosen by a person.
    Password,
    /// Machine-generated.
    Key,
    /// Usually a number or a list: `tokens`, `secrets`.
    Several,
}

const PASSWORD_WORDS: &[&str] = &["password", "passwd", "passphrase", "passcode", "pwd", "_pass", "-pass"];

const KEY_WORDS: &[&str] = &[
    "apikey",
    "api_key",
    "api-key",
    "secret",
    "token",
    "accesskey",
    "access_key",
    "access-key",
    "privatekey",
    "private_key",
    "private-key",
    "authkey",
    "auth_key",
    "auth-key",
    "credential",
    "authorization",
];

/// Returns all words that mark a name as secret.
pub fn secret_words() -> impl Iterator<Item = &'static str> {
    PASSWORD_WORDS.iter().chain(KEY_WORDS).copied()
}

/// After a secret word: the name denotes metadata about the secret.
const METADATA_WORDS: &[&str] = &[
    "age",
    "budget",
    "cancel",
    "check",
    "column",
    "count",
    "endpoint",
    "env",
    "error",
    "expir",
    "field",
    "file",
    "format",
    "hash",
    "header",
    "index",
    "info",
    "input",
    "invalid",
    "kind",
    "label",
    "length",
    "lifetime",
    "limit",
    "manager",
    "name",
    "page",
    "path",
    "pattern",
    "placeholder",
    "policy",
    "prefix",
    "prompt",
    "provider",
    "ref",
    "regex",
    "required",
    "rotation",
    "rule",
    "scanning",
    "scope",
    "size",
    "source",
    "state",
    "status",
    "stdin",
    "store",
    "stream",
    "strength",
    "ttl",
    "type",
    "uri",
    "url",
    "usage",
    "valid",
    "version",
];

/// Before `token`: tokens of a lexer, a model or a paginated list.
const NON_SECRET_TOKEN_PREFIXES: &[&str] = &[
    "bos",
    "cancel",
    "cancellation",
    "eos",
    "input",
    "mask",
    "max",
    "min",
    "next",
    "num",
    "output",
    "pad",
    "page",
    "prev",
    "prompt",
    "sep",
    "stop",
    "total",
    "unk",
];

/// Returns what a name says about its value, or `None` if it is not a secret name.
pub fn secret_kind(name: &str) -> Option<SecretKind> {
    let lower = name.to_ascii_lowercase();
    let end_of = |word: &&str| lower.rfind(*word).map(|at| at + word.len());
    let [password, key] = [PASSWORD_WORDS, KEY_WORDS].map(|words| words.iter().filter_map(&end_of).max());
    let end = password.max(key)?;
    let (before, behind) = (lower.get(..end)?, lower.get(end..)?);
    let is_token = before.strip_suffix("token").map(|before| before.trim_end_matches(['_', '-', '.']));
    if is_token.is_some_and(|before| NON_SECRET_TOKEN_PREFIXES.iter().any(|word| before.ends_with(word)))
        || is_metadata(behind)
    {
        return None;
    }
    if is_part_of_word(name, end) {
        return is_plural(behind).then_some(SecretKind::Several);
    }
    Some(if password > key { SecretKind::Password } else { SecretKind::Key })
}

/// Returns whether the name denotes metadata about a secret.
fn is_metadata(behind: &str) -> bool {
    let behind = behind.trim_start_matches(['_', '-']);
    behind == "id" || METADATA_WORDS.iter().any(|word| behind.contains(word)) || behind.ends_with("_at")
}

/// Returns whether the word is only the beginning of another one, as in `tokenizer` and `secretary`.
fn is_part_of_word(name: &str, end: usize) -> bool {
    let (before, behind) = name.split_at_checked(end).unwrap_or((name, ""));
    let same = |is: fn(&char) -> bool| {
        before.chars().next_back().zip(behind.chars().next()).is_some_and(|(a, b)| is(&a) && is(&b))
    };
    let goes_on = same(char::is_ascii_lowercase) || same(char::is_ascii_uppercase);
    goes_on && !behind.get(..3).is_some_and(|next| next.eq_ignore_ascii_case("key"))
}

fn is_plural(behind: &str) -> bool {
    behind.strip_prefix('s').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

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

/// Words in the names of cookies that identify a user.
const IDENTIFYING_WORDS: &[&str] = &["sess", "sid", "auth", "jwt", "login", "remember", "csrf", "xsrf", "user"];

/// Attributes of `Set-Cookie`.
const COOKIE_ATTRIBUTES: &[&str] = &["path", "expires", "max-age", "domain", "samesite", "priority", "version"];

pub fn is_cookie_header(name: &str) -> bool {
    name.len() >= 6 && name.get(name.len() - 6..).is_some_and(|end| end.eq_ignore_ascii_case("cookie"))
}

/// Returns the secret cookie values from `start` to the end of the line or of the enclosing quotes.
pub fn find_cookie_secrets(text: &str, start: usize) -> Vec<Range<usize>> {
    let rest = text.get(start..).unwrap_or_default();
    let rest = rest.get(..rest.find(['\n', '\r', '"', '\'', '`', '\\']).unwrap_or(rest.len())).unwrap_or_default();
    let (mut at, mut places) = (start, Vec::new());
    for pair in rest.split_inclusive(';') {
        let whole = pair.trim_end_matches([';', ' ']);
        if let Some((name, value)) = whole.split_once('=') {
            // A cookie value ends at a space.
            let value = value.split(' ').next().unwrap_or_default();
            let begin = at + name.len() + 1;
            if is_cookie_secret(name.trim(), value) {
                places.push(begin..begin + value.len());
            }
        }
        at += pair.len();
    }
    places
}

fn is_cookie_secret(name: &str, value: &str) -> bool {
    let lower = name.to_lowercase();
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let is_telling = secret_kind(name).is_some() || IDENTIFYING_WORDS.iter().any(|word| lower.contains(word));
    let is_mixed = value.len() >= 8 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    !COOKIE_ATTRIBUTES.contains(&lower.as_str())
        && !heuristics::is_placeholder(value)
        && (is_telling && value.len() > 3 || is_mixed || heuristics::is_random(value))
}

#[cfg(test)]
mod tests {
    use super::{AssignmentStyle, SecretKind, find_named_value, secret_kind};

    #[test]
    fn names_tell_or_do_not() {
        for (names, expected) in [
            (&["PASSWORD", "dbPassword", "DB_PASS", "user_name_password", "pwd"][..], Some(SecretKind::Password)),
            (
                &[
                    "token",
                    "FOO_TOKEN",
                    "PAGE_ACCESS_TOKEN",
                    "AWS_SECRET_ACCESS_KEY",
                    "SECRET_KEY_BASE",
                    "x-api-key",
                    "secretkey",
                ],
                Some(SecretKind::Key),
            ),
            (&["tokens", "usedTokens", "TOKENS", "secrets", "credentials"], Some(SecretKind::Several)),
            (
                &[
                    "tokenizer",
                    "inputTokens",
                    "MAX_TOKENS",
                    "secretary",
                    "token_count",
                    "tokenType",
                    "max_token",
                    "nextPageToken",
                    "password_hash",
                    "secret_name",
                    "AWS_ACCESS_KEY_ID",
                    "tokenId",
                    "passwordless",
                    "compass",
                    "token_expires_at",
                    "TOKENIZER",
                ],
                None,
            ),
        ] {
            for name in names {
                assert_eq!(secret_kind(name), expected, "{name}");
            }
        }
    }

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
