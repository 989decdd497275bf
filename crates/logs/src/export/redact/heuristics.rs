//! Heuristics that tell secrets from types, variables, numbers, examples and ordinary words.

use super::named_values::{self, AssignmentStyle, NamedValue, SecretKind};

/// Returns whether the name denotes a secret.
pub fn is_secret_name(key: &str) -> bool {
    named_values::secret_kind(key).is_some()
}

/// Returns whether the text can be the end of a truncated name whose value follows.
pub fn may_end_name(end: &str) -> bool {
    let word = end.trim_end_matches(['"', '\'', '\\']);
    let lower = word.to_lowercase();
    let others = ["bearer", "basic", "digest", "sshpass", "-p", "-u", "--user", "curl"];
    word.ends_with([':', '='])
        || !word.is_empty() && named_values::secret_words().chain(others).any(|name| name.ends_with(&lower))
}

/// Values that are never secret: examples, type names, and descriptions of a secret.
const PLACEHOLDER_VALUES: &[&str] = &[
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

const PLACEHOLDER_PREFIXES: &[&str] = &[
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

/// Returns whether the value is a placeholder for a secret.
pub fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let same = value.chars().next().is_none_or(|first| value.chars().all(|c| c == first));
    let dots = value.chars().all(|c| "xX*.-_…".contains(c));
    same || dots
        || is_reference(value)
        || PLACEHOLDER_VALUES.contains(&lower.as_str())
        || has_placeholder_prefix(&lower)
}

/// Returns whether the value is a variable or template: `$NAME`, `${NAME}`, `%NAME%`, `<name>`, `{name}`.
fn is_reference(value: &str) -> bool {
    let within = |open, close| value.starts_with(open) && value.ends_with(close);
    let filled = value.contains(['{', '<']) && value.ends_with(['}', '>']);
    value.starts_with('$')
        || value.starts_with("[redacted:")
        || within('[', ']')
        || within('(', ')')
        || filled
        || is_percent_variable(value)
}

fn is_percent_variable(value: &str) -> bool {
    value.starts_with('%') && (value.len() <= 3 || value.ends_with('%'))
}

fn has_placeholder_prefix(lower: &str) -> bool {
    PLACEHOLDER_PREFIXES.iter().any(|word| {
        let rest = lower.strip_prefix(word);
        rest.is_some_and(|rest| word.ends_with('.') || rest.starts_with(['-', '_', '.', ' ', '[', '(']))
    })
}

/// Returns whether the value looks machine-generated: long, with letters and digits.
pub fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let [lower, upper] = [u8::is_ascii_lowercase, u8::is_ascii_uppercase].map(|is| value.bytes().any(|byte| is(&byte)));
    let mixed = digits > 0 && (lower || upper);
    let long = value.len() >= 16 && mixed || value.len() >= 10 && mixed && lower && upper;
    // Letters alone can be a key too, if there are many and their case changes more often than in words.
    let letters = value.len() >= 24 && lower && upper && case_changes(value) >= 6;
    (long || letters) && !is_code(value) && !is_time(value) && !is_placeholder(value)
}

/// Counts the changes between upper and lower case.
fn case_changes(value: &str) -> usize {
    let cases: Vec<bool> =
        value.bytes().filter(u8::is_ascii_alphabetic).map(|byte| byte.is_ascii_uppercase()).collect();
    cases.windows(2).filter(|pair| matches!(pair, [a, b] if a != b)).count()
}

/// Returns whether the value is a path of identifiers, such as `self.tokens.next_1`, `crate::auth::Token` or
/// `/etc/secrets/token.txt`.
pub fn is_code(value: &str) -> bool {
    let names = |separator: &str| {
        let mut parts = value.split(separator).filter(|part| !part.is_empty());
        value.contains(separator) && parts.all(|part| part.len() < 24 && is_name(part))
    };
    names("::") || names(".") || names("/") || value.contains("()")
}

/// Returns whether the part consists of words, with digits only at the end.
fn is_name(part: &str) -> bool {
    let stem = part.trim_end_matches(|c: char| c.is_ascii_digit());
    !stem.is_empty() && stem.chars().all(|c| c.is_ascii_alphabetic() || c == '_' || c == '-')
}

fn is_time(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    digits * 2 >= value.len() && value.bytes().all(|byte| byte.is_ascii_digit() || b"-:.TZ+_".contains(&byte))
}

fn is_path(value: &str) -> bool {
    value.starts_with(['/', '~', '.']) && (value.len() < 3 || is_code(value))
}

pub fn is_named_secret(found: &NamedValue<'_>) -> bool {
    let Some(sort) = named_values::secret_kind(found.key) else { return false };
    if is_placeholder(found.value) || is_path(found.value) {
        return false;
    }
    match found.way {
        _ if sort == SecretKind::Several => is_random(found.value),
        AssignmentStyle::Compared => is_random(found.value) || sort == SecretKind::Password && is_password(found.value),
        _ if found.quoted => is_quoted_secret(found, sort),
        _ if is_call_or_type(found) => false,
        AssignmentStyle::Set => found.value.len() > 1,
        AssignmentStyle::Query => found.value.len() > 3,
        AssignmentStyle::Given => !is_metavariable(found.value),
        AssignmentStyle::Option => !is_prose(found) && !is_metavariable(found.value),
        AssignmentStyle::Tight | AssignmentStyle::Loose | AssignmentStyle::Colon => is_bare_secret(found, sort),
    }
}

