//! Keeps Switchboard's own secrets out of stored records: the server's token, the password of an agent's server, keys
//! that were given to a session. Everything else in an agent's output stays verbatim. A secret that the agent has
//! changed, for example encoded, is not recognized.

mod native_texts;
mod stream;

use std::{borrow::Cow, sync::Arc};

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::value::RawValue;
use switchboard_event::to_raw_json;

use crate::StartRequest;
pub use stream::StreamMask;

/// The replacement of a secret.
const MASK: &str = "***";

/// The minimum length of a secret. Shorter texts occur everywhere.
const MIN_SECRET_BYTES: usize = 8;

/// Parts of variable and header names that mark a value as secret.
const SECRET_NAME_PARTS: [&str; 8] = ["key", "token", "secret", "passw", "auth", "credential", "cookie", "private"];

/// Masks secrets. Of two that overlap, the first counts; of two that begin at the same place, the longer one.
#[derive(Clone, Default)]
pub struct SecretMask {
    automaton: Option<AhoCorasick>,
    secrets: Arc<[String]>,
    max_secret_len: usize,
    /// For each byte, whether a secret begins with it.
    first_bytes: Arc<[bool]>,
}

impl SecretMask {
    pub fn new(secrets: impl Iterator<Item = String>) -> Self {
        // Verbatim, in a JSON string, and in JSON nested in a JSON string, such as the input of a tool.
        let forms = |secret: String| {
            let quoted = escape_json(&secret);
            [escape_json(&quoted), quoted, secret]
        };
        let mut known: Vec<String> = secrets.flat_map(forms).collect();
        known.retain(|secret| secret.len() >= MIN_SECRET_BYTES);
        known.sort();
        known.dedup();
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&known).ok();
        let first_bytes = (0..=u8::MAX).map(|byte| known.iter().any(|secret| secret.as_bytes().first() == Some(&byte)));
        Self {
            automaton: automaton.filter(|_| !known.is_empty()),
            max_secret_len: known.iter().map(String::len).max().unwrap_or_default(),
            first_bytes: first_bytes.collect(),
            secrets: known.into(),
        }
    }

    /// Returns the bytes without secrets. Usually there are none, and the bytes are unchanged.
    pub fn mask_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut found = self.automaton.iter().flat_map(|automaton| automaton.find_iter(bytes)).peekable();
        if found.peek().is_none() {
            return Cow::Borrowed(bytes);
        }
        let (mut masked, mut end) = (Vec::with_capacity(bytes.len()), 0);
        for secret in found {
            masked.extend_from_slice(bytes.get(end..secret.start()).unwrap_or_default());
            masked.extend_from_slice(MASK.as_bytes());
            end = secret.end();
        }
        masked.extend_from_slice(bytes.get(end..).unwrap_or_default());
        Cow::Owned(masked)
    }

    /// Returns a JSON record without secrets. A secret is part of a string, so the record stays valid.
    pub fn mask_record<'a>(&self, record: &'a RawValue) -> Cow<'a, RawValue> {
        match self.mask_bytes(record.get().as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(record),
            Cow::Owned(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                Cow::Owned(RawValue::from_string(text).unwrap_or_else(|_| to_raw_json(&MASK)))
            }
        }
    }

    pub fn max_secret_len(&self) -> usize {
        self.max_secret_len
    }

    /// Returns the start and end of the first secret at or after a position.
    fn find_secret(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        let found = self.automaton.as_ref()?.find(text.get(from..)?)?;
        Some((from + found.start(), from + found.end()))
    }

    /// Returns the first position at or after `from` from which the rest of the text is a proper prefix of a secret.
    fn find_prefix(&self, text: &str, from: usize) -> Option<usize> {
        let earliest = text.len().saturating_sub(self.max_secret_len.saturating_sub(1)).max(from);
        let tail = text.as_bytes().get(earliest..)?;
        let may_begin = |byte: u8| self.first_bytes.get(usize::from(byte)).is_some_and(|may_begin| *may_begin);
        let is_prefix = |rest: &[u8]| {
            self.secrets.iter().any(|secret| secret.len() > rest.len() && secret.as_bytes().starts_with(rest))
        };
        let mut places = tail.iter().enumerate().filter(|(_, byte)| may_begin(**byte)).map(|(at, _)| at);
        places.find(|at| tail.get(*at..).is_some_and(is_prefix)).map(|at| earliest + at)
    }
}

