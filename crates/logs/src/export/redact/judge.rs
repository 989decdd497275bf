//! Whether what stands beside a telling name is a secret, or a type, a variable, a number, an example, a word.

use super::{
    named::{Named, Way},
    names::{self, Sort},
};

/// The name says that its value is secret.
pub fn is_telling(key: &str) -> bool {
    names::sort(key).is_some()
}

/// It can be the end of a name, cut off, whose value comes next.
pub fn may_end_name(end: &str) -> bool {
    let word = end.trim_end_matches(['"', '\'', '\\']);
    let lower = word.to_lowercase();
    let others = ["bearer", "basic", "digest", "sshpass", "-p", "-u", "--user", "curl"];
    word.ends_with([':', '=']) || !word.is_empty() && names::words().chain(others).any(|name| name.ends_with(&lower))
}

/// Values that stand for something: examples, types, and what is said of a secret in its place.
const STAND_INS: &[&str] = &[
    "access",
    "any",
    "bool",
    "boolean",
    "bytes",
    "changeme",
    "change-me",
    "change_me",
    "disabled",
    "empty",
    "enabled",
    "enter",
    "example",
    "expired",
    "false",
    "hidden",
    "incorrect",
    "inherit",
    "int",
    "integer",
    "invalid",
    "missing",
    "nil",
    "no",
    "none",
    "null",
    "number",
    "object",
    "off",
    "ok",
    "on",
    "optional",
    "passwd",
    "password",
    "redacted",
    "required",
    "secret",
    "set",
    "str",
    "string",
    "text",
    "todo",
    "token",
    "true",
    "undefined",
    "unknown",
    "unset",
    "valid",
    "value",
    "wrong",
    "yes",
    "your",
];

/// How what stands for a secret begins.
const BEGINNINGS: &[&str] = &[
    "your",
    "example",
    "redacted",
    "process.env",
    "os.environ",
    "os.getenv",
    "env.",
    "secrets.",
    "import.meta",
    "self.",
    "this.",
    "config.",
    "settings.",
];

/// It stands for a secret and is none.
pub fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let same = value.chars().next().is_none_or(|first| value.chars().all(|c| c == first));
    let dots = value.chars().all(|c| "xX*.-_…".contains(c));
    same || dots || is_reference(value) || STAND_INS.contains(&lower.as_str()) || begins_as_stand_in(&lower)
}

/// A variable, or a place where something is to be filled in: `$NAME`, `${NAME}`, `%NAME%`, `<name>`, `{name}`.
fn is_reference(value: &str) -> bool {
    let within = |open, close| value.starts_with(open) && value.ends_with(close);
    let filled = value.contains(['{', '<']) && value.ends_with(['}', '>']);
    value.starts_with('$')
        || value.starts_with("[redacted:")
        || within('[', ']')
        || within('(', ')')
        || filled
        || is_percent(value)
}

fn is_percent(value: &str) -> bool {
    value.starts_with('%') && (value.len() <= 3 || value.ends_with('%'))
}

