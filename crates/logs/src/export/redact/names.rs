//! What a name says of its value: that it is a password, a key, several of them, or something else about one.

/// What the value of a telling name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Somebody may have thought of it.
    Password,
    /// A machine made it.
    Key,
    /// Most often a number, or a list: `tokens`, `secrets`.
    Several,
}

const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "passcode", "pwd", "_pass", "-pass"];

const KEYS: &[&str] = &[
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

/// All words that can make a name tell that its value is secret.
pub fn words() -> impl Iterator<Item = &'static str> {
    PASSWORDS.iter().chain(KEYS).copied()
}

/// Behind a telling word: the name is that of something about the secret.
const ABOUT: &[&str] = &[
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

/// Before `token`: what a lexer, a model or a list of pages calls one.
const NO_SECRETS: &[&str] = &[
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

/// What a name says of its value. Nothing if it does not tell.
pub fn sort(name: &str) -> Option<Sort> {
    let lower = name.to_ascii_lowercase();
    let end_of = |word: &&str| lower.rfind(*word).map(|at| at + word.len());
    let [password, key] = [PASSWORDS, KEYS].map(|words| words.iter().filter_map(&end_of).max());
    let end = password.max(key)?;
    let (before, behind) = (lower.get(..end)?, lower.get(end..)?);
    let is_token = before.strip_suffix("token").map(|before| before.trim_end_matches(['_', '-', '.']));
    if is_token.is_some_and(|before| NO_SECRETS.iter().any(|word| before.ends_with(word))) || is_about(behind) {
        return None;
    }
    if is_part(name, end) {
        return is_plural(behind).then_some(Sort::Several);
    }
    Some(if password > key { Sort::Password } else { Sort::Key })
}

/// The name goes on to say what of the secret it means.
fn is_about(behind: &str) -> bool {
    let behind = behind.trim_start_matches(['_', '-']);
    behind == "id" || ABOUT.iter().any(|word| behind.contains(word)) || behind.ends_with("_at")
}

/// The telling word is only the beginning of another one, as in `tokenizer` and `secretary`.
fn is_part(name: &str, end: usize) -> bool {
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

#[cfg(test)]
mod tests {
    use super::{Sort, sort};

    #[test]
    fn names_tell_or_do_not() {
        for (names, expected) in [
            (&["PASSWORD", "dbPassword", "DB_PASS", "user_name_password", "pwd"][..], Some(Sort::Password)),
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
                Some(Sort::Key),
            ),
            (&["tokens", "usedTokens", "TOKENS", "secrets", "credentials"], Some(Sort::Several)),
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
                assert_eq!(sort(name), expected, "{name}");
            }
        }
    }
}
