//! Cookies in headers such as `Cookie: theme=dark; session=…`. Cookies that identify a user are secret; cookie
//! attributes and preferences are not.

use std::ops::Range;

use super::{judge, names};

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
    let is_telling = names::secret_kind(name).is_some() || IDENTIFYING_WORDS.iter().any(|word| lower.contains(word));
    let is_mixed = value.len() >= 8 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    !COOKIE_ATTRIBUTES.contains(&lower.as_str())
        && !judge::is_placeholder(value)
        && (is_telling && value.len() > 3 || is_mixed || judge::is_random(value))
}