fn begins_as_stand_in(lower: &str) -> bool {
    BEGINNINGS.iter().any(|word| {
        let rest = lower.strip_prefix(word);
        rest.is_some_and(|rest| word.ends_with('.') || rest.starts_with(['-', '_', '.', ' ', '[', '(']))
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

/// A path in the file system.
fn is_path(value: &str) -> bool {
    value.starts_with(['/', '~', '.']) && (value.len() < 3 || is_code(value))
}

/// The value of a name is secret. Values that are plainly something else are not.
pub fn is_named_secret(found: &Named<'_>) -> bool {
    let Some(sort) = names::sort(found.key) else { return false };
    if is_placeholder(found.value) || is_path(found.value) {
        return false;
    }
    match found.way {
        _ if sort == Sort::Several => is_random(found.value),
        Way::Compared => is_random(found.value) || sort == Sort::Password && is_password(found.value),
        _ if found.quoted => is_quoted_secret(found, sort),
        _ if is_called(found) => false,
        Way::Set => found.value.len() > 1,
        Way::Query => found.value.len() > 3,
        Way::Given => !is_metavariable(found.value),
        Way::Option => !is_prose(found) && !is_metavariable(found.value),
        Way::Tight | Way::Loose | Way::Colon => is_bare_secret(found, sort),
    }
}

/// The value of a name in JSON.
pub fn is_secret_string(key: &str, value: &str) -> bool {
    is_named_secret(&Named { key, value, way: Way::Colon, quoted: true, after: "" })
}

/// It can be a secret key of AWS: letters of both cases and digits. A hash of git is of the same length, and has neither.
pub fn is_aws_secret(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let is_hash = value.bytes().all(|byte| byte.is_ascii_hexdigit());
    has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && !is_hash
}

/// The password of a login: any word, if a machine was named before, else what is no word of a sentence.
pub fn is_machines_password(machine: &str, value: &str) -> bool {
    !is_placeholder(value) && (!machine.is_empty() || is_password(value))
}

/// The password that a command is given: neither a variable nor a port.
pub fn is_argument(value: &str) -> bool {
    !is_placeholder(value) && !is_time(value)
}

/// A name of a function or of a type stands there, not a value.
fn is_called(found: &Named<'_>) -> bool {
    let is_name = found.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:!&?".contains(&byte));
    is_name && found.after.starts_with(['(', '<', '[', '{'])
}

/// Somebody may have thought of it, and it is no word.
fn is_password(value: &str) -> bool {
    let has = |is: fn(&char) -> bool| value.chars().any(|c| is(&c));
    let mixed = has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
    let odd = has(|c| "!@#$%^*?~&".contains(*c)) && !value.starts_with(['&', '*', '@', '!']);
    (mixed || odd) && value.len() >= 6 && !is_code(value) && !value.ends_with(':')
}

/// What stands in quotation marks is a value, and no name of something. Keys have no blanks in them; a password may, if
/// it is no sentence about passwords.
fn is_quoted_secret(found: &Named<'_>, sort: Sort) -> bool {
    let value = found.value.trim();
    let is_told = found.key.to_ascii_lowercase().contains("authorization");
    match value.split_whitespace().count() {
        0 | 1 if sort == Sort::Password => value.len() > 2,
        0 | 1 => value.len() > 3 && !is_code(value) && !is_time(value),
        2 if is_told => value.split_whitespace().last().is_some_and(|word| word.len() > 3 && !is_placeholder(word)),
        words => (sort == Sort::Password || found.way == Way::Set) && words < 8 && !is_sentence(value),
    }
}

/// It says something about secrets.
fn is_sentence(value: &str) -> bool {
    let lower = value.to_lowercase();
    value.ends_with(['.', '?', '!', ':', '…']) || names::words().any(|word| lower.contains(word))
}

/// A value that could be a name as well: neither quotation marks nor capitals in its own name say that it is one.
fn is_bare_secret(found: &Named<'_>, sort: Sort) -> bool {
    let value = found.value;
    if is_code(value) || value.ends_with(':') || value.starts_with(['&', '*', '@', '!']) {
        return false;
    }
    if is_random(value) {
        return true;
    }
    match sort {
        Sort::Password => is_password(value) || is_number(found) || is_chosen(found),
        Sort::Key | Sort::Several => has_digits_within(value) || is_given(found),
    }
}

/// Digits can be a password, where no colon says that they count something.
fn is_number(found: &Named<'_>) -> bool {
    found.way != Way::Colon && found.value.len() > 3 && found.value.bytes().all(|byte| byte.is_ascii_digit())
}

/// A word that is a password: it ends its line, and is not named like a type or a variable.
fn is_chosen(found: &Named<'_>) -> bool {
    let is_word = found.value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_word && found.value.len() > 3 && ends(found) && !is_telling(found.value)
}

/// Letters and digits in turn, as no variable has them.
fn has_digits_within(value: &str) -> bool {
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+/=.".contains(&byte));
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    is_plain
        && value.len() > 7
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !is_name(value)
        && !is_time(value)
}

/// A word in the place of a key: in a header, or where no code would leave out the blanks.
fn is_given(found: &Named<'_>) -> bool {
    let is_header = found.key.get(..2).is_some_and(|begin| begin.eq_ignore_ascii_case("x-"));
    (is_header || found.way == Way::Tight) && found.value.len() > 7 && ends(found) && !is_telling(found.value)
}

/// Nothing follows that a value in code has behind it, and no word of a sentence.
fn ends(found: &Named<'_>) -> bool {
    match found.way {
        Way::Tight => !found.after.starts_with([',', ')', '(', '.', ';']),
        _ => {
            let next = found.after.trim_start_matches([' ', '\t', '\r']);
            next.is_empty() || next.starts_with(['\n', '\\', '"', '\'', '`', '#'])
        }
    }
}

/// A word behind an option that somebody writes about: `--token is required`.
fn is_prose(found: &Named<'_>) -> bool {
    let is_word = found.value.bytes().all(|byte| byte.is_ascii_lowercase() || b".,:!?-".contains(&byte));
    let next = found.after.trim_start_matches(' ');
    let goes_on = found.after.starts_with([' ', ',', ')', '`'])
        && next.starts_with(|c: char| c.is_ascii_alphabetic() || "(`),".contains(c));
    is_word && (goes_on || found.value.starts_with('-') || found.value.ends_with(['.', ',', ':', '!', '?']))
}

/// What a help calls a value: `--token TOKEN`.
fn is_metavariable(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_uppercase() || b"_|-".contains(&byte)) || value.starts_with('-')
}
