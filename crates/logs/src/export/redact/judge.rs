//! Whether what stands beside a telling name is a secret, or a type, a variable, a number, an example.

use super::rules::Found;

/// Names that have a telling word in them and name something else.
const OTHER_NAMES: &[&str] = &[
    "tokens",
    "tokeniz",
    "tokenis",
    "count",
    "type",
    "limit",
    "expir",
    "length",
    "size",
    "url",
    "uri",
    "endpoint",
    "path",
    "file",
    "name",
    "budget",
    "usage",
    "policy",
    "hash",
    "stream",
    "kind",
    "manager",
    "provider",
    "rotation",
    "lifetime",
    "placeholder",
    "label",
    "field",
    "prompt",
    "page",
    "cancel",
    "index",
    "version",
    "regex",
    "pattern",
    "rule",
    "scanning",
];

/// Names whose value is secret whatever it looks like.
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "pwd"];

/// Words that say that a value is secret.
const TELLING: &[&str] = &[
    "apikey",
    "api_key",
    "api-key",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "token",
    "accesskey",
    "access_key",
    "access-key",
    "privatekey",
    "private_key",
    "private-key",
    "auth_key",
    "credential",
    "authorization",
];

/// The name says that its value is secret.
pub fn is_telling(key: &str) -> bool {
    let key = key.to_lowercase();
    TELLING.iter().any(|word| key.contains(word))
}

/// It can be the end of a name, cut off, whose value comes next.
pub fn may_end_name(end: &str) -> bool {
    let word = end.trim_end_matches(['"', '\'', '\\']);
    let lower = word.to_lowercase();
    let mut names = TELLING.iter().chain(&["bearer", "basic", "digest", "sshpass", "-p", "-u", "--user", "curl"]);
    word.ends_with([':', '=']) || !word.is_empty() && names.any(|name| name.ends_with(&lower))
}

/// Values that stand for something.
const STAND_INS: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "example",
    "changeme",
    "change_me",
    "change-me",
    "redacted",
    "your",
    "todo",
    "none",
    "null",
    "undefined",
    "true",
    "false",
    "string",
    "optional",
    "required",
    "process.env",
    "os.environ",
    "env.",
    "secrets.",
    "import.meta",
];

/// It stands for a secret and is none.
pub fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let marked = value.starts_with(['$', '%', '{', '<', '[', '*', '(', '@']) || value.ends_with(['>', '}']);
    let same = value.chars().next().is_none_or(|first| value.chars().all(|c| c == first));
    let dots = value.chars().all(|c| "xX*.-_…".contains(c));
    marked || same || dots || STAND_INS.iter().any(|word| lower == *word) || begins_as_stand_in(&lower)
}

fn begins_as_stand_in(lower: &str) -> bool {
    STAND_INS.iter().any(|word| {
        let rest = lower.strip_prefix(word);
        rest.is_some_and(|rest| word.ends_with('.') || rest.starts_with(['-', '_', '.']))
    })
}

/// It looks as if nobody thought of it: long, with letters and digits.
pub fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let [lower, upper] = [u8::is_ascii_lowercase, u8::is_ascii_uppercase].map(|is| value.bytes().any(|byte| is(&byte)));
    let mixed = digits > 0 && (lower || upper);
    let long = value.len() >= 16 && mixed || value.len() >= 10 && mixed && lower && upper;
    // Letters alone can be a key too, if they are many and of both cases without being words.
    let letters = value.len() >= 24 && lower && upper && changes(value) >= 6;
    (long || letters) && !is_code(value) && !is_time(value) && !is_placeholder(value)
}

/// How often the case changes.
fn changes(value: &str) -> usize {
    let cases: Vec<bool> =
        value.bytes().filter(u8::is_ascii_alphabetic).map(|byte| byte.is_ascii_uppercase()).collect();
    cases.windows(2).filter(|pair| matches!(pair, [a, b] if a != b)).count()
}

/// A path of names, as code has them: `self.tokens.next_1`, `crate::auth::Token`, `/etc/secrets/token.txt`.
pub fn is_code(value: &str) -> bool {
    let names = |separator: &str| {
        let mut parts = value.split(separator).filter(|part| !part.is_empty());
        value.contains(separator) && parts.all(|part| part.len() < 24 && is_name(part))
    };
    names("::") || names(".") || names("/") || value.contains("()")
}

/// One or several words, with a digit at the end at most.
fn is_name(part: &str) -> bool {
    let stem = part.trim_end_matches(|c: char| c.is_ascii_digit());
    !stem.is_empty() && stem.chars().all(|c| c.is_ascii_alphabetic() || c == '_' || c == '-')
}

/// A date or a number.
fn is_time(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    digits * 2 >= value.len() && value.bytes().all(|byte| byte.is_ascii_digit() || b"-:.TZ+_".contains(&byte))
}

/// The value of a name that has a telling word in it.
pub fn is_named_secret(found: &Found<'_>) -> bool {
    let key = found.key.to_lowercase();
    if OTHER_NAMES.iter().any(|name| key.contains(name)) || is_placeholder(found.value) || is_called(found) {
        return false;
    }
    if key.ends_with("_id") || key.ends_with("-id") {
        return false;
    }
    is_random(found.value) || PASSWORDS.iter().any(|name| key.contains(name)) && is_password(found)
}

/// The password of a login: any word, if a machine was named before, else what is no word of a sentence.
pub fn is_machines_password(found: &Found<'_>) -> bool {
    !is_placeholder(found.value) && (!found.key.is_empty() || is_password(found))
}

/// A name of a function or of a type stands there, not a value.
fn is_called(found: &Found<'_>) -> bool {
    !found.quoted && found.after.starts_with(['(', '<', '[', '!', '{'])
}

/// Somebody may have thought of it.
fn is_password(found: &Found<'_>) -> bool {
    let has = |is: fn(&char) -> bool| found.value.chars().any(|c| is(&c));
    let mixed = has(char::is_ascii_digit) && has(char::is_ascii_alphabetic) && found.value.len() >= 6;
    let odd = has(|c| "!@#$%^*?~".contains(*c)) && found.value.len() >= 6;
    (found.quoted || mixed || odd) && !is_code(found.value) && !found.value.ends_with(':')
}
