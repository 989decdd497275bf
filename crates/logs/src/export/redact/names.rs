//! Classifies names by what they say about their value: a password, a key, several of them, or metadata about a secret.

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

#[cfg(test)]
mod tests {
    use super::{SecretKind, secret_kind};

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
}