fn escape_json(secret: &str) -> String {
    let text = to_raw_json(&secret);
    let inner = text.get().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

/// Returns the secrets of a request: the variables and headers whose names mark them as secret.
pub fn secrets_of(request: &StartRequest) -> Vec<String> {
    let servers = request.config.mcp_servers.values().flat_map(|server| server.env.iter().chain(&server.headers));
    let named = request.env.iter().chain(servers).filter(|(name, _)| is_secret_name(name));
    // The scheme of an authorization is not secret, and may be separated from it.
    let values = named.flat_map(|(_, value)| [value.clone(), value.rsplit(' ').next().unwrap_or_default().to_owned()]);
    values.collect()
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAME_PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::value::RawValue;

    use super::{SecretMask, secrets_of};
    use crate::StartRequest;

    fn mask(secrets: &[&str]) -> SecretMask {
        SecretMask::new(secrets.iter().map(|secret| (*secret).to_owned()))
    }

    fn masked(mask: &SecretMask, text: &str) -> String {
        String::from_utf8(mask.mask_bytes(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn secrets_are_masked_everywhere() {
        let mask = mask(&["0123456789", "0123456789abc", "with \"quotes\""]);
        for (given, kept) in [
            ("0123456789", "***"),
            ("a0123456789b0123456789", "a***b***"),
            ("x0123456789abcx", "x***x"),
            (r#"{"a":"with \"quotes\""}"#, r#"{"a":"***"}"#),
            ("with \"quotes\"", "***"),
            ("012345678", "012345678"),
            ("", ""),
        ] {
            assert_eq!(masked(&mask, given), kept, "{given}");
        }
    }

    #[test]
    fn bytes_without_secrets_are_unchanged() {
        assert!(matches!(mask(&["0123456789"]).mask_bytes(b"nothing here"), Cow::Borrowed(_)));
        // Too short for a secret: it would be found everywhere.
        assert_eq!(masked(&mask(&["true", ""]), "true"), "true");
    }

    #[test]
    fn a_masked_record_is_valid() {
        let record = RawValue::from_string(r#"{"key":"Bearer 0123456789","n":1.50}"#.to_owned()).unwrap();
        assert_eq!(mask(&["0123456789"]).mask_record(&record).get(), r#"{"key":"Bearer ***","n":1.50}"#);
        // Secrets in practice are not numbers.
        let number = RawValue::from_string("[0123456789]".replace('0', "9")).unwrap();
        assert_eq!(mask(&["9123456789"]).mask_record(&number).get(), r#""***""#);
    }

    #[test]
    fn variables_and_headers_with_secret_names_are_masked() {
        let mut request = StartRequest::default();
        for (name, value) in [("API_KEY", "sk-0123456789"), ("DEBUG", "everything-there-is"), ("X_TOKEN", "short")] {
            request.env.insert(name.to_owned(), value.to_owned());
        }
        let mut server = switchboard_event::McpServerConfig::default();
        server.headers.insert("Authorization".to_owned(), "Bearer abcdefghij".to_owned());
        server.headers.insert("Accept".to_owned(), "application/json".to_owned());
        request.config.mcp_servers.insert("x".to_owned(), server);
        let mask = SecretMask::new(secrets_of(&request).into_iter());
        let output = "sk-0123456789 everything-there-is short Bearer abcdefghij abcdefghij application/json";
        assert_eq!(masked(&mask, output), "*** everything-there-is short *** *** application/json");
    }
}
