//! Our own secrets, kept out of what is kept: the server's token, the password of an agent's server, keys that were given
//! to a session. Everything else that an agent says stays verbatim. A secret that the agent has changed, say encoded, is
//! not recognised.

mod native;
mod stream;

use std::{borrow::Cow, sync::Arc};

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::value::RawValue;
use switchboard_event::raw;

pub use self::stream::StreamMask;
use crate::StartRequest;

/// What stands in the place of a secret.
const COVER: &str = "***";

/// Shorter texts are found everywhere, and are no secrets.
const SHORTEST: usize = 8;

/// What the name of something secret has in it.
const NAMES: [&str; 8] = ["key", "token", "secret", "passw", "auth", "credential", "cookie", "private"];

/// Covers secrets. Of two that overlap, the first counts; of two that begin together, the longer one.
#[derive(Clone, Default)]
pub struct Mask {
    automaton: Option<AhoCorasick>,
    secrets: Arc<[String]>,
    /// The length of the longest in bytes.
    longest: usize,
    /// Whether a secret begins with a byte.
    begins: Arc<[bool]>,
}

impl Mask {
    /// A mask for these.
    pub fn new(secrets: impl Iterator<Item = String>) -> Self {
        // As they are, in a text of JSON, and in a text of JSON that itself is in one: what a tool is given, say.
        let forms = |secret: String| {
            let quoted = in_json(&secret);
            [in_json(&quoted), quoted, secret]
        };
        let mut known: Vec<String> = secrets.flat_map(forms).collect();
        known.retain(|secret| secret.len() >= SHORTEST);
        known.sort();
        known.dedup();
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&known).ok();
        let begins = (0..=u8::MAX).map(|byte| known.iter().any(|secret| secret.as_bytes().first() == Some(&byte)));
        Self {
            automaton: automaton.filter(|_| !known.is_empty()),
            longest: known.iter().map(String::len).max().unwrap_or_default(),
            begins: begins.collect(),
            secrets: known.into(),
        }
    }

    /// The bytes without secrets. As a rule there are none, and the bytes are as they were.
    pub fn cover<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut found = self.automaton.iter().flat_map(|automaton| automaton.find_iter(bytes)).peekable();
        if found.peek().is_none() {
            return Cow::Borrowed(bytes);
        }
        let (mut covered, mut end) = (Vec::with_capacity(bytes.len()), 0);
        for secret in found {
            covered.extend_from_slice(bytes.get(end..secret.start()).unwrap_or_default());
            covered.extend_from_slice(COVER.as_bytes());
            end = secret.end();
        }
        covered.extend_from_slice(bytes.get(end..).unwrap_or_default());
        Cow::Owned(covered)
    }

    /// The same for a record of JSON. A secret is part of a text, so it stays one.
    pub fn cover_record<'a>(&self, record: &'a RawValue) -> Cow<'a, RawValue> {
        match self.cover(record.get().as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(record),
            Cow::Owned(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                Cow::Owned(RawValue::from_string(text).unwrap_or_else(|_| raw(&COVER)))
            }
        }
    }

    /// The length of the longest secret in bytes.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Where the first secret at or after a place begins and ends.
    fn find(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        let found = self.automaton.as_ref()?.find(text.get(from..)?)?;
        Some((from + found.start(), from + found.end()))
    }

    /// The first place at or after `from` where what follows, to the end of the text, is the beginning of a secret
    /// but not all of it.
    fn find_beginning(&self, text: &str, from: usize) -> Option<usize> {
        let earliest = text.len().saturating_sub(self.longest.saturating_sub(1)).max(from);
        let tail = text.as_bytes().get(earliest..)?;
        let begins = |byte: u8| self.begins.get(usize::from(byte)).is_some_and(|begins| *begins);
        let is_beginning = |rest: &[u8]| {
            self.secrets.iter().any(|secret| secret.len() > rest.len() && secret.as_bytes().starts_with(rest))
        };
        let mut places = tail.iter().enumerate().filter(|(_, byte)| begins(**byte)).map(|(at, _)| at);
        places.find(|at| tail.get(*at..).is_some_and(is_beginning)).map(|at| earliest + at)
    }
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
