//! Our own secrets, kept out of what is kept: the server's token, the password of an agent's server, keys that were given
//! to a session. Everything else that an agent says stays verbatim. A secret that the agent has changed, say encoded, is
//! not recognised.

use std::{borrow::Cow, sync::Arc};

use memchr::memmem::Finder;
use serde_json::value::RawValue;
use switchboard_event::raw;

use crate::StartRequest;

/// What stands in the place of a secret.
const COVER: &[u8] = b"***";

/// Shorter texts are found everywhere, and are no secrets.
const SHORTEST: usize = 8;

/// What the name of something secret has in it.
const NAMES: [&str; 8] = ["key", "token", "secret", "passw", "auth", "credential", "cookie", "private"];

/// Covers secrets.
#[derive(Clone, Default)]
pub struct Mask(Arc<[Finder<'static>]>);

impl Mask {
    /// A mask for these.
    pub fn new(secrets: impl Iterator<Item = String>) -> Self {
        let mut known: Vec<String> = secrets.flat_map(|secret| [in_json(&secret), secret]).collect();
        known.retain(|secret| secret.len() >= SHORTEST);
        // A longer one first: it may have a shorter one in it.
        known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        known.dedup();
        Self(known.iter().map(|secret| Finder::new(secret).into_owned()).collect())
    }

    /// The bytes without secrets. As a rule there are none, and the bytes are as they were.
    pub fn cover<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut covered = Cow::Borrowed(bytes);
        for finder in &*self.0 {
            if let Some(first) = finder.find(&covered) {
                covered = Cow::Owned(replace(&covered, finder, first));
            }
        }
        covered
    }

    /// The same for a record of JSON. A secret is part of a text, so it stays one.
    pub fn cover_record<'a>(&self, record: &'a RawValue) -> Cow<'a, RawValue> {
        match self.cover(record.get().as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(record),
            Cow::Owned(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                Cow::Owned(RawValue::from_string(text).unwrap_or_else(|_| raw(&"***")))
            }
        }
    }
}

fn replace(bytes: &[u8], finder: &Finder<'_>, first: usize) -> Vec<u8> {
    let mut covered = Vec::with_capacity(bytes.len());
    let (mut rest, mut found) = (bytes, Some(first));
    while let Some((before, after)) = found.and_then(|at| rest.split_at_checked(at)) {
        covered.extend_from_slice(before);
        covered.extend_from_slice(COVER);
        rest = after.get(finder.needle().len()..).unwrap_or_default();
        found = finder.find(rest);
    }
    covered.extend_from_slice(rest);
    covered
}

/// As it stands in a text of JSON.
fn in_json(secret: &str) -> String {
    let text = raw(&secret);
    let inner = text.get().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

/// The secrets that a request brings: what is called like one, among variables and headers.
pub fn secrets_of(request: &StartRequest) -> Vec<String> {
    let servers = request.config.mcp_servers.values().flat_map(|server| server.env.iter().chain(&server.headers));
    let named = request.env.iter().chain(servers).filter(|(name, _)| is_secret(name));
    // The scheme of an authorization is none, and may stand apart.
    let values = named.flat_map(|(_, value)| [value.clone(), value.rsplit(' ').next().unwrap_or_default().to_owned()]);
    values.collect()
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::value::RawValue;

    use super::{Mask, secrets_of};
    use crate::StartRequest;

    fn mask(secrets: &[&str]) -> Mask {
        Mask::new(secrets.iter().map(|secret| (*secret).to_owned()))
    }

    fn covered(mask: &Mask, text: &str) -> String {
        String::from_utf8(mask.cover(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn secrets_are_covered_wherever_they_stand() {
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
            assert_eq!(covered(&mask, given), kept, "{given}");
        }
    }

    #[test]
    fn what_has_no_secret_is_not_touched() {
        assert!(matches!(mask(&["0123456789"]).cover(b"nothing here"), Cow::Borrowed(_)));
        // Too short to be one: it would be found everywhere.
        assert_eq!(covered(&mask(&["true", ""]), "true"), "true");
    }

    #[test]
    fn a_record_stays_a_record() {
        let record = RawValue::from_string(r#"{"key":"Bearer 0123456789","n":1.50}"#.to_owned()).unwrap();
        assert_eq!(mask(&["0123456789"]).cover_record(&record).get(), r#"{"key":"Bearer ***","n":1.50}"#);
        // Not one that we would make: a number is no secret.
        let number = RawValue::from_string("[0123456789]".replace('0', "9")).unwrap();
        assert_eq!(mask(&["9123456789"]).cover_record(&number).get(), r#""***""#);
    }

    #[test]
    fn what_is_called_a_secret_is_one() {
        let mut request = StartRequest::default();
        for (name, value) in [("API_KEY", "sk-0123456789"), ("DEBUG", "everything-there-is"), ("X_TOKEN", "short")] {
            request.env.insert(name.to_owned(), value.to_owned());
        }
        let mut server = switchboard_event::McpServerConfig::default();
        server.headers.insert("Authorization".to_owned(), "Bearer abcdefghij".to_owned());
        server.headers.insert("Accept".to_owned(), "application/json".to_owned());
        request.config.mcp_servers.insert("x".to_owned(), server);
        let mask = Mask::new(secrets_of(&request).into_iter());
        let said = "sk-0123456789 everything-there-is short Bearer abcdefghij abcdefghij application/json";
        assert_eq!(covered(&mask, said), "*** everything-there-is short *** *** application/json");
    }
}
