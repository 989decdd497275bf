//! Cookies, each with its own name: `Cookie: theme=dark; session=…`. Those that tell who somebody is are secret; what
//! says how a cookie is kept, or what somebody likes, is not.

use std::ops::Range;

use super::{judge, names};

/// Words in the names of cookies that tell who somebody is.
const TELLING: &[&str] = &["sess", "sid", "auth", "jwt", "login", "remember", "csrf", "xsrf", "user"];

/// What is said about a cookie.
const ABOUT: &[&str] = &["path", "expires", "max-age", "domain", "samesite", "priority", "version"];

/// The name is that of a header with cookies.
pub fn is_cookie(name: &str) -> bool {
    name.len() >= 6 && name.get(name.len() - 6..).is_some_and(|end| end.eq_ignore_ascii_case("cookie"))
}

/// The secret values among cookies that begin here and end with the line, or with the text that they are quoted in.
pub fn secrets(text: &str, start: usize) -> Vec<Range<usize>> {
    let rest = text.get(start..).unwrap_or_default();
    let rest = rest.get(..rest.find(['\n', '\r', '"', '\'', '`', '\\']).unwrap_or(rest.len())).unwrap_or_default();
    let (mut at, mut places) = (start, Vec::new());
    for pair in rest.split_inclusive(';') {
        let whole = pair.trim_end_matches([';', ' ']);
        if let Some((name, value)) = whole.split_once('=') {
            // What stands behind a blank is no part of it.
            let value = value.split(' ').next().unwrap_or_default();
            let begin = at + name.len() + 1;
            if is_secret(name.trim(), value) {
                places.push(begin..begin + value.len());
            }
        }
        at += pair.len();
    }
    places
}

fn is_secret(name: &str, value: &str) -> bool {
    let lower = name.to_lowercase();
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let is_telling = names::sort(name).is_some() || TELLING.iter().any(|word| lower.contains(word));
    let is_mixed = value.len() >= 8 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    !ABOUT.contains(&lower.as_str())
        && !judge::is_placeholder(value)
        && (is_telling && value.len() > 3 || is_mixed || judge::is_random(value))
}