/// Returns whether a JSON value is secret because of its key.
pub fn is_secret_string(key: &str, value: &str) -> bool {
    is_named_secret(&NamedValue { key, value, way: AssignmentStyle::Colon, quoted: true, after: "" })
}

/// Returns whether the value can be an AWS secret key: letters of both cases and digits. A Git hash has the same
/// length, but is hexadecimal.
pub fn is_aws_secret(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let is_hash = value.bytes().all(|byte| byte.is_ascii_hexdigit());
    has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && !is_hash
}

/// Returns whether the value is a `.netrc` password: any word after a machine name, else something that is not an
/// ordinary word.
pub fn is_netrc_password(machine: &str, value: &str) -> bool {
    !is_placeholder(value) && (!machine.is_empty() || is_password(value))
}

/// Returns whether a command argument is a password, and not a variable or a port.
pub fn is_password_argument(value: &str) -> bool {
    !is_placeholder(value) && !is_time(value)
}

/// Returns whether a function or type name stands in place of a value.
fn is_call_or_type(found: &NamedValue<'_>) -> bool {
    let is_name = found.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:!&?".contains(&byte));
    is_name && found.after.starts_with(['(', '<', '[', '{'])
}

/// Returns whether the value looks like a password chosen by a person.
fn is_password(value: &str) -> bool {
    let has = |is: fn(&char) -> bool| value.chars().any(|c| is(&c));
    let mixed = has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
    let odd = has(|c| "!@#$%^*?~&".contains(*c)) && !value.starts_with(['&', '*', '@', '!']);
    (mixed || odd) && value.len() >= 6 && !is_code(value) && !value.ends_with(':')
}

/// Quoted values are values and not identifiers. Keys contain no spaces; a password may, unless it is a sentence about
/// passwords.
fn is_quoted_secret(found: &NamedValue<'_>, sort: SecretKind) -> bool {
    let value = found.value.trim();
    let is_told = found.key.to_ascii_lowercase().contains("authorization");
    match value.split_whitespace().count() {
        0 | 1 if sort == SecretKind::Password => value.len() > 2,
        0 | 1 => value.len() > 3 && !is_code(value) && !is_time(value),
        2 if is_told => value.split_whitespace().last().is_some_and(|word| word.len() > 3 && !is_placeholder(word)),
        words => {
            (sort == SecretKind::Password || found.way == AssignmentStyle::Set) && words < 8 && !is_sentence(value)
        }
    }
}

/// Returns whether the value is a sentence about secrets.
fn is_sentence(value: &str) -> bool {
    let lower = value.to_lowercase();
    value.ends_with(['.', '?', '!', ':', '…']) || named_values::secret_words().any(|word| lower.contains(word))
}

/// Unquoted values of names that are not all caps may also be identifiers, so they need more evidence.
fn is_bare_secret(found: &NamedValue<'_>, sort: SecretKind) -> bool {
    let value = found.value;
    if is_code(value) || value.ends_with(':') || value.starts_with(['&', '*', '@', '!']) {
        return false;
    }
    if is_random(value) {
        return true;
    }
    match sort {
        SecretKind::Password => is_password(value) || is_numeric_password(found) || is_word_password(found),
        SecretKind::Key | SecretKind::Several => has_digits_within(value) || is_word_key(found),
    }
}

/// Digits can be a password unless they follow a colon, which indicates a count.
fn is_numeric_password(found: &NamedValue<'_>) -> bool {
    found.way != AssignmentStyle::Colon
        && found.value.len() > 3
        && found.value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a plain word is a password: it ends its line and does not look like a type or variable.
fn is_word_password(found: &NamedValue<'_>) -> bool {
    let is_word = found.value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_word && found.value.len() > 3 && ends_value(found) && !is_secret_name(found.value)
}

/// Returns whether letters and digits alternate in a way that variable names do not.
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

/// Returns whether a plain word is a key: in a header, or after `=` without spaces, which code rarely has.
fn is_word_key(found: &NamedValue<'_>) -> bool {
    let is_header = found.key.get(..2).is_some_and(|begin| begin.eq_ignore_ascii_case("x-"));
    (is_header || found.way == AssignmentStyle::Tight)
        && found.value.len() > 7
        && ends_value(found)
        && !is_secret_name(found.value)
}

/// Returns whether the value is followed neither by code punctuation nor by another word.
fn ends_value(found: &NamedValue<'_>) -> bool {
    match found.way {
        AssignmentStyle::Tight => !found.after.starts_with([',', ')', '(', '.', ';']),
        _ => {
            let next = found.after.trim_start_matches([' ', '\t', '\r']);
            next.is_empty() || next.starts_with(['\n', '\\', '"', '\'', '`', '#'])
        }
    }
}

/// Returns whether a word after an option is prose, as in `--token is required`.
fn is_prose(found: &NamedValue<'_>) -> bool {
    let is_word = found.value.bytes().all(|byte| byte.is_ascii_lowercase() || b".,:!?-".contains(&byte));
    let next = found.after.trim_start_matches(' ');
    let goes_on = found.after.starts_with([' ', ',', ')', '`'])
        && next.starts_with(|c: char| c.is_ascii_alphabetic() || "(`),".contains(c));
    is_word && (goes_on || found.value.starts_with('-') || found.value.ends_with(['.', ',', ':', '!', '?']))
}

/// Returns whether the value is a metavariable of a help text, as in `--token TOKEN`.
fn is_metavariable(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_uppercase() || b"_|-".contains(&byte)) || value.starts_with('-')
}
